"""Does this layer look ahead?"""

import torch

from ....model import attention_explicit
from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 3
RANK = "core"
MINUTES = 15

TASK = r"""
Write the test for leaks. `layer` is a function that takes `x` (B, T, C) and returns a tensor of the same shape. You do not know what is inside. Return True if some output depends on a later token, and False if none does.

Use the experiment of the chapter: for each position $j$, change the token there and compare all outputs *before* $j$, to the last bit. For a layer that gives each position the sum of itself and its right neighbour, the result must be True. For one that doubles every entry, it must be False.
"""

HINTS = (
    "Call the layer once with `x` as it is, then for each position j with a changed copy.",
    "A copy is `x.clone()`. Replace the token at j in all texts: `changed[:, j] = 0`.",
    "The outputs before j are `[:, :j]`. If `torch.equal` says that they differ for any j, the layer looks ahead.",
)

START = '''
def looks_ahead(layer, x):
    """layer: (B, T, C) → (B, T, C); x (B, T, C), no entry is 0.

    Returns True or False.
    """
    ...
'''

SOLUTION = """
def looks_ahead(layer, x):
    before = layer(x)
    for j in range(x.size(1)):  # every position: a leak may be anywhere
        changed = x.clone()  # x itself stays as it is
        changed[:, j] = 0
        after = layer(changed)
        if not torch.equal(before[:, :j], after[:, :j]):  # to the last bit
            return True
    return False
"""

MISTAKES = (
    Mistake(
        "Your answer is the wrong way round. True means that the layer does look ahead.",
        ("return True", "return None"),
        ("return False", "return True"),
        ("return None", "return False"),
    ),
    Mistake(
        "You compare position j as well, `: j + 1`. It may see itself, so it may change. Compare only the outputs before it, `:j`.",
        ("before[:, :j], after[:, :j]", "before[:, : j + 1], after[:, : j + 1]"),
    ),
    Mistake(
        "Only the last token counts here. A layer may leak elsewhere, so change each token in turn, and return True as soon as one of them shows a leak.",
        ("range(x.size(1))", "[x.size(1) - 1]"),
    ),
    Mistake(
        "`allclose` lets a faint leak pass. Without a leak the outputs are equal to the last bit, so ask for that: `torch.equal`.",
        ("torch.equal", "torch.allclose"),
    ),
    Mistake(
        "You compare outputs after j. They may change, because they may look back at it. Only those before j may not.",
        ("before[:, :j], after[:, :j]", "before[:, j + 1 :], after[:, j + 1 :]"),
    ),
    Mistake(
        "`changed = x` is a second name for the same tensor, so you change x, and the changes add up. Take `x.clone()`.",
        ("x.clone()", "x"),
    ),
    Mistake(
        "You return after the first position. The answer is False only when all positions have passed.",
        code="""
def looks_ahead(layer, x):
    before = layer(x)
    for j in range(1, x.size(1)):
        changed = x.clone()
        changed[:, j] = 0
        if not torch.equal(before[:, :j], layer(changed)[:, :j]):
            return True
        else:
            return False
    return False
""",
    ),
    Mistake(
        "Only text 0 is tested. A layer may leak in any text, so change the token in all of them, `changed[:, j]`, and compare all of them, `[:, :j]`.",
        ("changed[:, j]", "changed[0, j]"),
    ),
    Mistake(
        "Your answer is False for every layer. If you return in the first iteration, j is 0, and there is nothing before it. `return True` belongs under an `if`, and `return False` after the loop.",
        (
            """\
if not torch.equal(before[:, :j], after[:, :j]):  # to the last bit
            return True
    return False""",
            "return not torch.equal(before[:, :j], after[:, :j])",
        ),
    ),
    Mistake(
        "You require that *every* position leaks. One is enough: `any`, not `all`.",
        ("range(x.size(1))", "range(1, x.size(1))"),
        ("if not torch", "if torch"),
        ("return True", "return None"),
        ("return False", "return True"),
        ("return None", "return False"),
    ),
    Mistake(
        "You change entry j of every token, because `[:, :, j]` counts along C. The tokens are axis 1, so write `changed[:, j]`.",
        ("changed[:, j]", "changed[:, :, j]"),
    ),
    Mistake(
        "Outputs from j on are compared here. They may change, because each may see itself and look back. Compare only those before j, `:j`.",
        ("before[:, :j], after[:, :j]", "before, after"),
    ),
    Mistake(
        "You compare only the output just before j. A layer may look further ahead, so compare all of them, `:j`.",
        (
            "before[:, :j], after[:, :j]",
            "before[:, max(j - 1, 0) : j], after[:, max(j - 1, 0) : j]",
        ),
    ),
    Mistake(
        "You compare only the first output. A layer may leak at any position, so compare all before j, `:j`.",
        ("before[:, :j], after[:, :j]", "before[:, :1], after[:, :1]"),
        ("range(x.size(1))", "range(1, x.size(1))"),
    ),
    Mistake(
        "The last token is never changed. `range(x.size(1))` already ends before x.size(1).",
        ("range(x.size(1))", "range(x.size(1) - 1)"),
    ),
    Mistake(
        "You ask that *all* entries before j change. One is enough: `torch.equal` is False as soon as any differs.",
        ("not torch.equal(before[:, :j], after[:, :j])", "(before[:, :j] != after[:, :j]).all()"),
        ("range(x.size(1))", "range(1, x.size(1))"),
    ),
    Mistake(
        "`!=` compares entry by entry, and `if` needs one answer. Ask with `torch.equal`.",
        ("not torch.equal(before[:, :j], after[:, :j])", "before[:, :j] != after[:, :j]"),
    ),
    Mistake(
        "You change only one entry of the token. A layer may leak through any of them, so change all C: `changed[:, j]`. And compare all of them.",
        ("changed[:, j]", "changed[:, j, 0]"),
    ),
    Mistake(
        "You return after the first position. The answer is False only when all positions have passed.",
        ("range(x.size(1))", "range(1, x.size(1))"),
        (
            """\
            return True
    return False""",
            """\
            return True
        else:
            return False""",
        ),
    ),
)


def right(layer, x):
    """By the chapter's other experiment: ask the gradient."""
    x = x.clone().requires_grad_()
    out = layer(x)
    for i in range(x.size(1)):
        (reaction,) = torch.autograd.grad(out[:, i].square().sum(), x, retain_graph=True)
        if reaction[:, i + 1 :].any():
            return True
    return False


def _doubled(x):
    return 2 * x


def _neighbour(x):
    return x + torch.cat([x[:, 1:], torch.zeros_like(x[:, :1])], dim=1)


def _causal(x):
    return attention_explicit(x, x, x)


def _unmasked(x):
    return (x @ x.transpose(-2, -1)).softmax(dim=-1) @ x


def _masked_late(x):
    return (x @ x.transpose(-2, -1) / 4).softmax(dim=-1).tril() @ x


def _left_neighbour(x):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1) * 3


def _first_peeps(x):
    return torch.cat([x[:, :1] + x[:, 1:2], x[:, 1:]], dim=1)


def _second_peeps(x):
    return torch.cat([x[:, :1], x[:, 1:2] + x[:, 2:3], x[:, 2:]], dim=1)


def _second_text_peeps(x):
    return torch.cat([x[:1], _neighbour(x[1:])])


def _last_is_seen(x):
    return torch.cat([x[:, :-2], x[:, -2:-1] + x[:, -1:], x[:, -1:]], dim=1)


def _last_entry_peeps(x):
    return torch.cat([x[..., :-1], _neighbour(x[..., -1:])], dim=-1)


def _two_ahead(x):
    return torch.cat([x[:, :-2] + x[:, 2:], x[:, -2:]], dim=1)


def _faint(x):
    return x + 3e-6 * x.mean(dim=1, keepdim=True)


def cases():
    generator = torch.Generator().manual_seed(55)
    x = 1 + torch.rand(2, 5, 7, generator=generator)
    layers = [
        ("a layer that doubles every number", _doubled),
        ("a layer that adds the right neighbour", _neighbour),
        ("attention under the causal mask", _causal),
        ("attention without a mask", _unmasked),
        ("attention, masked after the softmax", _masked_late),
        ("a layer that gives the left neighbour", _left_neighbour),
        ("a layer in which only position 0 peeps, at position 1", _first_peeps),
        ("a layer in which only position 1 peeps, at position 2", _second_peeps),
        ("a layer in which only text 1 peeps", _second_text_peeps),
        ("a layer in which only the last token is seen early", _last_is_seen),
        ("a layer that adds the second neighbour on the right", _two_ahead),
        ("a layer in which only the last entry of C peeps", _last_entry_peeps),
        ("a layer that returns what it reads", torch.clone),
        ("a very faint leak", _faint),
    ]
    return [
        *(Case(label, (layer, x.clone())) for label, layer in layers),
        Case("a single token, with nothing ahead", (_unmasked, x[:1, :1].clone())),
    ]
