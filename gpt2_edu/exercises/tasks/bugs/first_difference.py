"""Find the place."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
Two programs compute the same model, one of them wrongly. `ours` and `theirs` are {name: tensor}, in the order of computation, with the same names. Write a function that returns the name of the **first** tensor that differs, or the string `"none"`.

The two are different code, so allow for rounding. A tensor differs if some entry is off by more than $10^{-4}$ times the largest absolute value in the tensor of `theirs`.

For example, compare `{"embd": [1, 2], "ln_f": [3, 0]}` with `{"embd": [1, 2], "ln_f": [3, 1]}`. The first pair is equal; in the second an entry is off by 1, and 1 is more than $3 \cdot 10^{-4}$. The answer is `"ln_f"`.
"""

HINTS = (
    "A dictionary keeps its order, so one loop over the names is enough, and it ends at the first difference.",
    "For one name, compare the largest `(ours[name] - theirs[name]).abs()` with `1e-4` times the largest `theirs[name].abs()`.",
    '`return name` inside the loop, `return "none"` after it.',
)

START = '''
def first_difference(ours, theirs):
    """Two {name: tensor} with the same names. Returns a name or "none"."""
    ...
'''

SOLUTION = """
def first_difference(ours, theirs):
    for name, wanted in theirs.items():
        off = (ours[name] - wanted).abs().max()
        # relative to the tensor's own size, because large numbers round more
        if off > 1e-4 * wanted.abs().max():
            return name
    return "none"
"""

MISTAKES = (
    Mistake(
        "This asks for equality to the last bit. Different code rounds differently; allow for it.",
        ("off > 1e-4 * wanted.abs().max()", "not torch.equal(ours[name], theirs[name])"),
    ),
    Mistake(
        "This finds the *largest* difference. A mistake grows on its way, so the largest comes long after the wrong line. Return the first.",
        code="""
def first_difference(ours, theirs):
    worst, where = 1e-4, "none"
    for name, wanted in theirs.items():
        off = (ours[name] - wanted).abs().max() / wanted.abs().max()
        if off > worst:
            worst, where = off, name
    return where
""",
    ),
    Mistake(
        "This compares each entry with its own size. Where large numbers have cancelled, an entry near 0 may consist of rounding error only. Use one limit for the whole tensor, 0.0001 times its largest absolute value.",
        (
            "off > 1e-4 * wanted.abs().max()",
            "not torch.allclose(ours[name], wanted, rtol=0.0001, atol=0)",
        ),
    ),
    Mistake(
        "This allows 0.0001 for every tensor, whatever its size. Compare with the largest absolute value in the tensor of `theirs`.",
        ("1e-4 * wanted.abs().max()", "0.0001"),
    ),
    Mistake(
        "This returns the *last* tensor that differs. Leave the loop at the first one.",
        ("    for name", '    found = "none"\n    for name'),
        ("return name", "found = name"),
        ('return "none"', "return found"),
    ),
    Mistake(
        "You ignore the sign, but an entry that is too *small* counts as well. Take the absolute value of the difference.",
        ("off > 1e-4", "(ours[name] - wanted).max() > 1e-4"),
    ),
    Mistake(
        "This averages the differences. One wrong entry among many then disappears. Take the largest.",
        ("off > 1e-4", "(ours[name] - wanted).abs().mean() > 1e-4"),
    ),
    Mistake(
        "The size of a tensor is its largest *absolute* value. Where all entries are below 0, the largest is the smallest in size, so use `.abs().max()` on both sides.",
        ("wanted.abs().max", "wanted.max"),
    ),
    Mistake(
        '`return "none"` is inside the loop, so only the first tensor is compared. Put it after the loop.',
        ('    return "none"', '        return "none"'),
    ),
    Mistake(
        "The limit is 0.0001 times the largest value, and yours is larger.",
        ("1e-4", "1e-3"),
    ),
    Mistake(
        "You compare with the mean of the tensor. Compare with its largest absolute value.",
        ("wanted.abs().max()", "wanted.abs().mean()"),
    ),
    Mistake(
        "The differences are added up, so rounding in many entries counts as a difference. Take the largest.",
        ("(ours[name] - wanted).abs().max()", "(ours[name] - wanted).abs().sum()"),
    ),
    Mistake(
        'If no tensor differs, return the string `"none"`.',
        ('return "none"', "return None"),
    ),
    Mistake(
        "Return the name itself, not a list.",
        ("return name", "return [name]"),
    ),
    Mistake(
        "Signs are ignored on both sides. Entries that are too small count too, and the size of a tensor is its largest *absolute* value: `.abs().max()` on both.",
        ("(ours[name] - wanted).abs().max()", "(ours[name] - wanted).max()"),
        ("1e-4 * wanted.abs().max()", "1e-4 * wanted.max()"),
    ),
)


def right(ours, theirs):
    differ = [
        name
        for name in theirs
        if torch.dist(ours[name], theirs[name], torch.inf)
        > 1e-4 * torch.linalg.vector_norm(theirs[name], torch.inf)
    ]
    return [*differ, "none"][0]


def cases():
    generator = torch.Generator().manual_seed(18)
    names = ("embd", "h.0.ln_1", "h.0.attn.out", "h.0.mlp.out", "ln_f", "logits")
    theirs = {name: torch.randn(2, 5, 12, generator=generator) for name in names}

    def changed(**by):
        # by["3"]: what is added to the first number of the tensor at place 3
        ours = {name: tensor.clone() for name, tensor in theirs.items()}
        for place, amount in by.items():
            ours[names[int(place[1:])]].view(-1)[0] += amount
        return ours

    two = {"embd": torch.tensor([1.0, 2.0]), "ln_f": torch.tensor([3.0, 0.0])}
    large = {"embd": theirs["embd"], "resid_post": 1e3 * theirs["ln_f"], "logits": theirs["logits"]}
    rounded = {name: tensor * (1 + 2e-5) for name, tensor in large.items()}
    below = {"embd": -1 - theirs["embd"].abs()}
    below_rounded = {"embd": below["embd"] * (1 + 2e-5)}
    # Large numbers that cancel leave a small one, all digits of which are rounding.
    cancelled = {"resid_post": torch.tensor([1000.0, 3e-5]), "logits": theirs["logits"]}
    cancelled_rounded = {**cancelled, "resid_post": torch.tensor([1000.0, -2e-5])}
    small = {"embd": theirs["embd"], "grad": 1e-4 * theirs["ln_f"]}
    return [
        Case("two tensors, the second differs", ({**two, "ln_f": torch.tensor([3.0, 1.0])}, two)),
        Case("a difference that grows on its way", (changed(_2=0.1, _3=0.4, _5=2.0), theirs)),
        Case("rounding, in small numbers and in large ones", (rounded, large)),
        Case("rounding, in numbers below 0", (below_rounded, below)),
        Case("rounding, in a number near 0 beside a large one", (cancelled_rounded, cancelled)),
        Case("a number that is too small", (changed(_1=-0.5, _4=0.5), theirs)),
        Case("one number of 120, off by a little", (changed(_3=0.004), theirs)),
        Case("one number of 120, off by very little", (changed(_3=0.001), theirs)),
        Case("tiny numbers, wrong by a half", ({**small, "grad": 1.5 * small["grad"]}, small)),
    ]
