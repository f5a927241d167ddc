"""How far a law is from the runs."""

from typing import Any

import torch
from torch import Tensor

from ...exercise import Case, Mistake

PARTS = ("scaling_error",)
IMPORTS = ("import torch", "from torch.nn import functional as F")

START = '''
def scaling_error(law, n, d, losses):  # (5,), then (R,) three times
    """How far E + A / N^alpha + B / D^beta is from R runs."""
    e, a, b, alpha, beta = law  # e, a and b are logarithms
    ...  # the logarithm of each of the three terms
    ...  # the logarithm of their sum
    ...  # Huber's loss, with delta 1e-3, added up
'''

SOLUTION = '''
def scaling_error(law, n, d, losses):  # (5,), then (R,) three times
    """How far E + A / N^alpha + B / D^beta is from R runs."""
    e, a, b, alpha, beta = law  # e, a and b are logarithms
    terms = torch.stack(
        [e.expand_as(n), a - alpha * n.log(), b - beta * d.log()]
    )
    return F.huber_loss(
        terms.logsumexp(dim=0), losses.log(), reduction="sum", delta=1e-3
    )
'''

MISTAKES = (
    Mistake(
        "The law is compared with the losses themselves. Compare logarithms: `losses.log()`.",
        ("losses.log()", "losses"),
    ),
    Mistake(
        "Both sides are losses, not logarithms, so that the large losses of small runs decide nearly "
        "everything.",
        ("terms.logsumexp(dim=0), losses.log()", "terms.exp().sum(dim=0), losses"),
    ),
    Mistake(
        "The logarithms of the three terms are added, which multiplies the terms. Add the terms: "
        "`logsumexp`.",
        ("terms.logsumexp(dim=0)", "terms.sum(dim=0)"),
    ),
    Mistake(
        "The floor is missing, so that the loss of the law falls to 0.",
        (
            "[e.expand_as(n), a - alpha * n.log(), b - beta * d.log()]",
            "[a - alpha * n.log(), b - beta * d.log()]",
        ),
    ),
    Mistake(
        "`e` is the logarithm of E already. Taking its exponential makes it the logarithm of "
        "something else.",
        ("e.expand_as(n)", "e.exp().expand_as(n)"),
    ),
    Mistake(
        "The loss rises with the number of parameters here. Dividing by N^α subtracts α ln N.",
        ("a - alpha * n.log()", "a + alpha * n.log()"),
    ),
    Mistake(
        "The loss rises with the number of tokens here. Dividing by D^β subtracts β ln D.",
        ("b - beta * d.log()", "b + beta * d.log()"),
    ),
    Mistake(
        "The exponents have changed places: α belongs to the parameters, β to the tokens.",
        ("a - alpha * n.log()", "a - beta * n.log()"),
        ("b - beta * d.log()", "b - alpha * d.log()"),
    ),
    Mistake(
        "N and D have changed places.",
        ("a - alpha * n.log()", "a - alpha * d.log()"),
        ("b - beta * d.log()", "b - beta * n.log()"),
    ),
    Mistake(
        "This is the mean over the runs. Add them up. (A mean is so small that an optimiser may stop "
        "too early.)",
        (', reduction="sum"', ""),
    ),
    Mistake(
        "Huber's loss has δ = 1 if you do not say otherwise, so that it squares everything. Set "
        "`delta=1e-3`.",
        (", delta=1e-3", ""),
    ),
    Mistake(
        "The squares are added up. A single run that went wrong then pulls the law far away. Use "
        '`F.huber_loss(…, reduction="sum", delta=1e-3)`.',
        ("huber_loss", "mse_loss"),
        (", delta=1e-3", ""),
    ),
)


def use(mine: Any, law: Tensor, *runs: Tensor) -> Any:
    """The error, and its gradient on the law."""
    law = law.clone().requires_grad_()
    error = mine.scaling_error(law, *runs)
    if not isinstance(error, Tensor) or error.ndim or not error.requires_grad:
        return error
    gradient = torch.autograd.grad(error, law, allow_unused=True, materialize_grads=True)
    return [error.detach(), *gradient]


def right(law: Tensor, n: Tensor, d: Tensor, losses: Tensor) -> list[Tensor]:
    law = law.clone().requires_grad_()
    E, A, B = law[:3].exp()
    apart = ((E + A * n ** -law[3] + B * d ** -law[4]) / losses).log().abs()
    delta = 1e-3
    near = apart <= delta
    error = torch.where(near, 0.5 * apart**2, delta * (apart - delta / 2)).sum()
    return [error.detach(), torch.autograd.grad(error, law)[0]]


def cases() -> list[Case]:
    n = torch.tensor([1e3, 1e4, 1e5]).double().repeat_interleave(3)
    d = torch.tensor([1e5, 1e6, 1e7]).double().repeat(3)
    losses = 0.44 + 8 / n**0.4 + 200 / d**0.5
    close = torch.tensor([0.4404, 8.0, 200.0]).double().log()
    law = torch.cat([close, torch.tensor([0.4, 0.5]).double()])
    far = torch.tensor([-1.0, 1.5, 3.0, 0.2, 0.4]).double()
    noise = torch.tensor([0, 0, 1, 0, -1, 0, 0, 0, 5]).double() / 50
    return [
        Case("nine runs, a law that is close", (law, n, d, losses)),
        Case("nine runs, a law that is far off", (far, n, d, losses)),
        Case("the same with runs that went wrong", (law, n, d, losses + noise)),
    ]
