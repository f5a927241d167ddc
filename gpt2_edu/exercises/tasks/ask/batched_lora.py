"""Many adapters in one batch."""

import torch

from ...comparing import in_words
from ...exercise import Case, Mistake

ORDER = 90
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
A server keeps one model and an adapter for each of its customers. Merging one for each request would be slow, but texts with different adapters can share a batch, because the large product is the same for all of them.

Write `batched_lora(x, weight, A, B, which, scale)`. Text b of `x` (B, T, in) uses adapter `which[b]`, where A (n, r, in) and B (n, out, r) hold n adapters, `weight` is (out, in) and `scale` is a number. Return (B, T, out). Do it without a loop over the texts.
"""

HINTS = (
    "`A[which]` is (B, r, in): for each text its own A.",
    "`x @ weight.T` is the same for all texts. `x @ A[which].transpose(1, 2)` is a product for each text, (B, T, r).",
    "The second thin product brings (B, T, r) to (B, T, out).",
)

START = '''
def batched_lora(x, weight, A, B, which, scale):
    """x (B, T, in), weight (out, in), A (n, r, in), B (n, out, r), which (B,)."""
    ...
'''

SOLUTION = """
def batched_lora(x, weight, A, B, which, scale):
    thin = x @ A[which].transpose(1, 2)  # (B, T, r)
    return x @ weight.T + scale * (thin @ B[which].transpose(1, 2))
"""

MISTAKES = (
    Mistake(
        "Every text uses the adapter of its own number here. Text b uses adapter `which[b]`.",
        ("A[which]", "A[torch.arange(len(x)) % len(A)]"),
        ("B[which]", "B[torch.arange(len(x)) % len(B)]"),
    ),
    Mistake(
        "A is chosen by `which`, and B is always that of the first adapter.",
        ("B[which]", "B[:1]"),
    ),
    Mistake(
        "B is chosen by `which`, and A is always that of the first adapter.",
        ("A[which]", "A[:1]"),
    ),
    Mistake(
        "All texts use the first adapter.",
        ("A[which]", "A[:1]"),
        ("B[which]", "B[:1]"),
    ),
    Mistake(
        "All texts use the adapter of the first text. Each has its own.",
        ("A[which]", "A[which[:1]]"),
        ("B[which]", "B[which[:1]]"),
    ),
    Mistake(
        "The scale is missing.",
        ("scale * (thin", "(thin"),
    ),
    Mistake(
        "The whole output is scaled. Only what the adapters add is.",
        (
            "x @ weight.T + scale * (thin @ B[which].transpose(1, 2))",
            "scale * (x @ weight.T + thin @ B[which].transpose(1, 2))",
        ),
    ),
    Mistake(
        "What the frozen weight gives is missing: `x @ weight.T`.",
        ("x @ weight.T + ", ""),
    ),
    Mistake(
        "The adapters are averaged here. Each text has its own.",
        ("A[which]", "A.mean(dim=0, keepdim=True)"),
        ("B[which]", "B.mean(dim=0, keepdim=True)"),
    ),
    Mistake(
        "The weight must be transposed: it is (out, in).",
        ("weight.T", "weight"),
    ),
    Mistake(
        "The adapters' axes r and in are in the wrong order for the product. Exchange them with `.transpose(1, 2)`.",
        ("A[which].transpose(1, 2)", "A[which]"),
    ),
    Mistake(
        "`.T` reverses all three axes of A, also that of the texts. Exchange the last two only: `.transpose(1, 2)`.",
        ("A[which].transpose(1, 2)", "A[which].T"),
    ),
    Mistake(
        "A and B have changed places. A reads x first, and B writes the output.",
        ("x @ A[which]", "x @ B[which]"),
        ("thin @ B[which]", "thin @ A[which]"),
    ),
    Mistake(
        "Neither A nor B is transposed. Exchange their last two axes with `.transpose(1, 2)`.",
        ("A[which].transpose(1, 2)", "A[which]"),
        ("B[which].transpose(1, 2)", "B[which]"),
    ),
    Mistake(
        "B's axes out and r are in the wrong order for the product. Exchange them with `.transpose(1, 2)`.",
        ("B[which].transpose(1, 2)", "B[which]"),
    ),
    Mistake(
        "All adapters are used, in the order that they have. Choose one for each text: `A[which]`, `B[which]`.",
        ("A[which]", "A"),
        ("B[which]", "B"),
    ),
    Mistake(
        "That is a list of tensors. Return one tensor (B, T, out); `torch.stack` would make one.",
        ("return x", "return list(x"),
        ("(thin @ B[which].transpose(1, 2))", "(thin @ B[which].transpose(1, 2)))"),
    ),
    Mistake(
        "`which` chooses along the second axis here, the one of r. The adapters are the first: `A[which]`.",
        ("A[which]", "A[:, which]"),
        ("B[which]", "B[:, which]"),
    ),
    Mistake(
        "What the adapters add is divided by the rank. `scale` is α / r already.",
        ("scale * (thin", "scale / A.size(1) * (thin"),
    ),
    Mistake(
        "The adapters of all customers are added to the weight. Each text has its own.",
        code="""
def batched_lora(x, weight, A, B, which, scale):
    return x @ (weight + scale * (B @ A).sum(dim=0)).T
""",
    ),
    Mistake(
        "Every text gets the sum of the adapters that the texts of the batch use. Each has its own.",
        code="""
def batched_lora(x, weight, A, B, which, scale):
    return x @ (weight + scale * (B[which] @ A[which]).sum(dim=0)).T
""",
    ),
    Mistake(
        "The merged weights (B, out, in) are not transposed. Exchange their last two axes.",
        code="""
def batched_lora(x, weight, A, B, which, scale):
    return x @ (weight + scale * (B[which] @ A[which]))
""",
    ),
    Mistake(
        "A reads what the weight has made of x. It reads x itself.",
        ("thin = x @ A", "thin = x @ weight.T @ A"),
    ),
    Mistake(
        "There is something between A and B that bends the product. They follow each other directly.",
        ("    return x", "    thin = thin.relu()\n    return x"),
    ),
    Mistake(
        "What the adapters add is subtracted.",
        ("+ scale", "- scale"),
    ),
    Mistake(
        "The scale is applied twice.",
        ("scale * (thin", "scale**2 * (thin"),
    ),
    Mistake(
        "The weight that was given is changed, and other texts use it. Add what the adapters make of x to the output.",
        code="""
def batched_lora(x, weight, A, B, which, scale):
    weight += scale * (B[which[0]] @ A[which[0]])
    return x @ weight.T
""",
    ),
    Mistake(
        "`view` and `reshape` keep the numbers in their order. `.transpose(1, 2)` exchanges two axes.",
        ("A[which].transpose(1, 2)", "A[which].reshape(len(which), -1, A.size(1))"),
    ),
    Mistake(
        "`view` and `reshape` keep the numbers in their order. `.transpose(1, 2)` exchanges two axes.",
        ("B[which].transpose(1, 2)", "B[which].reshape(len(which), A.size(1), -1)"),
    ),
    Mistake(
        "All texts use the adapter of the last one. Each has its own.",
        ("A[which]", "A[which[-1:]]"),
        ("B[which]", "B[which[-1:]]"),
    ),
    Mistake(
        "B is summed over the texts. In `einsum` the letter of the texts must be in A, B and the result.",
        ("B[which]", "B[which].sum(dim=0, keepdim=True)"),
    ),
    Mistake(
        "A is summed over the texts. In `einsum` the letter of the texts must be in A, B and the result.",
        ("A[which]", "A[which].sum(dim=0, keepdim=True)"),
    ),
    Mistake(
        "The product is A @ B. B is on the left: (out, r) times (r, in) is (out, in), as the weight is.",
        code="""
def batched_lora(x, weight, A, B, which, scale):
    return x @ (weight + scale * (A[which] @ B[which])).transpose(1, 2)
""",
    ),
)


def right(x, weight, A, B, which, scale):
    merged = weight + scale * torch.einsum("nor,nri->noi", B, A)[which]  # (B, out, in)
    return torch.einsum("bti,boi->bto", x, merged)


def properties(result, x, weight, *adapters):
    """In words, how what is added differs from what should be."""
    base = x @ weight.T
    said = in_words(result - base, right(x, weight, *adapters) - base, 1e-3)
    return said and f"Of what the adapters add: {said[0].lower()}{said[1:]}"


TOLERANCE = 1e-4


def cases():
    generator = torch.Generator().manual_seed(24)

    def case(label, T, inputs, outputs, n, rank, which, scale):
        sizes = (len(which), T, inputs), (outputs, inputs), (n, rank, inputs), (n, outputs, rank)
        tensors = [torch.randn(*size, generator=generator) for size in sizes]
        return Case(label, (*tensors, torch.tensor(which), scale))

    return [
        case("one text, the second of two adapters", 2, 3, 5, 2, 1, [1], 1.0),
        case("three texts, two adapters", 2, 3, 5, 2, 2, [1, 0, 1], 2.0),
        case("four texts with the same adapter", 3, 4, 2, 3, 2, [2, 2, 2, 2], 0.5),
        case("as many texts as adapters", 5, 6, 6, 4, 3, [3, 1, 0, 2], 2.0),
        case("inputs, outputs and rank of one size", 2, 3, 3, 2, 3, [1, 0], 0.5),
    ]
