"""Switch one head off."""

from dataclasses import replace

import torch

from .... import course
from ....model import CausalSelfAttention
from ....tape import trace
from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
Heads are independent workers that add up, so one can be switched off without disturbing the others. Write a layer that does this. It works like `multi_head`, but the head number `head`, counted from 0, writes nothing. Its result, (B, T, D), counts as 0, and the other heads and the biases stay as they are.

`x` (B, T, C) and `weights` are those of `multi_head`, and must not be changed. One way is to use your `multi_head` as it is, and only give it another weight.

With one head, and that one off, every token gets the bias of `c_proj` and nothing else.
"""

HINTS = (
    "Through which entries of `c_proj.weight` does a head write?",
    "Through its columns, head · D to (head + 1) · D. Where they are 0, nothing is written.",
    'Clone the weight before you write zeros into it, and pass on `weights | {"c_proj.weight": …}`, a new dictionary with one entry replaced.',
)

START = '''
multi_head = own("multi_head")


def without_head(x, weights, n_head, head):
    """x (B, T, C); weights as for multi_head; head 0 … n_head - 1.

    Returns (B, T, C).
    """
    ...
'''

SOLUTION = """
multi_head = own("multi_head")


def without_head(x, weights, n_head, head):
    D = x.size(-1) // n_head
    c_proj = weights["c_proj.weight"].clone()  # the caller's stays as it is
    c_proj[:, head * D : (head + 1) * D] = 0  # the columns that read this head
    return multi_head(x, weights | {"c_proj.weight": c_proj}, n_head)
"""

MISTAKES = (
    Mistake(
        "You write zeros into the rows of `c_proj.weight`. Rows are outputs, so every head falls silent in D of the C entries. A head is read by its columns.",
        ("c_proj[:, head", "c_proj[head"),
    ),
    Mistake(
        "You change the caller's `weights`, so the head stays off for good. Clone the weight, and pass on a new dictionary.",
        (".clone()", ""),
    ),
    Mistake(
        "A query or a key of zeros does not silence a head. Its scores are equal, so it takes a little of everything. Stop it from writing.",
        code="""
multi_head = own("multi_head")

def without_head(x, weights, n_head, head):
    D = x.size(-1) // n_head
    own_rows = slice(head * D, (head + 1) * D)
    weight, bias = (weights[f"c_attn.{p}"].clone() for p in ("weight", "bias"))
    weight[own_rows] = 0
    bias[own_rows] = 0
    changed = {"c_attn.weight": weight, "c_attn.bias": bias}
    return multi_head(x, weights | changed, n_head)
""",
    ),
    Mistake(
        "The head's values lose their weight but keep their bias, and still contribute it. The bias has to go as well, or else the columns of `c_proj`.",
        code="""
multi_head = own("multi_head")

def without_head(x, weights, n_head, head):
    C = x.size(-1)
    D = C // n_head
    weight = weights["c_attn.weight"].clone()
    weight[2 * C + head * D : 2 * C + (head + 1) * D] = 0
    return multi_head(x, weights | {"c_attn.weight": weight}, n_head)
""",
    ),
    Mistake(
        "You switch off every H-th column. A head's columns are side by side, from head · D to (head + 1) · D.",
        ("head * D : (head + 1) * D", "head::n_head"),
    ),
    Mistake(
        "This keeps the one head and silences all others. It should be the other way round.",
        (
            "    c_proj[:,",
            """\
    kept = c_proj.clone()
    c_proj[:] = 0
    c_proj[:,""",
        ),
        ("] = 0  # the columns that read this head", "] = kept[:, head * D : (head + 1) * D]"),
    ),
    Mistake(
        "Heads are counted from 0. Head number `head` owns the columns from head · D to (head + 1) · D.",
        ("head * D : (head + 1) * D", "(head - 1) * D : head * D"),
    ),
    Mistake(
        "You write zeros into the bias of `c_proj` as well. It belongs to no head, so it stays.",
        (
            '    return multi_head(x, weights | {"c_proj.weight": c_proj}, n_head)',
            """\
    bias = weights["c_proj.bias"].clone()
    bias[head * D : (head + 1) * D] = 0
    return multi_head(x, weights | {"c_proj.weight": c_proj, "c_proj.bias": bias}, n_head)
""",
        ),
    ),
    Mistake(
        "You write zeros into one column only. A head owns D of them, from head · D to (head + 1) · D.",
        ("head * D : (head + 1) * D", "head"),
    ),
    Mistake(
        "With one head less, C is cut into fewer and wider heads. Keep `n_head`, and stop one head from writing.",
        ('weights | {"c_proj.weight": c_proj}, n_head)', "weights, n_head - 1)"),
    ),
    Mistake(
        "No head is off here: this is the result of the whole layer. Pass the changed weight on to `multi_head`.",
        ('weights | {"c_proj.weight": c_proj}, n_head)', "weights, n_head)"),
    ),
    Mistake(
        "You write zeros into columns of the result. But `c_proj` has mixed the heads by then. Stop the head from writing, in `c_proj.weight`.",
        (
            'return multi_head(x, weights | {"c_proj.weight": c_proj}, n_head)',
            """\
out = multi_head(x, weights, n_head)
    out[..., head * D : (head + 1) * D] = 0
    return out
""",
        ),
    ),
    Mistake(
        "You write zeros into columns of x. But every head reads all of x. Stop the head from writing, in `c_proj.weight`.",
        (
            'return multi_head(x, weights | {"c_proj.weight": c_proj}, n_head)',
            """\
x = x.clone()
    x[..., head * D : (head + 1) * D] = 0
    return multi_head(x, weights, n_head)
""",
        ),
    ),
    Mistake(
        "`/` gives 4.0, and a slice needs whole numbers: `x.size(-1) // n_head`.",
        ("x.size(-1) // n_head", "x.size(-1) / n_head"),
    ),
    Mistake(
        "A head is D = C / H columns wide, and not H.",
        ("x.size(-1) // n_head", "n_head"),
    ),
)


def right(x, weights, n_head, head):
    """By an intervention in the package's layer."""

    def silence(heads):  # (B, H, T, D)
        return heads.index_fill(1, torch.tensor([head]), 0.0)

    config = replace(course.TOY, n_embd=x.size(-1), n_head=n_head)
    with torch.device("meta"):  # draws no numbers: the weights are given
        layer = CausalSelfAttention(config)
    layer.load_state_dict(weights, assign=True)
    with trace(layer.eval(), edits={"heads": silence}):
        return layer(x)


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(66)

    def case(label, B, T, C, n_head, head):
        shapes = {"c_attn.weight": (3 * C, C), "c_attn.bias": (3 * C,)}
        shapes |= {"c_proj.weight": (C, C), "c_proj.bias": (C,)}
        weights = {name: torch.randn(*s, generator=generator) / 2 for name, s in shapes.items()}
        return Case(label, (torch.randn(B, T, C, generator=generator), weights, n_head, head))

    return [
        case("one head, switched off: only the bias is left", 1, 3, 2, 1, 0),
        case("three heads, the middle one off", 2, 5, 12, 3, 1),
        case("three heads, the first one off", 2, 5, 12, 3, 0),
        case("four heads, the last one off", 1, 7, 8, 4, 3),
        case("a single token", 2, 1, 6, 2, 1),
    ]
