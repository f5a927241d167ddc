"""One matrix for each head."""

import torch

from ....config import GPT2Config
from ....model import CausalSelfAttention
from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
TransformerLens keeps q, k and v as one matrix for each head. Translate our `c_attn.weight` into that layout.

`weight` is (3C, C), stored as (out, in) as in `nn.Linear`, with the rows of q first, then those of k, then those of v. The result is three tensors, for q, k and v, each (H, C, D), so that for a head `h` and x (T, C) the product `x @ q[h]` is that head's query, (T, D). (Biases are left out.)

For C = 2 and H = 2 the first two rows of `weight` make q. If they are (1, 2) and (3, 4), the query of head 0 has one number, $1 \cdot x_0 + 2 \cdot x_1$, and `q[0]` is `[[1], [2]]`; `q[1]` is `[[3], [4]]`.
"""

HINTS = (
    "First split into q, k and v with `weight.split(C)`, which gives three times (C, C). The rows are outputs, and head h has the rows h·D to (h + 1)·D − 1.",
    "`.view(H, D, C)` gives each head its D rows, as (out, in).",
    "`x @ q[h]` needs (in, out), so swap the last two axes with `.transpose(1, 2)`. A view directly to (H, C, D) would scramble the numbers.",
)

START = '''
def per_head(weight, n_head):
    """weight (3C, C). Returns q, k, v, each (H, C, D)."""
    ...
'''

SOLUTION = """
def per_head(weight, n_head):
    C = weight.size(1)
    parts = weight.split(C)  # q, k, v, each (C, C), one row for each output
    heads = [part.view(n_head, C // n_head, C) for part in parts]
    # (H, D, C) is (out, in) for each head; x @ q[h] wants (in, out)
    return [head.transpose(1, 2) for head in heads]
"""

MISTAKES = (
    Mistake(
        "Each matrix is still (out, in), (D, C). For `x @ q[h]` it must be (in, out), so swap the last two axes.",
        (".transpose(1, 2)", ""),
    ),
    Mistake(
        "A view directly to (H, C, D) has the right shape but scrambles the numbers. First `.view(H, D, C)`, then swap the last two axes.",
        ("head in heads", "w in heads"),
        ("head.transpose(1, 2)", "w.view(n_head, C, C // n_head)"),
    ),
    Mistake(
        "The heads are cut from the columns, which are inputs. A head has D outputs, which are rows here.",
        code="""
def per_head(weight, n_head):
    C = weight.size(1)
    parts = weight.split(C)
    return [w.view(C, n_head, C // n_head).transpose(0, 1) for w in parts]
""",
    ),
    Mistake(
        "Head h got every H-th row. Its rows are contiguous, h·D to (h + 1)·D − 1, so `.view(H, D, C)`.",
        ("head in heads", "w in heads"),
        ("head.transpose(1, 2)", "w.view(C // n_head, n_head, C).permute(1, 2, 0)"),
    ),
    Mistake(
        "The heads are cut first here, and q, k and v within each. GPT-2 has all of q first, then all of k, then all of v.",
        ("head in heads", "head in weight.view(n_head, 3, C // n_head, C).unbind(dim=1)"),
    ),
    Mistake(
        "The matrix is transposed as a whole and then viewed, which mixes the heads. Cut the rows into heads first, and swap the axes within each.",
        code="""
def per_head(weight, n_head):
    C = weight.size(1)
    parts = weight.split(C)
    return [w.T.reshape(n_head, C, C // n_head) for w in parts]
""",
    ),
    Mistake(
        "You split the columns, which are inputs. q, k and v follow each other in the rows: `weight.split(C)`, along axis 0.",
        code="""
def per_head(weight, n_head):
    C = weight.size(1)
    q, k, v = weight.split(C, dim=-1)
    return [w.view(n_head, C // n_head, C).transpose(1, 2) for w in (q, k, v)]
""",
    ),
    Mistake(
        "You transpose first, so that q, k and v lie side by side in the columns, and then cut the rows. Cut the weight as it is, `weight.chunk(3)`, and swap the axes within each head.",
        code="""
def per_head(weight, n_head):
    C = weight.size(1)
    q, k, v = weight.T.chunk(3, dim=0)
    return [w.reshape(n_head, C, C // n_head) for w in (q, k, v)]
""",
    ),
    Mistake(
        "q and k are swapped. The rows of q come first.",
        ("    heads =", "    parts = parts[1], parts[0], parts[2]\n    heads ="),
    ),
    Mistake(
        "Only q is cut into heads. Do the same with k and v.",
        ("[head.transpose(1, 2) for head in heads]", "[heads[0].transpose(1, 2), *parts[1:]]"),
    ),
    Mistake(
        "The wrong axes are swapped, which gives (D, H, C). Swap the last two, `.transpose(1, 2)`.",
        ("transpose(1, 2)", "transpose(0, 1)"),
    ),
    Mistake(
        "The results are (C, H, D), cut but with the heads in the middle. The head is the first axis.",
        ("head.transpose(1, 2)", "head.permute(2, 0, 1)"),
    ),
)


@torch.no_grad()
def right(weight, n_head):
    C = weight.size(1)
    layer = CausalSelfAttention(GPT2Config(n_embd=C, n_head=n_head))
    # A token with a single 1 at place c shows the row c of every head's matrix.
    outputs = torch.eye(C).unsqueeze(0) @ weight.T  # (1, C, 3C)
    return [layer.split_heads(part)[0] for part in outputs.split(C, dim=-1)]


def cases():
    generator = torch.Generator().manual_seed(12)
    small = torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]])
    weight = torch.randn(36, 12, generator=generator)
    return [
        Case("two heads of one number each", (small, 2)),
        Case("three heads of four numbers", (weight, 3)),
        Case("one head, as wide as the model", (weight, 1)),
    ]
