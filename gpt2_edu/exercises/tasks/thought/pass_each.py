"""Problem by problem."""

import torch

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
A model has tried each of P problems n times. `right` (P, n), booleans, says which of the answers are right. Write `pass_each(right, k)`. It returns pass@k: for each problem 1 − C(n − c, k) / C(n, k), where c of its answers are right, and of these the mean.

For the tries (1, 1) and (0, 0), pass@2 is 0.5.
"""

HINTS = (
    "`math.comb(n - c, k)` is 0 where fewer than k answers are wrong. So that case needs no line of its own.",
    "`right.sum(dim=1).tolist()` has c for every problem.",
    "Compute a value for each problem first, and take the mean last.",
)

START = '''
def pass_each(right, k):
    """right (P, n) bool, k a number up to n. Returns a number."""
    ...
'''

SOLUTION = """
def pass_each(right, k):
    n = right.size(1)
    each = []
    for c in right.sum(dim=1).tolist():
        each.append(1 - math.comb(n - c, k) / math.comb(n, k))
    return sum(each) / len(each)
"""

MISTAKES = (
    Mistake(
        "The problems are put together first. Then the right answers to an easy one help with a hard one. Take the mean last.",
        code="""
def pass_each(right, k):
    share = right.float().mean().item()
    return 1 - (1 - share) ** k
""",
    ),
    Mistake(
        "The answers of all problems are treated as one problem. Take the mean last.",
        code="""
def pass_each(right, k):
    n, c = right.numel(), int(right.sum())
    return 1 - math.comb(n - c, k) / math.comb(n, k)
""",
    ),
    Mistake(
        "That is 1 − (1 − c/n)^k, with replacement. It is too low in the mean: two tries would often be one and the same answer.",
        ("math.comb(n - c, k) / math.comb(n, k)", "(1 - c / n) ** k"),
    ),
    Mistake(
        "That is the chance that all k answers are right. One is enough.",
        ("1 - math.comb(n - c, k) / math.comb(n, k)", "math.comb(c, k) / math.comb(n, k)"),
    ),
    Mistake(
        "That is the chance that no answer is right. Take it from 1.",
        ("1 - math.comb(n - c, k)", "math.comb(n - c, k)"),
    ),
    Mistake(
        "Only the first k answers are looked at. That is right in the mean, but it throws the other n − k away, so it scatters more.",
        code="""
def pass_each(right, k):
    return right[:, :k].any(dim=1).float().mean().item()
""",
    ),
    Mistake(
        "The answers are counted along the wrong axis. A row is a problem.",
        ("right.sum(dim=1)", "right.sum(dim=0)"),
    ),
    Mistake(
        "There is one value for each problem. Their mean was asked for.",
        ("sum(each) / len(each)", "each"),
    ),
    Mistake(
        "That is pass@1, the share of right answers, whatever k is.",
        ("1 - math.comb(n - c, k) / math.comb(n, k)", "c / n"),
    ),
    Mistake(
        "Each problem gives 0 or 1 here. Only k of the n answers are taken, and `/` keeps the fraction.",
        ("1 - math.comb(n - c, k) / math.comb(n, k)", "float(c > 0)"),
    ),
    Mistake(
        "That is the sum over the problems. Take the mean.",
        (" / len(each)", ""),
    ),
    Mistake(
        "The sum is divided by the number of answers. Divide by the number of problems.",
        ("/ len(each)", "/ n"),
    ),
    Mistake(
        "C(c, k) counts choices of right answers. None is right in C(n − c, k) of them.",
        ("math.comb(n - c, k)", "math.comb(c, k)"),
    ),
    Mistake(
        "The loop ends after the first problem.",
        ("        each.append", "        if not each:\n            each.append"),
    ),
    Mistake(
        "k times the share counts cases with several right answers more than once.",
        ("1 - math.comb(n - c, k) / math.comb(n, k)", "k * c / n"),
    ),
    Mistake(
        "k times the share, at most 1, is an upper limit. Count the choices without a right answer.",
        ("1 - math.comb(n - c, k) / math.comb(n, k)", "min(1, k * c / n)"),
    ),
    Mistake(
        "The mean of c is taken first. Compute pass@k for each problem, then the mean: they are not the same.",
        code="""
def pass_each(right, k):
    n = right.size(1)
    c = round(right.sum(dim=1).float().mean().item())
    return 1 - math.comb(n - c, k) / math.comb(n, k)
""",
    ),
    Mistake(
        "That is the best problem's pass@k. The mean over all is asked for.",
        ("sum(each) / len(each)", "max(each)"),
    ),
    Mistake(
        "`perm` counts orders, `comb` choices. Both counts must be of the same kind.",
        ("math.comb(n - c, k)", "math.perm(n - c, k)"),
    ),
    Mistake(
        "c counts the right answers of all problems together. Each problem has its own: `right.sum(dim=1)`.",
        code="""
def pass_each(right, k):
    n, c = right.size(1), int(right.sum())
    return 1 - math.comb(n - c, k) / math.comb(n, k)
""",
    ),
)


def right(right, k):
    n = right.size(1)
    wrong = n - right.sum(dim=1)
    none = torch.ones(len(right), dtype=torch.double)
    for i in range(k):  # the next answer is wrong, too
        none = none * (wrong - i).clamp(min=0) / (n - i)
    return (1 - none).mean().item()


def cases():
    generator = torch.Generator().manual_seed(26)
    easy_and_hard = torch.rand(6, 10, generator=generator) < torch.linspace(0, 0.8, 6)[:, None]
    return [
        Case("two problems, k = 2", (torch.tensor([[True, True], [False, False]]), 2)),
        Case("one problem, 3 of 10, k = 5", ((torch.arange(10) < 3).flip(0)[None], 5)),
        Case("six problems, k = 4", (easy_and_hard, 4)),
        Case("the same, k = 1", (easy_and_hard, 1)),
    ]
