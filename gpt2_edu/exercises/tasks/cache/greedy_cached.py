"""Write with the cache."""

import torch

from gpt2_edu import GPT2, GPT2Config, generate

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
Write greedily with the package's `KVCache`. `model` is a GPT2 of the package in eval mode, and `idx` (B, T) holds the prompts, all equally long and without padding. Return prompt and `n` new tokens, (B, T + n). They fit into the window.

`cache = KVCache(model.config, batch_size=B)` makes an empty cache. `logits, _ = model(new, cache=cache)` stores the keys and values of `new`, and its logits are those of `new` only, (B, T, V); the second of the pair is None. The cache knows the positions. Each token should pass through the model once, and the last new one not at all. One of the models in the check counts the tokens.
"""

HINTS = (
    "Make one cache, before the loop. The first pass is the prefill: the whole prompt.",
    "After that, only the token that was just chosen goes in, as (B, 1). Keep two variables, one for what goes in next and one for the text so far.",
    "Set `new = idx` before the loop. In it, `logits, _ = model(new, cache=cache)`, then `new = logits[:, -1:].argmax(dim=-1)`, then append `new` to `idx`.",
)

START = '''
from gpt2_edu import KVCache


def greedy_cached(model, idx, n):
    """idx (B, T). Returns (B, T + n)."""
    ...
'''

SOLUTION = """
from gpt2_edu import KVCache


def greedy_cached(model, idx, n):
    cache = KVCache(model.config, batch_size=idx.size(0))
    new = idx  # the prompt first, then one token a step
    with torch.no_grad():
        for _ in range(n):
            logits, _ = model(new, cache=cache)
            new = logits[:, -1:].argmax(dim=-1)  # (B, 1)
            idx = torch.cat([idx, new], dim=1)
    return idx
"""

MISTAKES = (
    Mistake(
        "The whole text goes in at each step, after everything that the cache already holds. After the prefill, give the model only the new token.",
        ("new, cache=cache", "idx, cache=cache"),
    ),
    Mistake(
        "Nothing is kept from step to step, so the new token is alone and at position 0. Make one cache before the loop, and give it to the model in every step, `model(new, cache=cache)`.",
        (
            "for _ in range(n):",
            "for _ in range(n):\n            cache = KVCache(model.config, batch_size=idx.size(0))",
        ),
    ),
    Mistake(
        "The tokens are right, but the whole text is computed in each step. Pass `cache=cache`, and after the prefill only the new token.",
        ("model(new, cache=cache)", "model(idx)"),
    ),
    Mistake(
        "The last new token passes through the model, too, and its logits are not used. Let a step begin with the pass, and end with the choice.",
        ("    return idx", "        model(new, cache=cache)\n    return idx"),
    ),
    Mistake(
        "The prompt's last token goes in twice, once in the prefill and once more before the first new one. Choose the first new token from the prefill's own logits.",
        ("    with torch.no_grad():", "    with torch.no_grad():\n        model(idx, cache=cache)"),
        ("new = idx", "new = idx[:, -1:]"),
    ),
    Mistake(
        "The prefill is missing. The cache begins with the prompt's last token, and the rest of the prompt was never seen. Give the whole prompt first.",
        ("new = idx", "new = idx[:, -1:]"),
    ),
    Mistake(
        "You return the new tokens without the prompt. Append them to `idx`.",
        ("return idx", "return idx[:, -n:]"),
    ),
    Mistake(
        "`argmax` removed the axis of the token, and (B,) does not fit behind (B, T). Keep it, as in `logits[:, -1:].argmax(dim=-1)`.",
        ("logits[:, -1:].argmax", "logits[:, -1].argmax"),
    ),
    Mistake(
        "The model returns a pair, the logits and a loss that is None here. Take the logits, `logits, _ = model(new, cache=cache)`.",
        ("logits, _ = model", "logits = model"),
    ),
    Mistake(
        "In the prefill this appends a guess for every position of the prompt. Take the last position only, `logits[:, -1:]`.",
        ("logits[:, -1:].argmax", "logits.argmax"),
    ),
    Mistake(
        "The cache is made for one text. It needs the number of prompts, `batch_size=idx.size(0)`.",
        ("batch_size=idx.size(0)", "batch_size=1"),
    ),
    Mistake(
        "One token too many is appended. The loop runs n times.",
        ("range(n)", "range(n + 1)"),
    ),
    Mistake(
        "The prompt passes twice, once before the loop and once in it. Leave the first pass out, or begin the loop with its logits.",
        ("    with torch.no_grad():", "    with torch.no_grad():\n        model(idx, cache=cache)"),
    ),
    Mistake(
        "The same thing goes into the model in every step. After the prefill it must be the token that was just chosen.",
        ("            new = logits", "            chosen = logits"),
        ("[idx, new]", "[idx, chosen]"),
    ),
    Mistake(
        "You choose from the logits of the first position. The next token is predicted at the last one, `logits[:, -1:]`.",
        ("logits[:, -1:]", "logits[:, :1]"),
    ),
)


class Counting(GPT2):
    """A model that takes so many columns of tokens and no more."""

    allowed = 10**9

    def forward(self, idx, *args, **kwargs):
        self.allowed -= idx.size(1)
        if self.allowed < 0:
            raise ValueError("a token passes through the model that need not pass")
        return super().forward(idx, *args, **kwargs)


def right(model, idx, n):
    return generate(model, idx, n, temperature=0)


def cases():
    # Random weights, wide enough that the text depends on all tokens and places.
    sizes = {"vocab_size": 29, "block_size": 64, "n_layer": 2, "n_head": 3, "n_embd": 12}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(15)
        model = Counting(GPT2Config(**sizes, initializer_range=0.6)).eval()
        strict = Counting(model.config).eval()
        lenient = Counting(model.config).eval()
    strict.load_state_dict(model.state_dict())
    lenient.load_state_dict(model.state_dict())
    lenient.allowed, strict.allowed = 5 + 8, 5 + 8 - 1
    idx = torch.randint(29, (2, 5), generator=torch.Generator().manual_seed(15))
    return [
        Case("a prompt of five tokens, one new", (model, idx[:1], 1)),
        Case("two prompts, seven new tokens each", (model, idx, 7)),
        Case("a prompt of one token", (model, idx[:1, :1], 6)),
        Case("a model that counts: each token once", (lenient, idx, 8)),
        Case("the same, the last not at all", (strict, idx, 8)),
    ]
