"""Attention that does not look ahead."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake
from ...refusing import refusing

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Write attention with the causal mask. It is the attention of the last chapter with one more step: query $i$ sees only the keys $j \le i$. `q` and `k` are (…, T, d) and `v` is (…, T, m), with any axes in front. The result is (…, T, m).

For the three words of the chapter, row 0 of the result is (0.5, 0.5), because nothing comes before the crane. You are building `scaled_dot_product_attention`, so do without it.
"""

HINTS = (
    "Scores, triangle, softmax, mixture, in this order.",
    "`visible = torch.ones(T, T, dtype=torch.bool).tril()` is True where a query may look.",
    "`scores.masked_fill(~visible, -torch.inf)` writes −∞ where it may not. A (T, T) triangle fits any axes in front.",
)

START = '''
def causal_attention(q, k, v):
    """q, k (..., T, d); v (..., T, m). Returns (..., T, m)."""
    ...
'''

SOLUTION = """
def causal_attention(q, k, v):
    T, d = q.shape[-2:]
    scores = q @ k.transpose(-2, -1) / math.sqrt(d)
    visible = torch.ones(T, T, dtype=torch.bool, device=q.device).tril()
    # before the softmax: the future must not be in the denominator either
    weights = scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)
    return weights @ v
"""

MISTAKES = (
    Mistake(
        "Nothing is masked here, so every query sees every key. `masked_fill` returns a new tensor: keep it, and take the softmax of that one.",
        (".masked_fill(~visible, -torch.inf)", ""),
    ),
    Mistake(
        "You mask after the softmax, so the future stays in the denominator and the rows no longer sum to 1. Write −∞ into the scores, before it.",
        (
            "scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)",
            "scores.softmax(dim=-1).masked_fill(~visible, 0)",
        ),
    ),
    Mistake(
        "You write 0 where a query may not look, and e to the power of 0 is 1, so the future still gets weight. Write −∞.",
        ("-torch.inf", "0"),
    ),
    Mistake(
        "A finite fill such as −100 or −10,000 fails where all visible scores are lower still. −∞ never does.",
        ("-torch.inf", "-1e4"),
    ),
    Mistake(
        "A finite fill such as −100 or −10,000 fails where all visible scores are lower still. −∞ never does.",
        ("-torch.inf", "-100"),
    ),
    Mistake(
        "A fill such as −10 still leaves the future some weight, since e to the power of −10 is not 0. Write −∞.",
        ("-torch.inf", "-10"),
    ),
    Mistake(
        "You hide the past and show the future. `masked_fill` writes where its mask is True: give it `~visible`, with `tril()` in `visible`.",
        ("~visible", "visible"),
    ),
    Mistake(
        "The diagonal is masked too, so the first row sees nothing and becomes nan. A token may see itself.",
        (".tril()", ".tril(-1)"),
    ),
    Mistake(
        "Your triangle lets every query see one key too many, the very token that it must predict. Write `tril()`, not `tril(1)`.",
        (".tril()", ".tril(1)"),
    ),
    Mistake(
        "The mask is right, but the scores are not divided by √d.",
        (" / math.sqrt(d)", ""),
    ),
    Mistake(
        "You take d from `v`, whose vectors may have another width, m. Divide by the root of the width of `q` and `k`.",
        ("math.sqrt(d)", "math.sqrt(v.size(-1))"),
    ),
    Mistake(
        "The softmax runs down the columns. A row is a query, and its weights sum to 1: `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=-2)"),
    ),
    Mistake(
        "On paper this is right. But in floating point, e to the power of a very low score is 0, and a row of zeros divided by its sum is nan. Put −∞ into the scores and leave the rest to `softmax`.",
        ("scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)", "scores.exp().tril()"),
        ("return weights", "return weights / weights.sum(dim=-1, keepdim=True)"),
    ),
    Mistake(
        "Your triangle is the upper one: each query sees its own key and the future. Write `tril()`, not `triu()`.",
        (".tril()", ".triu()"),
    ),
    Mistake(
        "Every number becomes nan, by 0 times −∞ or by a softmax of nothing but −∞. Write −∞ only where a query may not look, with `masked_fill(~visible, -torch.inf)`, and take the softmax of each row.",
        ("scores.masked_fill(~visible, -torch.inf)", "(scores + ~visible * -torch.inf)"),
    ),
    Mistake(
        "`~` needs True and False, and this triangle holds numbers. Make it with `dtype=torch.bool`.",
        ("dtype=torch.bool, ", ""),
    ),
    Mistake(
        "`q.size(1)` is T only if one axis is in front. Count from the end: T is `q.size(-2)`.",
        ("T, d = q.shape[-2:]", "T, d = q.size(1), q.size(-1)"),
    ),
    Mistake(
        "`q.size(0)` is T only if no axis is in front. Count from the end: T is `q.size(-2)`.",
        ("T, d = q.shape[-2:]", "T, d = q.size(0), q.size(-1)"),
    ),
    Mistake(
        "There may be no axis in front of T and d, or several. Take the last two: `q.shape[-2:]`.",
        ("T, d = q.shape[-2:]", "B, T, d = q.shape"),
    ),
    Mistake(
        "`dim=1` is the last axis only if there is no batch. Count from the end: `softmax(dim=-1)`.",
        ("softmax(dim=-1)", "softmax(dim=1)"),
    ),
    Mistake(
        "You divide by d. Divide by its root, `math.sqrt(d)`.",
        ("math.sqrt(d)", "d"),
    ),
    Mistake(
        "Your table is turned: its rows are keys. Row = query, so q is on the left, and k is transposed.",
        ("q @ k.transpose", "k @ q.transpose"),
    ),
    Mistake(
        "You transpose the weights before they mix. A row of them belongs to a query, so the result is `weights @ v`.",
        ("return weights", "return weights.transpose(-2, -1)"),
    ),
    Mistake(
        "You call the function that you are to build. Write its steps: scores, triangle, softmax, mixture.",
        code="""def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
""",
    ),
    Mistake(
        "The division comes after the softmax, so the weights no longer sum to 1. Divide the scores.",
        (" / math.sqrt(d)", ""),
        ("softmax(dim=-1)", "softmax(dim=-1) / math.sqrt(d)"),
    ),
    Mistake(
        "You divide by √T, the root of the number of tokens. d is the length of the vectors, `q.size(-1)`.",
        ("math.sqrt(d)", "math.sqrt(T)"),
    ),
    Mistake(
        "The triangle says for each pair of tokens whether one sees the other. It is (T, T), not (d, d).",
        ("torch.ones(T, T", "torch.ones(d, d"),
    ),
    Mistake(
        "These are the weights. The result is their mixture of the values: `weights @ v`.",
        ("return weights @ v", "return weights"),
    ),
    Mistake(
        "Nothing is masked here, and the division by √d is missing.",
        (" / math.sqrt(d)", ""),
        (".masked_fill(~visible, -torch.inf)", ""),
    ),
    Mistake(
        "The softmax is missing: you mix with the masked scores themselves.",
        (".softmax(dim=-1)", ""),
    ),
    Mistake(
        "Each token sees only those before it, and not itself. A token may see itself: keys up to and including its own.",
        code="""def causal_attention(q, k, v):
    rows = []
    for i in range(q.size(-2)):
        scores = q[..., i : i + 1, :] @ k[..., :i, :].transpose(-2, -1)
        scores = scores / math.sqrt(q.size(-1))
        rows.append(scores.softmax(dim=-1) @ v[..., :i, :])
    return torch.cat(rows, dim=-2)
""",
    ),
)


def right(*qkv):
    q, k, v = (part.as_subclass(torch.Tensor) for part in qkv)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def properties(value, q, k, v):
    """The first token sees itself only."""
    if torch.allclose(value[..., 0, :], v[..., 0, :], atol=1e-5):
        return None
    return "Row 0 does not equal v[0], but the first token sees only itself."


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(5)

    def three(*shape):
        return tuple(torch.randn(3, *shape, generator=generator))

    q = torch.tensor([[0.7, 0.7], [0.9, 0.1], [0.9, 0.1]])
    v = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.8, 0.2]])
    # all scores are −80,000 / √2
    low = torch.full((1, 3, 2), 200.0)
    wide = three(2, 5, 4)
    return [
        Case("the crane, ate, fish: no batch", (q, q.clone(), v)),
        Case("a batch: B = 2, T = 5, d = 12", three(2, 5, 12)),
        Case("two axes in front: (2, 3, 5, 4)", three(2, 3, 5, 4)),
        Case("values of another width: d = 4, m = 3", (wide[0], wide[1], wide[2][..., :3])),
        Case("a single token, which sees itself", three(1, 1, 4)),
        Case(
            "all scores far below −10,000", (low, -low, torch.randn(1, 3, 2, generator=generator))
        ),
        Case(
            "without `scaled_dot_product_attention`",
            refusing("scaled_dot_product_attention", q.clone(), q.clone(), v.clone()),
        ),
    ]
