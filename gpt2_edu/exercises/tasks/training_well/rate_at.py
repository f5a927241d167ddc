"""Warm-up and cosine."""

from gpt2_edu.training.optim import learning_rate

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Write the learning rate of a step. Steps count from 0 to `steps` − 1.

In the warm-up, the first `warmup_steps` steps (there may be 0 of them), it rises in equal increments. Step 0 gets lr / warmup_steps, and the last step of the warm-up gets lr. After that the rate is

$$\text{min\_lr} + (\text{lr} - \text{min\_lr}) \cdot \frac{1 + \cos \pi d}{2}$$

where $d$ is the share of the steps after the warm-up that is done, this step included. The very last step therefore has $d = 1$ and gets min_lr.

With steps = 6, lr = 8, min_lr = 2 and warmup_steps = 2 the rates are 4, 8, 7.12, 5, 2.88, 2.
"""

HINTS = (
    "There are two cases, `step < warmup_steps` and the rest. In both, step s is the (s + 1)-th.",
    "In the example four steps follow the warm-up, so $d$ is ¼, ½, ¾, 1.",
    "`d = (step + 1 - warmup_steps) / (steps - warmup_steps)`",
)

START = '''
def rate_at(step, steps, lr, min_lr, warmup_steps):
    """Returns the learning rate of this step, a number."""
    ...
'''

SOLUTION = """
def rate_at(step, steps, lr, min_lr, warmup_steps):
    if step < warmup_steps:
        return lr * (step + 1) / warmup_steps  # never 0
    d = (step + 1 - warmup_steps) / (steps - warmup_steps)
    return min_lr + (lr - min_lr) * (1 + math.cos(math.pi * d)) / 2
"""

MISTAKES = (
    Mistake(
        "Your warm-up begins at 0, which wastes the first step. Count this step too, with step + 1.",
        ("(step + 1)", "step"),
    ),
    Mistake(
        "Your cosine starts at step 0, so the rate drops right after the warm-up. Count only the steps after the warm-up, in the numerator and the denominator of d.",
        ("(step + 1 - warmup_steps) / (steps - warmup_steps)", "(step + 1) / steps"),
    ),
    Mistake(
        "Your last step does not reach min_lr, because d ends just below 1. This step counts as done, so add 1.",
        ("(step + 1 - warmup_steps)", "(step - warmup_steps)"),
    ),
    Mistake(
        "Your rate falls to 0. It should fall from lr to min_lr, so scale the cosine by lr − min_lr and add min_lr.",
        ("min_lr + (lr - min_lr)", "lr"),
    ),
    Mistake(
        "This is a straight fall. The cosine falls slowly at first, fast in the middle and slowly at the end.",
        ("(1 + math.cos(math.pi * d)) / 2", "(1 - d)"),
    ),
    Mistake(
        "The warm-up is missing, so the first steps learn at nearly the full rate. Begin with the case `step < warmup_steps`.",
        (
            """\
    if step < warmup_steps:
        return lr * (step + 1) / warmup_steps  # never 0
""",
            "",
        ),
        ("(step + 1 - warmup_steps) / (steps - warmup_steps)", "(step + 1) / steps"),
    ),
    Mistake(
        "You count the steps done *before* this one, in the warm-up and after it. The first step therefore learns at 0, and the last never reaches min_lr. Write step + 1 in both.",
        ("lr * (step + 1)", "lr * step"),
        ("(step + 1 - warmup_steps)", "(step - warmup_steps)"),
    ),
    Mistake(
        "`<=` makes the warm-up one step too long, and its last rate is above lr. Steps count from 0, so it is `step < warmup_steps`.",
        ("step < warmup_steps", "step <= warmup_steps"),
    ),
    Mistake(
        "You forgot π, without which the cosine does not get down to −1. It is cos(π · d).",
        ("math.cos(math.pi * d)", "math.cos(d)"),
    ),
    Mistake(
        "You forgot the half. 1 + cos goes from 2 to 0, so it is divided by 2.",
        (" / 2", ""),
    ),
    Mistake(
        "The case of the warm-up is missing, so d is below 0 there. Begin with `if step < warmup_steps`.",
        (
            """\
    if step < warmup_steps:
        return lr * (step + 1) / warmup_steps  # never 0
""",
            "",
        ),
    ),
    Mistake(
        "Your warm-up rises from min_lr. It rises in equal increments from 0, so the first step gets lr divided by the steps of the warm-up.",
        ("lr * (step + 1)", "min_lr + (lr - min_lr) * (step + 1)"),
    ),
    Mistake(
        "Both formulas are right, but the one for the warm-up is always computed, and divides by 0 where there is none. Put it under the `if`.",
        (
            "    if step < warmup_steps:\n        return lr * (step + 1) / warmup_steps  # never 0",
            """\
    warm = lr * (step + 1) / warmup_steps
    if step < warmup_steps:
        return warm""",
        ),
    ),
    Mistake(
        "You divide by warmup_steps + 1, so the warm-up ends below lr. Its last step gets lr, so divide by `warmup_steps`.",
        ("(step + 1) / warmup_steps", "(step + 1) / (warmup_steps + 1)"),
    ),
    Mistake(
        "Your cosine falls to 0 and is cut off at min_lr. Let it fall by lr − min_lr, and add min_lr.",
        (
            "min_lr + (lr - min_lr) * (1 + math.cos(math.pi * d)) / 2",
            "max(min_lr, lr * (1 + math.cos(math.pi * d)) / 2)",
        ),
    ),
    Mistake(
        "d divides by all steps. Only those after the warm-up count: `steps - warmup_steps`.",
        ("/ (steps - warmup_steps)", "/ steps"),
    ),
)


def right(step, steps, lr, min_lr, warmup_steps):
    return learning_rate(step, steps=steps, lr=lr, min_lr=min_lr, warmup_steps=warmup_steps)


def cases():
    return [
        Case("the very first step", (0, 6, 8.0, 2.0, 2)),
        Case("the last step of the warm-up", (1, 6, 8.0, 2.0, 2)),
        Case("the first step after it", (2, 6, 8.0, 2.0, 2)),
        Case("half of the way down", (3, 6, 8.0, 2.0, 2)),
        Case("the last step of all", (5, 6, 8.0, 2.0, 2)),
        Case("in the warm-up of a long run", (30, 3600, 3.0, 0.5, 100)),
        Case("a long run", (1234, 3600, 3.0, 0.5, 100)),
        Case("no warm-up", (0, 10, 3.0, 0.5, 0)),
    ]
