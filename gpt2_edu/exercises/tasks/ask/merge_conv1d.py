"""An adapter merged into a file."""

import torch

from ...comparing import in_words
from ...exercise import Case, Mistake

ORDER = 70
KIND = "repair"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
Hugging Face's files of GPT-2 store a matrix as (in, out), as [chapter 12](../12_weights.ipynb) showed, but the two matrices of an adapter as those of an `nn.Linear`: A (r, in) and B (out, r). This function merges an adapter into such a file. It has been used for months on `attn.c_proj`, where in = out = C and no shape is wrong, and the merged models were never as good as the adapters. It has **two** bugs. Find and fix them.
"""

HINTS = (
    "What is the shape of B @ A? Which axis of the stored matrix is which?",
    "Is A ever divided by anything? Read again what α is for.",
    "The stored matrix is the transpose of the one that `nn.Linear` has, so what is added must be transposed, too.",
)

START = '''
def merge_conv1d(stored, A, B, alpha):
    """stored (in, out), A (r, in), B (out, r). Returns the merged matrix (in, out)."""
    raise NotImplementedError("find the bugs, fix them, delete this line")
    return stored + alpha * (B @ A)
'''

SOLUTION = """
def merge_conv1d(stored, A, B, alpha):
    rank = A.size(0)
    return stored + (alpha / rank) * (B @ A).T
"""

MISTAKES = (
    Mistake(
        "B @ A is (out, in), and the stored matrix (in, out). If in = out nothing complains, and every weight that is added lands in the wrong place. Transpose it.",
        ("(B @ A).T", "(B @ A)"),
    ),
    Mistake(
        "α is not the scale. The scale is α divided by the rank.",
        ("(alpha / rank)", "alpha"),
    ),
    Mistake(
        "Both bugs are still there: the product is not transposed, and α is not divided by the rank.",
        ("(alpha / rank) * (B @ A).T", "alpha * (B @ A)"),
    ),
    Mistake(
        "The stored matrix is transposed, and the result with it. A file must get (in, out) back.",
        ("stored + (alpha / rank) * (B @ A).T", "stored.T + (alpha / rank) * (B @ A)"),
    ),
    Mistake(
        "The rank is taken from the wrong axis. A is (r, in), so it is `A.size(0)`.",
        ("A.size(0)", "A.size(1)"),
    ),
    Mistake(
        "The rank is taken from the wrong axis. B is (out, r), so its rows are outputs; use `A.size(0)`.",
        ("A.size(0)", "B.size(0)"),
    ),
    Mistake(
        "This multiplies by the rank. The scale is α / r.",
        ("alpha / rank", "alpha * rank"),
    ),
    Mistake(
        "The adapter is taken away here, and not added.",
        ("stored + ", "stored - "),
    ),
    Mistake(
        "What the adapter adds is returned without the matrix that it is added to.",
        ("stored + ", ""),
    ),
    Mistake(
        "There is no scale. What is added is multiplied by α / r.",
        ("(alpha / rank) * ", ""),
    ),
    Mistake(
        "The product is A @ B, an (r, r) matrix. B is on the left: (out, r) times (r, in).",
        ("(B @ A).T", "(A @ B).T"),
    ),
    Mistake(
        "Only one of the two is transposed, and the product does not fit. `(B @ A).T` is `A.T @ B.T`.",
        ("(B @ A).T", "(A.T @ B)"),
    ),
    Mistake(
        "The whole sum is transposed, and the stored matrix with it. Only B @ A has to be.",
        ("stored + (alpha / rank) * (B @ A).T", "(stored + (alpha / rank) * (B @ A)).T"),
    ),
    Mistake(
        "The stored matrix itself is changed, as `+=` does. Return a new one.",
        ("return stored + ", "return stored.add_("),
        ("(B @ A).T", "(B @ A).T)"),
    ),
    Mistake(
        "α is divided by the root of the rank. Here the scale is α / r.",
        ("alpha / rank", "alpha / rank**0.5"),
    ),
    Mistake(
        "The fraction of α / r is cut off. The scale is `alpha / rank`.",
        ("alpha / rank", "alpha // rank"),
    ),
    Mistake(
        "The whole sum is scaled. Only what the adapter adds is.",
        ("stored + (alpha / rank) * (B @ A).T", "(alpha / rank) * (stored + (B @ A).T)"),
    ),
    Mistake(
        "The scale is upside down. It is α / r.",
        ("alpha / rank", "rank / alpha"),
    ),
    Mistake(
        "α is divided by the rank twice.",
        ("alpha / rank", "alpha / rank**2"),
    ),
    Mistake(
        "`reshape` and `view` fill the new rows with the numbers in their old order. `.T` exchanges rows and columns.",
        ("(B @ A).T", "(B @ A).reshape(stored.shape)"),
    ),
    Mistake(
        "What is added is transposed only where the shapes demand it. The axes are as wrong in a square matrix.",
        ("(B @ A).T", "(B @ A if len(A.T) == len(B) else (B @ A).T)"),
    ),
    Mistake(
        "α is divided by the number of entries of A. Its rank is the number of its rows, `A.size(0)`.",
        ("A.size(0)", "A.numel()"),
    ),
    Mistake(
        "`A.dim()` counts the axes of a tensor. The rank of an adapter is r, `A.size(0)`.",
        ("A.size(0)", "A.dim()"),
    ),
    Mistake(
        "The scale is applied twice, to A and to B. Apply it once, to their product.",
        ("(alpha / rank)", "(alpha / rank) ** 2"),
    ),
)


def right(stored, A, B, alpha):
    return torch.einsum("ri,or->io", A, B) * alpha / len(A) + stored


def properties(result, stored, A, B, alpha):
    """In words, how what is added differs from what should be."""
    said = in_words(result - stored, right(stored, A, B, alpha) - stored, 1e-4)
    return said and f"Of what is added: {said[0].lower()}{said[1:]}"


def cases():
    generator = torch.Generator().manual_seed(23)

    def case(label, inputs, outputs, rank, alpha):
        sizes = (inputs, outputs), (rank, inputs), (outputs, rank)
        return Case(label, (*(torch.randn(*s, generator=generator) for s in sizes), alpha))

    return [
        case("a square matrix, rank 2", 3, 3, 2, 4),
        case("a square matrix, rank 1", 4, 4, 1, 3),
        case("from 3 to 5, rank 2", 3, 5, 2, 5),
        case("from 6 to 2, rank 4", 6, 2, 4, 4),
    ]
