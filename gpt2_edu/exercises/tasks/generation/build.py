"""The knobs of sampling."""

from typing import Any

import torch
from torch import Tensor

from .... import sampling
from ...comparing import Labelled, kind_of
from ...exercise import Case, Mistake, fitting
from ...step import fill, random_tensor
from ..gpt2.build import NAMES, picky, theirs
from . import continue_text, next_probabilities

PARTS = ("choose", "generate")
IMPORTS = ("import torch",)

START = '''
def choose(logits, temperature=1.0, top_k=None, top_p=None):  # (B, V) → (B, 1)
    """Draw a token from what the knobs make of the logits."""
    ...


@torch.no_grad()
def generate(model, idx, n, **knobs):  # (B, T) → (B, T + n)
    ...
'''

SOLUTION = '''
def choose(logits, temperature=1.0, top_k=None, top_p=None):  # (B, V) → (B, 1)
    """Draw a token from what the knobs make of the logits."""
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None:
        last_kept = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < last_kept, -torch.inf)
    probs = logits.softmax(dim=-1)
    if top_p is not None:
        falling, order = probs.sort(dim=-1, descending=True)
        likelier = falling.cumsum(dim=-1) - falling  # what likelier tokens hold
        kept = falling.masked_fill(likelier >= top_p, 0)
        probs = torch.zeros_like(probs).scatter(-1, order, kept)
    return torch.multinomial(probs, num_samples=1)  # divides by their sum


@torch.no_grad()
def generate(model, idx, n, **knobs):  # (B, T) → (B, T + n)
    for _ in range(n):
        logits = model(idx[:, -model.block_size :])[:, -1]  # (B, V), the last
        idx = torch.cat([idx, choose(logits, **knobs)], dim=1)
    return idx
'''


MISTAKES = (
    Mistake(
        "Your own model has no `config`, and it returns only logits. Use `model.block_size` and "
        "`logits = model(…)`.",
        ("model.block_size", "model.config.block_size"),
    ),
    Mistake(
        "Your own model returns only logits, without a loss, so write `logits = model(…)`.",
        ("logits = model(idx[:, -model.block_size :])[:, -1]", "logits, _ = model(idx)"),
    ),
    Mistake(
        "Past the window there is no position vector left. Give the model only the last tokens, "
        "`idx[:, -model.block_size :]`.",
        ("idx[:, -model.block_size :]", "idx"),
    ),
    Mistake(
        "`choose` takes one row of logits for each text, (B, V), and the model returns a row for "
        "each token. The last one predicts the next token, `model(…)[:, -1]`.",
        ("[:, -1]  # (B, V)", "  # (B, T, V)"),
    ),
    Mistake(
        "Temperature 0 divides by zero. It is defined as greedy, so return the largest logit's index, "
        "with `keepdim=True`, before anything else.",
        ("    if temperature == 0:\n        return logits.argmax(dim=-1, keepdim=True)\n", ""),
    ),
    Mistake(
        "The temperature comes last here. It must come first, before top-k and top-p cut.",
        ("    logits = logits / temperature\n", ""),
        (
            "    return torch.multinomial(probs,",
            "    probs = probs ** (1 / temperature)\n    return torch.multinomial(probs,",
        ),
    ),
    Mistake(
        "Your top-p drops the token that crosses the line. Compare p with the sum of likelier tokens, "
        "`falling.cumsum(dim=-1) - falling`.",
        ("falling.cumsum(dim=-1) - falling ", "falling.cumsum(dim=-1) "),
    ),
    Mistake(
        "Your top-p drops the token that crosses the line. Compare p with the sum of likelier tokens, "
        "`falling.cumsum(dim=-1) - falling`.",
        ("falling.cumsum(dim=-1) - falling ", "falling.cumsum(dim=-1) "),
        (
            "kept = falling.masked_fill(likelier >= top_p, 0)",
            "kept = falling.masked_fill((likelier >= top_p) & (likelier > falling), 0)",
        ),
    ),
    Mistake(
        "After top-p the probabilities are still sorted, so a draw gives a rank and not an id. Put "
        "them back with `torch.zeros_like(probs).scatter(-1, order, kept)`.",
        ("torch.zeros_like(probs).scatter(-1, order, kept)", "kept"),
    ),
    Mistake(
        "You keep the first tokens of the text, so past the window the model never sees what it wrote. It needs the last ones, `idx[:, -model.block_size :]`.",
        ("idx[:, -model.block_size :]", "idx[:, : model.block_size]"),
    ),
    Mistake(
        "The knobs do nothing in `generate`, which always takes the likeliest token. Write "
        "`choose(logits[:, -1], **knobs)`.",
        ("choose(logits, **knobs)", "logits.argmax(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "`generate` hands on the temperature alone. All knobs go to `choose`: "
        "`choose(logits[:, -1], **knobs)`.",
        ("choose(logits, **knobs)", 'choose(logits, knobs.get("temperature", 1.0))'),
    ),
    Mistake(
        "`choose` sets the seed before each draw, so that every draw is the same. Leave the seed to "
        "whoever calls it.",
        ("    return torch.multinomial", "    torch.manual_seed(0)\n    return torch.multinomial"),
    ),
    Mistake(
        "`generate` sets the seed, so that every call writes the same text. Leave the seed to "
        "whoever calls it.",
        ("    for _ in range(n):", "    torch.manual_seed(0)\n    for _ in range(n):"),
    ),
    Mistake(
        "`/=` divides the caller's own logits. Make new ones, `logits = logits / temperature`.",
        ("logits = logits / temperature", "logits /= temperature"),
    ),
    Mistake(
        "`dim=0` goes over the texts. The k largest are those of one row, `topk(top_k, dim=-1)`.",
        ("logits.topk(top_k, dim=-1).values[:, -1:]", "logits.topk(1, dim=0).values"),
    ),
    Mistake(
        "Your probabilities are sorted from the smallest, so that top-p keeps unlikely tokens. Sort "
        "with `descending=True`.",
        ("dim=-1, descending=True", "dim=-1"),
    ),
    Mistake(
        "The text does not grow, because the result of `torch.cat` is not kept. Write "
        "`idx = torch.cat([idx, …], dim=1)`.",
        ("idx = torch.cat", "torch.cat"),
    ),
    Mistake(
        "The condition is reversed: temperature 0 is greedy, so write `if temperature == 0`.",
        ("if temperature == 0", "if temperature != 0"),
    ),
    Mistake(
        "At temperature 0 the axis of the token is gone. The result is (B, 1), so write `argmax(dim=-1, keepdim=True)`.",
        ("argmax(dim=-1, keepdim=True)", "argmax(dim=-1)"),
    ),
    Mistake(
        "The text itself is cut to the window, so its beginning is lost. Cut only what the model sees, and append to the whole text.",
        (
            "    for _ in range(n):\n        logits = model(idx[:, -model.block_size :])",
            "    for _ in range(n):\n        idx = idx[:, -model.block_size :]\n        logits = model(idx)",
        ),
    ),
    Mistake(
        "Without the colon, `[:, -1]`, the limits are (B,) and are compared with the columns. Keep the axis, `[:, -1:]`, which is (B, 1).",
        (".values[:, -1:]", ".values[:, -1]"),
    ),
    Mistake(
        "`multinomial` gets logits unless `top_p` is given. Take the softmax in every case, before the `if` for top-p.",
        ("    probs = logits.softmax(dim=-1)\n", "    probs = logits\n"),
        (
            "        falling, order",
            "        probs = logits.softmax(dim=-1)\n        falling, order",
        ),
    ),
    Mistake(
        "With `<=` the last of the kept logits goes as well, and with top_k = 1 nothing is left. Cut only what is smaller, with `<`.",
        ("logits < last_kept", "logits <= last_kept"),
    ),
    Mistake(
        "`gather` reads from the indices in `order`, but the sorted probabilities must be *written* back to them. That is `scatter`.",
        ("torch.zeros_like(probs).scatter(-1, order, kept)", "kept.gather(-1, order)"),
    ),
    Mistake(
        "The `return` is inside the loop, so only one token is appended. Move it out, below the loop.",
        ("dim=1)\n    return idx", "dim=1)\n        return idx"),
    ),
    Mistake(
        "The cut logits are set to 0, which is an ordinary logit and keeps its share. Set them to −∞.",
        ("-torch.inf", "0"),
    ),
    Mistake(
        "You take the likeliest token each time. `torch.multinomial` draws one according to the probabilities.",
        ("torch.multinomial(probs, num_samples=1)", "probs.argmax(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "You give the model one token less than its window holds. The last `block_size` tokens are `idx[:, -model.block_size :]`, without a `+ 1`.",
        ("-model.block_size :", "-model.block_size + 1 :"),
    ),
    Mistake(
        "With top_p the cut of top_k is lost, or it comes too late. Cut with top-k first, and take top-p of what is left.",
        ("if top_k is not None:", "if top_k is not None and top_p is None:"),
    ),
    Mistake(
        "The knobs arrive as one dictionary. Two stars pass each by its name: `choose(logits, **knobs)`.",
        ("choose(logits, **knobs)", "choose(logits, knobs)"),
    ),
    Mistake(
        "Probabilities divided by the temperature keep their proportions. Divide the logits, "
        "before the softmax.",
        ("    logits = logits / temperature\n", ""),
        ("probs = logits.softmax(dim=-1)", "probs = logits.softmax(dim=-1) / temperature"),
    ),
    Mistake(
        "Each probability is compared with top_p by itself. What counts is the sum of the likelier ones.",
        ("likelier >= top_p", "falling < top_p"),
    ),
    Mistake(
        "One token is drawn for all texts. `multinomial` draws one for each row of probabilities.",
        (
            "torch.multinomial(probs, num_samples=1)",
            "torch.multinomial(probs[0], num_samples=1).expand(len(probs), 1)",
        ),
    ),
    *fitting(next_probabilities.MISTAKES, SOLUTION),
    *fitting(continue_text.MISTAKES, SOLUTION),
)

TOLERANCE = 0.03  # of 10,000 draws
SIZES = (13, 7, 2, 3, 12)
DRAWS = ("each token is the likeliest", "two calls write the same text")


def use(mine: Any, what: str, given: Tensor, knobs: dict[str, Any]) -> Any:
    torch.default_generator.manual_seed(0)
    if what != "choose":
        whole = fill(mine.GPT2(*SIZES), theirs(SIZES), NAMES)
        if what == "window":
            whole.forward = lambda idx: picky(idx, SIZES)
        found = mine.generate(whole, given, 9, **knobs)
        if what != "draws":
            return found
        others = [mine.generate(whole, given, 9, **more) for more in ({"temperature": 0}, knobs)]
        alike = [torch.equal(found, other) for other in others]
        return Labelled(zip(DRAWS, alike, strict=True))
    rows = 10_000 * len(given)
    logits = given.repeat_interleave(10_000, dim=0)
    drawn = mine.choose(logits, **knobs)
    given.copy_(logits[::10_000])  # so that a change of them is seen
    if not isinstance(drawn, Tensor):
        raise ValueError(f"choose gives {kind_of(drawn)}, not a tensor")
    if drawn.shape != (rows, 1):
        raise ValueError(f"choose gives {tuple(drawn.shape)} for {rows:,} rows, not ({rows}, 1)")
    counts = [row.bincount(minlength=given.size(-1)) for row in drawn.view(len(given), -1)]
    shares = torch.stack(counts) / 10_000
    few = [mine.choose(given.repeat_interleave(500, dim=0), **knobs) for _ in range(2)]
    return compared(shares, torch.equal(*few))


def compared(shares: Tensor, alike: bool) -> Labelled:
    """What is compared of draws: of a single text, the numbers without an axis for texts."""
    shares = shares[0] if len(shares) == 1 else shares
    return Labelled(
        {
            "the share of each token in 10,000 draws": shares,
            "two calls draw the same tokens": alike,
        }
    )


@torch.no_grad()
def right(what: str, given: Tensor, knobs: dict[str, Any]) -> Any:
    if what == "draws":
        return Labelled(dict.fromkeys(DRAWS, False))
    if what != "choose":
        whole, idx = theirs(SIZES), given
        for _ in range(9):
            seen = idx[:, -SIZES[1] :]
            last = (picky(seen, SIZES) if what == "window" else whole(seen)[0])[:, -1]
            idx = torch.cat([idx, last.argmax(dim=-1, keepdim=True)], dim=1)
        return idx
    shares = sampling.next_probabilities(given, **knobs)
    return compared(shares, bool((shares.max(dim=-1).values == 1).all()))


def cases() -> list[Case]:
    def logits() -> Tensor:
        return torch.tensor([[2.0, 1.0, 1.0, 0.0, -1.0]])

    idx = torch.tensor([[1, 2]])
    return [
        Case("choose without a knob", ("choose", logits(), {})),
        Case("temperature 0: the likeliest", ("choose", logits(), {"temperature": 0})),
        Case("temperature 0.5", ("choose", logits(), {"temperature": 0.5})),
        Case("top_k = 1", ("choose", logits(), {"top_k": 1})),
        Case("top_k = 4 of 9", ("choose", random_tensor(1, 1, 9), {"top_k": 4})),
        Case("top_p = 0.7", ("choose", logits(), {"top_p": 0.7})),
        Case("top_p = 0.7 of 9", ("choose", random_tensor(1, 1, 9), {"top_p": 0.7})),
        Case(
            "temperature 2, then top_p = 0.8",
            ("choose", logits(), {"temperature": 2.0, "top_p": 0.8}),
        ),
        Case("all together", ("choose", logits(), {"temperature": 2.0, "top_k": 4, "top_p": 0.8})),
        Case("two texts, top_k = 2", ("choose", random_tensor(2, 2, 9), {"top_k": 2})),
        Case("generate at temperature 0", ("generate", idx, {"temperature": 0})),
        Case("generate past the window", ("window", idx, {"temperature": 0})),
        Case("generate with top_k = 1", ("generate", idx, {"temperature": 2.0, "top_k": 1})),
        Case("generate with top_p = 0.01", ("generate", idx, {"temperature": 2.0, "top_p": 0.01})),
        Case("generate at temperature 1, twice", ("draws", idx, {"temperature": 1.0})),
    ]
