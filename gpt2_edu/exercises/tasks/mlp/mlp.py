"""The MLP, on your GELU."""

import torch

from ....config import GPT2Config
from ....model import MLP
from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
Write the whole MLP, which is a linear layer, the nonlinearity and another linear layer.

`x` is (B, T, C). `weights` is a dictionary with four tensors, in the layout of `nn.Linear`, which is (out, in):

| key | shape |
| --- | --- |
| `"c_fc.weight"` | (F, C) |
| `"c_fc.bias"` | (F,) |
| `"c_proj.weight"` | (C, F) |
| `"c_proj.bias"` | (C,) |

The result is (B, T, C). For the nonlinearity use your `gelu`. The cell begins by fetching it, or the book's if yours is missing. F is 4C in GPT-2, but your function should work for any F.

By hand: the token (1, 2) with the rows (1, 0), (0, 0), (0, −1) and no biases becomes (1, 0, −2) before GELU and (0.8412, 0, −0.0454) after it. If `c_proj` has the rows (1, 5, 0) and (0, 5, 1) and the bias (0.5, 0), then (1.3412, −0.0454) comes out.
"""

HINTS = (
    "Follow the shapes through the three steps: (B, T, C) → (B, T, F) → (B, T, F) → (B, T, C).",
    "A linear layer with a matrix stored as (out, in) is `x @ W.T + b`, or `F.linear(x, W, b)`.",
    '`pre = F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])`, then `gelu(pre)`, then the same with `c_proj`.',
)

START = '''
gelu = own("gelu")


def mlp(x, weights):
    """x (B, T, C); weights: four tensors by name. Returns (B, T, C)."""
    ...
'''

SOLUTION = """
gelu = own("gelu")


def mlp(x, weights):
    # F.linear takes the matrix as it is stored, (out, in)
    pre = F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])
    act = gelu(pre)  # (B, T, F)
    return F.linear(act, weights["c_proj.weight"], weights["c_proj.bias"])
"""

MISTAKES = (
    Mistake(
        "The nonlinearity is missing. Two linear layers in a row are one linear layer.",
        ("gelu(pre)", "pre"),
    ),
    Mistake(
        "`F.gelu(x)` is the exact form. GPT-2 was trained with the tanh form, which is your `gelu`.",
        ("gelu(pre)", "F.gelu(pre)"),
    ),
    Mistake(
        "This applies GELU twice. Nothing follows `c_proj`, whose result is returned as it is.",
        (
            'return F.linear(act, weights["c_proj.weight"], weights["c_proj.bias"])',
            'out = F.linear(act, weights["c_proj.weight"], weights["c_proj.bias"])\n    return gelu(out)',
        ),
    ),
    Mistake(
        "The biases are left out. A linear layer adds one after its matrix.",
        (', weights["c_fc.bias"]', ""),
        (', weights["c_proj.bias"]', ""),
    ),
    Mistake(
        "GELU comes before `c_fc` here. Widen first, then apply it to the F entries.",
        ("F.linear(x,", "F.linear(gelu(x),"),
        ("gelu(pre)", "pre"),
    ),
    Mistake(
        "The matrices are stored as (out, in), so they have to be transposed: `x @ W.T + b`.",
        (
            'F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])',
            'x @ weights["c_fc.weight"] + weights["c_fc.bias"]',
        ),
    ),
    Mistake(
        "This is ReLU. GPT-2 has GELU: use your `gelu`.",
        ("gelu(pre)", "torch.relu(pre)"),
    ),
    Mistake(
        "The bias of `c_fc` comes too late, after GELU. A linear layer adds it to its product, before the nonlinearity.",
        (
            'F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])',
            'F.linear(x, weights["c_fc.weight"])',
        ),
        ("gelu(pre)", 'gelu(pre) + weights["c_fc.bias"]'),
    ),
    Mistake(
        'F need not be 4C here. Use the tensors as they are: `F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])`.',
        (
            'pre = F.linear(x, weights["c_fc.weight"], weights["c_fc.bias"])',
            """\
c_fc = nn.Linear(x.size(-1), 4 * x.size(-1))
    c_fc.load_state_dict({k: weights["c_fc." + k] for k in ("weight", "bias")})
    pre = c_fc(x)
""",
        ),
    ),
    Mistake(
        "You add x to the result. That is the residual connection, which comes around the MLP, in the next chapter.",
        ("return F.linear(act", "return x + F.linear(act"),
    ),
    Mistake(
        "The bias of `c_fc` is left out. It comes after the product, before GELU.",
        (', weights["c_fc.bias"]', ""),
    ),
    Mistake(
        "The bias of `c_proj` is left out. Add it at the end.",
        (', weights["c_proj.bias"]', ""),
    ),
    Mistake(
        "GELU comes after `c_proj` here. It belongs between the two layers.",
        ("gelu(pre)", "pre"),
        ("return F.linear(act", "return gelu(F.linear(act"),
        ('weights["c_proj.bias"])', 'weights["c_proj.bias"]))'),
    ),
    Mistake(
        "`c_proj` is missing. It brings the F entries back to C.",
        ('return F.linear(act, weights["c_proj.weight"], weights["c_proj.bias"])', "return act"),
    ),
)


def right(x, weights):
    (F, C), device = weights["c_fc.weight"].shape, torch.device("meta")
    with device:
        module = MLP(GPT2Config(n_embd=C, n_head=1))
        module.c_fc, module.c_proj = torch.nn.Linear(C, F), torch.nn.Linear(F, C)
    module.load_state_dict(weights, assign=True)
    return module.eval()(x)


def cases():
    generator = torch.Generator().manual_seed(7)

    def draw(C, F):
        shapes = {"c_fc": (F, C), "c_proj": (C, F)}
        return {
            f"{layer}.{kind}": torch.randn(shape, generator=generator)
            for layer, (out, into) in shapes.items()
            for kind, shape in {"weight": (out, into), "bias": (out,)}.items()
        }

    hand = {
        "c_fc.weight": torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]]),
        "c_fc.bias": torch.zeros(3),
        "c_proj.weight": torch.tensor([[1.0, 5.0, 0.0], [0.0, 5.0, 1.0]]),
        "c_proj.bias": torch.tensor([0.5, 0.0]),
    }
    return [
        Case("the example by hand", (torch.tensor([[[1.0, 2.0]]]), hand)),
        Case(
            "B = 2, T = 5, C = 3, F = 12", (torch.randn(2, 5, 3, generator=generator), draw(3, 12))
        ),
        Case("F that is not 4C", (torch.randn(3, 2, 4, generator=generator), draw(4, 7))),
        Case(
            "a batch of 1 with one token", (torch.randn(1, 1, 5, generator=generator), draw(5, 20))
        ),
    ]
