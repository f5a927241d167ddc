"""GPT-2, and how it writes."""

import math
from typing import Any

import torch
from torch import Tensor

from .... import model
from ....config import GPT2Config
from ...crane_run import TEXT, crane_run, likeliest
from ...exercise import Case, Mistake
from ...step import fill, numbered

PARTS = ("GPT2", "generate")
IMPORTS = (
    "import math",
    "import torch",
    "from gpt2_edu import note",
    "from torch import nn",
)

START = """
class GPT2(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_head, n_embd):
        super().__init__()
        self.block_size = block_size
        ...  # embeddings, h, ln_f, lm_head; then tie, and initialise

    def forward(self, idx):  # (B, T) → (B, T, V)
        ...  # if you note idx, ln_f and logits, trace sees them


@torch.no_grad()
def generate(model, idx, n):  # (B, T) → (B, T + n)
    ...
"""

SOLUTION = """
class GPT2(nn.Module):
    def __init__(self, vocab_size, block_size, n_layer, n_head, n_embd):
        super().__init__()
        self.block_size = block_size
        self.embeddings = Embeddings(vocab_size, block_size, n_embd)
        self.h = nn.ModuleList(Block(n_embd, n_head) for _ in range(n_layer))
        self.ln_f = LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.embeddings.wte.weight  # tied
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:  # the tables and the matrices
                narrow = math.sqrt(2 * n_layer) if "c_proj" in name else 1
                nn.init.normal_(parameter, std=0.02 / narrow)
            elif "bias" in name:
                nn.init.zeros_(parameter)

    def forward(self, idx):  # (B, T) → (B, T, V)
        x = self.embeddings(note("idx", idx, "B T"))
        for block in self.h:
            x = block(x)
        x = note("ln_f", self.ln_f(x), "B T C")
        return note("logits", self.lm_head(x), "B T V")


@torch.no_grad()
def generate(model, idx, n):  # (B, T) → (B, T + n)
    for _ in range(n):
        logits = model(idx[:, -model.block_size :])[:, -1]  # (B, V), the last
        new = torch.multinomial(logits.softmax(dim=-1), num_samples=1)  # (B, 1)
        idx = torch.cat([idx, new], dim=1)
    return idx
"""


MISTAKES = (
    Mistake(
        "The tables are not tied, because `lm_head` has a table of its own. Put one tensor into "
        "both places: `self.lm_head.weight = self.embeddings.wte.weight`.",
        ("        self.lm_head.weight = self.embeddings.wte.weight  # tied\n", ""),
    ),
    Mistake(
        "You divide the initial `c_proj` by √N. Each block writes to the residual stream twice, so "
        "the divisor is √(2N).",
        ("math.sqrt(2 * n_layer)", "math.sqrt(n_layer)"),
    ),
    Mistake(
        "All matrices start with 0.02. The two that write to the residual stream, both called "
        "`c_proj`, start smaller, divided by √(2N).",
        ('math.sqrt(2 * n_layer) if "c_proj" in name else 1', "1"),
    ),
    Mistake(
        "The last norm is missing: `lm_head` reads `self.ln_f(x)`.",
        ("self.ln_f(x)", "x"),
    ),
    Mistake(
        "You keep the first tokens of the text, so past the window the model never sees what it "
        "wrote. It needs the last ones: `idx[:, -model.block_size :]`.",
        ("idx[:, -model.block_size :]", "idx[:, : model.block_size]"),
    ),
    Mistake(
        "You give the model one token less than its window holds. The last `block_size` tokens are "
        "`idx[:, -model.block_size :]`, without a `+ 1`.",
        ("-model.block_size :", "-model.block_size + 1 :"),
    ),
    Mistake(
        "`multinomial` needs probabilities, but it got something else, such as logits. Apply "
        "`softmax(dim=-1)` first.",
        ("logits.softmax(dim=-1)", "logits"),
    ),
    Mistake(
        "Past the window there is no position vector left. Give the model only the last tokens: "
        "`idx[:, -model.block_size :]`.",
        ("idx[:, -model.block_size :]", "idx"),
    ),
    Mistake(
        "The model returns a row of logits for each token, and only the last one says what comes "
        "next: `model(…)[:, -1]`, which is (B, V).",
        ("[:, -1]  # (B, V)", "  # (B, T, V)"),
    ),
    Mistake(
        "You take the likeliest token each time. `torch.multinomial` draws one according to the "
        "probabilities.",
        (
            "torch.multinomial(logits.softmax(dim=-1), num_samples=1)",
            "logits.argmax(dim=-1, keepdim=True)",
        ),
    ),
    Mistake(
        "The initial values are PyTorch's own. After the tie, draw the tables and matrices with the "
        "standard deviation 0.02, for `c_proj` divided by √(2N), and set the biases to 0.",
        (
            """\
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:  # the tables and the matrices
                narrow = math.sqrt(2 * n_layer) if "c_proj" in name else 1
                nn.init.normal_(parameter, std=0.02 / narrow)
            elif "bias" in name:
                nn.init.zeros_(parameter)
""",
            "",
        ),
    ),
    Mistake(
        "The second argument of `nn.init.normal_` is the mean, and the standard deviation is still "
        "1. Name it: `std=0.02`.",
        ("(parameter, std=0.02 / narrow)", "(parameter, 0.02 / narrow)"),
    ),
    Mistake(
        "You multiply the initial `c_proj` by √(2N), so that deep models begin with loud edits. "
        "Divide by it.",
        ("std=0.02 / narrow", "std=0.02 * narrow"),
    ),
    Mistake(
        "The norms and biases are drawn at random, too. Draw only what has two axes; the biases "
        "start with 0, and γ stays 1.",
        (
            """\
            if parameter.ndim == 2:  # the tables and the matrices
                narrow = math.sqrt(2 * n_layer) if "c_proj" in name else 1
                nn.init.normal_(parameter, std=0.02 / narrow)
            elif "bias" in name:
                nn.init.zeros_(parameter)
""",
            """\
            narrow = math.sqrt(2 * n_layer) if "c_proj" in name else 1
            nn.init.normal_(parameter, std=0.02 / narrow)
""",
        ),
    ),
    Mistake(
        "All parameters with one axis are set to 0, also γ, which is called `weight` and starts "
        "with 1. Set only the biases to 0.",
        ('elif "bias" in name:', "else:"),
    ),
    Mistake(
        "The biases of the linear layers still have PyTorch's random start. Set them to 0.",
        ("nn.init.zeros_(parameter)", "pass"),
    ),
    Mistake(
        "`lm_head` has no bias in GPT-2: `nn.Linear(n_embd, vocab_size, bias=False)`.",
        ("vocab_size, bias=False", "vocab_size"),
    ),
    Mistake(
        "The list holds one block N times, with one set of numbers. Call `Block(…)` anew for every "
        "place.",
        ("(Block(n_embd, n_head) for _ in range(n_layer))", "([Block(n_embd, n_head)] * n_layer)"),
    ),
    Mistake(
        "The blocks run, but their results are thrown away. Write each one back: `x = block(x)`.",
        ("x = block(x)", "block(x)"),
    ),
    Mistake(
        "Every block reads the embeddings, and only the last one's result is kept. Each must read "
        "the result of the one before: `x = block(x)`.",
        ("x = self.embeddings", "x = start = self.embeddings"),
        ("x = block(x)", "x = block(start)"),
    ),
    Mistake(
        "`ln_f` is applied after every block. It belongs only after the last one.",
        ("x = block(x)", "x = self.ln_f(block(x))"),
        ('self.ln_f(x), "B T C"', 'x, "B T C"'),
    ),
    Mistake(
        "The model returns probabilities. It should return logits, and `generate` applies the "
        "softmax.",
        ('self.lm_head(x), "B T V")', 'self.lm_head(x), "B T V").softmax(dim=-1)'),
    ),
    Mistake(
        "The model returns the logits of the last token alone. It should return a row for each "
        "token, (B, T, V), and `generate` takes the last.",
        ('self.lm_head(x), "B T V")', 'self.lm_head(x), "B T V")[:, -1]'),
        ("[:, -1]  # (B, V), the last", ""),
    ),
    Mistake(
        "The `return` is inside the loop, which ends after one token. Move it to the left, under "
        "`for`.",
        ("dim=1)\n    return idx", "dim=1)\n        return idx"),
    ),
    Mistake(
        "Only the new tokens are returned. The result is the whole text, with the prompt at its "
        "beginning.",
        ("return idx", "return idx[:, -n:]"),
    ),
    Mistake(
        "You cut the text itself to the window, so that its beginning is lost. Cut only what the "
        "model reads.",
        (
            "logits = model(idx[:, -model.block_size :])",
            "idx = idx[:, -model.block_size :]\n        logits = model(idx)",
        ),
    ),
    Mistake(
        "You draw from the logits of the first token in the window. The last one has read the whole "
        "text: `[:, -1]`.",
        ("[:, -1]  # (B, V), the last", "[:, 0]"),
    ),
    Mistake(
        "`[-1]` is the last text, because the first axis is B. The last token of every text is "
        "`[:, -1]`.",
        ("[:, -1]  # (B, V), the last", "[-1]"),
    ),
    Mistake(
        "The softmax runs over the texts of the batch. The probabilities of a text's tokens add up "
        "to 1: `dim=-1`.",
        ("softmax(dim=-1)", "softmax(dim=0)"),
    ),
    Mistake(
        "`torch.cat` with `dim=0` appends the new tokens as new texts. They belong at the end of "
        "their own texts: `dim=1`.",
        ("[idx, new], dim=1", "[idx, new], dim=0"),
    ),
    Mistake(
        "All matrices with `c_` in their names start smaller. Only the two called `c_proj` write to "
        "the residual stream.",
        ('"c_proj" in name', '"c_" in name'),
    ),
    Mistake(
        "Only attention's `c_proj` starts smaller. The MLP's writes to the residual stream as well.",
        ('"c_proj" in name', '"attn.c_proj" in name'),
    ),
    Mistake(
        "You divide the initial `c_proj` by 2N. The lengths of edits at right angles add up like a "
        "root: divide by √(2N).",
        ("math.sqrt(2 * n_layer)", "2 * n_layer"),
    ),
    Mistake(
        "The logits are computed once, before the loop, so that the new tokens are never read. Call "
        "the model for every token.",
        (
            """\
    for _ in range(n):
        logits = model(idx[:, -model.block_size :])[:, -1]  # (B, V), the last
""",
            """\
    logits = model(idx[:, -model.block_size :])[:, -1]  # (B, V), the last
    for _ in range(n):
""",
        ),
    ),
    Mistake(
        "The standard deviation of the initial numbers is 0.02, and yours is another.",
        ("std=0.02 / narrow", "std=0.2 / narrow"),
    ),
    Mistake(
        "The softmax goes over the tokens of the text. Take the last row first, `[:, -1]`, and then `softmax(dim=-1)`.",
        (
            "model(idx[:, -model.block_size :])[:, -1]",
            "model(idx[:, -model.block_size :]).log_softmax(dim=1)[:, -1]",
        ),
    ),
    Mistake(
        "The text does not grow, because the result of `torch.cat` is not kept. Write `idx = torch.cat(…)`.",
        ("idx = torch.cat([idx, new], dim=1)", "torch.cat([idx, new], dim=1)"),
    ),
)

NAMES = {
    "transformer.wte": "embeddings.wte",
    "transformer.wpe": "embeddings.wpe",
    "transformer.": "",
}


def theirs(sizes: tuple[int, ...]) -> model.GPT2:
    vocab_size, block_size, n_layer, n_head, n_embd = sizes
    config = GPT2Config(
        vocab_size=vocab_size, block_size=block_size, n_layer=n_layer, n_head=n_head, n_embd=n_embd
    )
    whole = model.GPT2(config)
    numbered(whole, seed=n_embd)
    return whole


def use(mine: Any, what: str, sizes: tuple[int, ...], idx: Tensor) -> Any:
    torch.default_generator.manual_seed(0)
    whole = mine.GPT2(*sizes)
    if what == "tied":
        return whole.lm_head.weight is whole.embeddings.wte.weight
    if what == "new":
        return spreads(whole)
    fill(whole, theirs(sizes), NAMES)
    if what == "logits":
        return whole(idx)
    if what == "window":
        whole.forward = lambda idx: picky(idx, sizes)
    torch.default_generator.manual_seed(1)
    return mine.generate(whole, idx, 6)


def picky(idx: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Logits of a model for which every id counts, and where it stands: one token is certain."""
    vocab_size, block_size = sizes[:2]
    places = torch.arange(1, idx.size(1) + 1)
    if idx.size(1) > block_size:
        raise IndexError("index out of range in self")  # as wpe does
    return 50.0 * torch.nn.functional.one_hot((places * idx).cumsum(dim=1) % vocab_size, vocab_size)


def spreads(whole: torch.nn.Module) -> dict[str, float]:
    """A new model's numbers: how far they spread, in units of 0.02; the norms' and the biases'."""
    found: dict[str, list[Tensor]] = {}
    for name, parameter in whole.named_parameters():
        kind = "tables and matrices"
        if name.endswith("bias"):
            kind = "biases"
        elif ".ln_" in f".{name}":
            kind = "norms"
        elif "c_proj" in name:
            kind = "c_proj"
        found.setdefault(kind, []).append(parameter.detach().flatten())
    whole_of = {kind: torch.cat(parts) for kind, parts in found.items()}
    return {
        "spread of tables and matrices": rounded(whole_of["tables and matrices"].std() * 50),
        "spread of c_proj": rounded(whole_of["c_proj"].std() * 50),
        "size of the biases": rounded(whole_of["biases"].square().mean().sqrt() * 50),
        "smallest γ": round(whole_of["norms"].min().item(), 1),
        "largest γ": round(whole_of["norms"].max().item(), 1),
    }


def rounded(number: Tensor) -> float:
    """To two digits, so that the order of the draws makes no difference."""
    return float(f"{number.item():.2g}")


@torch.no_grad()
def right(what: str, sizes: tuple[int, ...], idx: Tensor) -> Any:
    if what == "tied":
        return True
    if what == "new":
        return {
            "spread of tables and matrices": 1.0,
            "spread of c_proj": 1 / math.sqrt(2 * sizes[2]),
            "size of the biases": 0.0,
            "smallest γ": 1.0,
            "largest γ": 1.0,
        }
    whole = theirs(sizes)
    if what == "logits":
        return whole(idx)[0]
    torch.default_generator.manual_seed(1)
    for _ in range(6):
        seen = idx[:, -sizes[1] :]
        logits = picky(seen, sizes) if what == "window" else whole(seen)[0]
        probs = logits[:, -1].softmax(dim=-1)
        idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
    return idx


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    small, other = (13, 7, 2, 3, 12), (6, 5, 1, 1, 4)
    return [
        Case("logits: two texts of five tokens", ("logits", small, idx)),
        Case("logits: one layer, one head, the whole window", ("logits", other, idx[:1])),
        Case("lm_head and wte are one tensor", ("tied", small, idx)),
        Case("a new model's numbers", ("new", (101, 7, 8, 4, 64), idx)),
        Case("generate: six tokens", ("generate", small, idx[:, :1])),
        Case("generate: past the window", ("window", small, idx)),
    ]


def after(mine: Any) -> str:
    run = crane_run()
    c = run.model.config
    whole = mine.GPT2(c.vocab_size, c.block_size, c.n_layer, c.n_head, c.n_embd)
    logits = fill(whole, run.model, NAMES)(run.idx)
    return (
        f'Your GPT2 with the trained weights, which chapter 12 loads, reading "{TEXT}": it '
        f"continues with {likeliest(logits, 2)}."
    )
