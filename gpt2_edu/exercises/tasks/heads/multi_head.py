"""GPT-2's attention, whole."""

from dataclasses import replace

import torch

from .... import course
from ....model import CausalSelfAttention
from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15

TASK = r"""
Put your parts together and write GPT-2's attention layer, from `x` (B, T, C) to (B, T, C), without dropout. `weights` is a dictionary with the four tensors of the layer, as `nn.Linear` stores them, (out, in):

| name | shape |
| --- | --- |
| `"c_attn.weight"` | (3C, C) |
| `"c_attn.bias"` | (3C,) |
| `"c_proj.weight"` | (C, C) |
| `"c_proj.bias"` | (C,) |

The first line fetches your own `causal_attention`, `split_heads` and `merge_heads`, or the book's where yours are missing.

A single token sees only itself, so with T = 1 the weights of every head are 1, and the result is `c_proj` of the token's value. If that value is (10, 20), and `c_proj` has the weight $\begin{pmatrix} 0 & 1 \\ 1 & 1 \end{pmatrix}$ and the bias (0.5, 0), the result is (20.5, 30).
"""

HINTS = (
    "There are five steps. Project with `c_attn`, separate q, k and v, split each into heads, attend, then merge and project with `c_proj`.",
    "First `.split(C, dim=-1)` into q, k and v, then `split_heads` on each of the three.",
    "A Linear is `x @ weight.T + bias`, or `F.linear(x, weight, bias)`, also for `c_proj`.",
)

START = '''
causal_attention, split_heads, merge_heads = own(
    "causal_attention", "split_heads", "merge_heads"
)


def multi_head(x, weights, n_head):
    """x (B, T, C); weights: a dict of tensors. Returns (B, T, C)."""
    ...
'''

SOLUTION = """
causal_attention, split_heads, merge_heads = own(
    "causal_attention", "split_heads", "merge_heads"
)


def multi_head(x, weights, n_head):
    qkv = F.linear(x, weights["c_attn.weight"], weights["c_attn.bias"])
    # first q, k and v, each (B, T, C); only then the heads
    q, k, v = (
        split_heads(part, n_head) for part in qkv.split(x.size(-1), dim=-1)
    )
    merged = merge_heads(causal_attention(q, k, v))  # (B, T, C)
    return F.linear(merged, weights["c_proj.weight"], weights["c_proj.bias"])
"""

MISTAKES = (
    Mistake(
        "`c_proj` is missing. The merged result still has to go through it.",
        ('F.linear(merged, weights["c_proj.weight"], weights["c_proj.bias"])', "merged"),
    ),
    Mistake(
        "The weight of `c_proj` is used without `.T`. It is square, so there is no error to warn you, but it is stored as (out, in) and must be transposed.",
        (
            'F.linear(merged, weights["c_proj.weight"], weights["c_proj.bias"])',
            'merged @ weights["c_proj.weight"] + weights["c_proj.bias"]',
        ),
    ),
    Mistake(
        "The bias of `c_proj` is missing. Add it at the end, once.",
        (', weights["c_proj.bias"]', ""),
    ),
    Mistake(
        "This is one wide head, because q, k and v are not split. Each head has its own slice and its own softmax.",
        (
            """\
q, k, v = (
        split_heads(part, n_head) for part in qkv.split(x.size(-1), dim=-1)
    )
    merged = merge_heads(causal_attention(q, k, v))  # (B, T, C)""",
            "merged = causal_attention(*qkv.split(x.size(-1), dim=-1))",
        ),
    ),
    Mistake(
        "You split all 3C outputs into heads first, so a head gets columns that belong to others. First separate q, k and v, C columns each, then split each into heads.",
        (
            """\
(
        split_heads(part, n_head) for part in qkv.split(x.size(-1), dim=-1)
    )""",
            "split_heads(qkv, n_head).chunk(3, dim=-1)",
        ),
    ),
    Mistake(
        "The scores are divided by √C. The vectors in the dot product have D entries, so it must be √D.",
        ("(q, k, v)", "(q / math.sqrt(n_head), k, v)"),
    ),
    Mistake(
        "You take the three pieces in another order. `c_attn` gives q, then k, then v.",
        ("    q, k, v = (", "    k, q, v = ("),
    ),
    Mistake(
        "`split` takes the size of a piece, C, and not the number of pieces, 3. (`chunk(3, dim=-1)` takes the number.)",
        (
            """\
(
        split_heads(part, n_head) for part in qkv.split(x.size(-1), dim=-1)
    )""",
            "qkv.split(3, dim=-1)",
        ),
    ),
    Mistake(
        "You add x to the result. That is the residual connection, which comes around this layer, in the next chapter.",
        ("return F.linear(merged", "return x + F.linear(merged"),
    ),
    Mistake(
        "The heads are joined without moving back, so each row mixes entries of several tokens. Use `merge_heads`.",
        ("merge_heads(causal_attention(q, k, v))", "causal_attention(q, k, v).reshape(x.shape)"),
    ),
    Mistake(
        "You take the three pieces in another order. `c_attn` gives q, then k, then v.",
        ("    q, k, v = (", "    v, k, q = ("),
    ),
    Mistake(
        "You take the three pieces in another order. `c_attn` gives q, then k, then v.",
        ("    q, k, v = (", "    q, v, k = ("),
    ),
    Mistake(
        "The bias of `c_attn` is missing.",
        (', weights["c_attn.bias"]', ""),
    ),
    Mistake(
        "The weight of `c_attn` is used without `.T`. It is stored as (out, in) = (3C, C) and must be transposed.",
        (
            'F.linear(x, weights["c_attn.weight"], weights["c_attn.bias"])',
            'x @ weights["c_attn.weight"] + weights["c_attn.bias"]',
        ),
    ),
    Mistake(
        "The heads are not merged. `merge_heads` brings them back to (B, T, C), for `c_proj`.",
        ("merge_heads(causal_attention(q, k, v))", "causal_attention(q, k, v)"),
    ),
    Mistake(
        "These are not three pieces of the last axis. Cut it with `split(x.size(-1), dim=-1)`, or with `chunk(3, dim=-1)`.",
        (
            """\
(
        split_heads(part, n_head) for part in qkv.split(x.size(-1), dim=-1)
    )""",
            "qkv.chunk(3)",
        ),
    ),
    Mistake(
        "These heads see the future. Call your `causal_attention`.",
        ("causal_attention(q, k, v))", "F.scaled_dot_product_attention(q, k, v))"),
    ),
    Mistake(
        "`split_heads` takes the number of heads, not their width.",
        ("split_heads(part, n_head)", "split_heads(part, x.size(-1) // n_head)"),
    ),
)


def right(x, weights, n_head):
    config = replace(course.TOY, n_embd=x.size(-1), n_head=n_head)
    with torch.device("meta"):  # draws no numbers: the weights are given
        layer = CausalSelfAttention(config)
    layer.load_state_dict(weights, assign=True)
    return layer.eval()(x)


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(64)

    def weights(C):
        shapes = {"c_attn.weight": (3 * C, C), "c_attn.bias": (3 * C,)}
        shapes |= {"c_proj.weight": (C, C), "c_proj.bias": (C,)}
        return {
            name: torch.randn(*shape, generator=generator) / 2 for name, shape in shapes.items()
        }

    def case(label, B, T, C, n_head):
        return Case(label, (torch.randn(B, T, C, generator=generator), weights(C), n_head))

    tiny = {
        "c_attn.weight": torch.cat([torch.eye(2), torch.eye(2), 10 * torch.eye(2)]),
        "c_attn.bias": torch.zeros(6),
        "c_proj.weight": torch.tensor([[0.0, 1.0], [1.0, 1.0]]),
        "c_proj.bias": torch.tensor([0.5, 0.0]),
    }
    return [
        Case("one token, (1, 2): its value is (10, 20)", (torch.tensor([[[1.0, 2.0]]]), tiny, 2)),
        case("B = 2, T = 5, C = 12, three heads", 2, 5, 12, 3),
        case("one head", 2, 5, 6, 1),
        case("as many heads as numbers", 1, 4, 6, 6),
    ]
