"""Your functions together tell a story."""

import textwrap

import torch

from gpt2_edu import GPT2, crane, load_tokenizer

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 2
RANK = "good"
MINUTES = 10
TOLERANCE = 1e-3  # logits of up to 20, after three blocks in another order of adding up

TASK = r"""
You have all the parts. `own("gpt2")` gives your whole model of chapter 11's practice, `gpt2(idx, weights, n_head)`, which uses your attention, your MLP and your LayerNorm, or the book's where you have not written a part. Give it what `crane_model`, the trained model of Crane World, has: its weights as a dictionary of all names and tensors, with both names of the tied table, and its number of heads. `gpt2_of_functions(idx)` takes ids (B, T) and returns logits (B, T, V).

If it passes, your model writes a story, token by token, with your own `continue_text`, and the judge reads it. No line of the package takes part in the computing.
"""

HINTS = (
    "`crane_model` only supplies weights and sizes. How do you get the parameters of a PyTorch model by name?",
    "The dictionary is `crane_model.state_dict()`. The sizes are in `crane_model.config`.",
    "The number of heads is `crane_model.config.n_head`.",
)

START = '''
from gpt2_edu import GPT2

gpt2 = own("gpt2")
crane_model = GPT2.from_pretrained("crane")


def gpt2_of_functions(idx):
    """idx (B, T), T at most 128. Returns logits (B, T, V)."""
    ...
'''

SOLUTION = """
from gpt2_edu import GPT2

gpt2 = own("gpt2")
crane_model = GPT2.from_pretrained("crane")


def gpt2_of_functions(idx):
    # Only tensors and a number are taken from the package's model.
    return gpt2(idx, crane_model.state_dict(), crane_model.config.n_head)
"""

MISTAKES = (
    Mistake(
        "That is with one head. The weights were trained with several heads, which share their columns, so take the number from `crane_model.config.n_head`.",
        ("crane_model.config.n_head", "1"),
    ),
    Mistake(
        "That is the head size D instead of the number of heads. `n_head` is H, and D = C / H.",
        ("crane_model.config.n_head", "crane_model.config.n_embd // crane_model.config.n_head"),
    ),
    Mistake(
        "These are probabilities. Return the logits, because the softmax comes when a token is drawn.",
        ("crane_model.config.n_head)", "crane_model.config.n_head).softmax(dim=-1)"),
    ),
    Mistake(
        "Only the last position is returned. `continue_text` expects the logits of all, (B, T, V), and takes the last itself.",
        ("crane_model.config.n_head)", "crane_model.config.n_head)[:, -1]"),
    ),
    Mistake(
        "This model is new, and its parameters are random. Take those of `crane_model`.",
        (
            "    # Only tensors",
            """\
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh = GPT2(crane_model.config)
    # Only tensors""",
        ),
        ("crane_model.state_dict()", "fresh.state_dict()"),
    ),
    Mistake(
        "`named_parameters()` lists a tied table only once, so `lm_head.weight` is missing. `state_dict()` has both of its names.",
        ("crane_model.state_dict()", "dict(crane_model.named_parameters())"),
    ),
    Mistake(
        "`gpt2` takes the weights as a dictionary of names and tensors. That is `crane_model.state_dict()`, with its brackets.",
        ("crane_model.state_dict()", "crane_model.state_dict"),
    ),
    Mistake(
        "That is the number of blocks. The heads are counted by `crane_model.config.n_head`.",
        ("crane_model.config.n_head", "crane_model.config.n_layer"),
    ),
    Mistake(
        "That is the package's model, which returns a pair. Use your own `gpt2`, with the weights of `crane_model`.",
        ("gpt2(idx, crane_model.state_dict(), crane_model.config.n_head)", "crane_model(idx)"),
    ),
    Mistake(
        "12 is the number of heads of OpenAI's GPT-2. The model of Crane World has its own, `crane_model.config.n_head`.",
        ("crane_model.config.n_head", "12"),
    ),
)


@torch.no_grad()
def right(idx):
    return GPT2.from_pretrained("crane")(idx)[0]


def cases():
    encoding = load_tokenizer("crane")
    prompt = torch.tensor([[encoding.eot_token, *encoding.encode("By the river, the crane ate")]])
    generator = torch.Generator().manual_seed(14)
    return [
        Case("the beginning of a story", (prompt,)),
        Case("a batch of random ids", (torch.randint(1024, (3, 7), generator=generator),)),
        Case("a single token", (torch.tensor([[encoding.eot_token]]),)),
        Case("the whole window", (torch.randint(1024, (1, 128), generator=generator),)),
    ]


def after(answer):
    """A story by the reader's model, and what the judge says of it."""
    from ...parts import own

    encoding = load_tokenizer("crane")
    end, generator = encoding.eot_token, torch.Generator().manual_seed(4)
    with torch.no_grad():
        ids = own("continue_text")(answer, torch.tensor([[end]]), 100, generator)[0, 1:].tolist()
    text = encoding.decode(ids[: ids.index(end)] if end in ids else ids)
    verdict = crane.judge(text)
    if verdict.grammatical:
        said = "grammatical, from the first word to the last."
    else:
        said = f"it leaves the language at {text[verdict.fails_at :][:20]!r}."
    return f"\nYour model writes:\n\n{textwrap.fill(text, 76)}\n\nThe judge: {said}"
