"""How far a law is from the runs."""

from typing import Any

import torch
from torch import Tensor

from ...comparing import Labelled
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

TERMS = "[e.expand_as(n), a - alpha * n.log(), b - beta * d.log()]"
BY_HAND = """\
    apart = (terms.logsumexp(dim=0) - losses.log()).abs()
    far = 1e-3 * (apart - 5e-4)
    return torch.where(apart < 1e-3, apart**2 / 2, far).sum()
"""
RETURN = SOLUTION[SOLUTION.index("    return") :].strip("\n")

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
    Mistake(
        "The law is not a logarithm, and the losses are. Compare logarithms of both: `logsumexp`.",
        ("terms.logsumexp(dim=0)", "terms.exp().sum(dim=0)"),
    ),
    Mistake(
        "`e`, `a` and `b` are logarithms already. Take none of them again; the constants themselves are "
        "`e.exp()` and so on.",
        ("terms.logsumexp(dim=0)", "(e + a / n**alpha + b / d**beta).log()"),
    ),
    Mistake(
        "The exponentials are taken of `e`, `a` and `b` only. Stay with logarithms, ln A − α ln N, or "
        "take the exponential of all of it.",
        (
            TERMS,
            TERMS.replace("e.", "e.exp().").replace("a -", "a.exp() -").replace("b -", "b.exp() -"),
        ),
    ),
    Mistake(
        "The three terms need one shape, (R,). `e` is a single number: `e.expand_as(n)`.",
        ("e.expand_as(n)", "e"),
    ),
    Mistake(
        "`logsumexp` takes a tensor. Make one of the list: `torch.stack`.",
        ("terms.logsumexp(dim=0)", "torch.logsumexp(list(terms), dim=0)"),
    ),
    Mistake(
        "That is Huber's loss divided by δ, which is what `smooth_l1_loss` gives. Use `F.huber_loss`.",
        ("huber_loss", "smooth_l1_loss"),
        ("delta=", "beta="),
    ),
    Mistake(
        "The differences themselves are added up. Huber's loss squares those below δ.",
        ("huber_loss", "l1_loss"),
        (", delta=1e-3", ""),
    ),
    Mistake(
        "The law is (e, a, b, α, β): the three logarithms come first.",
        ("e, a, b, alpha, beta", "e, a, alpha, b, beta"),
    ),
    Mistake(
        "α multiplies N itself, and β multiplies D. The logarithm of N^α is α ln N: "
        "`alpha * n.log()`.",
        ("alpha * n.log()", "alpha * n"),
        ("beta * d.log()", "beta * d"),
    ),
    Mistake(
        "These are logarithms to base 10. Take natural ones, `log`, on both sides.",
        ("terms.logsumexp(dim=0), losses.log()", "terms.exp().sum(dim=0).log10(), losses.log10()"),
    ),
    Mistake(
        "The quotient of the law and the losses is compared with 1. Compare the logarithms.",
        (
            "terms.logsumexp(dim=0), losses.log()",
            "terms.exp().sum(dim=0) / losses, torch.ones_like(losses)",
        ),
    ),
    Mistake(
        "No gradient reaches the law, because of `item`, `tolist`, `detach` or `float`. Compute with "
        "tensors all the way.",
        ("= law ", "= law.detach() "),
    ),
    Mistake(
        "Where the law is below the losses, the difference is negative. Huber's loss takes its size, "
        "`abs()`.",
        (RETURN, BY_HAND.replace(".abs()", "")),
    ),
    Mistake(
        "The squares of small differences are not halved. Huber's loss is x² / 2 below δ.",
        (RETURN, BY_HAND.replace("**2 / 2", "**2")),
    ),
    Mistake(
        "Beyond δ, Huber's loss is δ (|x| − δ/2). The δ/2 is missing.",
        (RETURN, BY_HAND.replace("(apart - 5e-4)", "apart")),
    ),
    Mistake(
        "Beyond δ, Huber's loss is δ (|x| − δ/2). The factor δ is missing.",
        (RETURN, BY_HAND.replace("1e-3 * (", "(")),
    ),
    Mistake(
        "Only the largest term counts here. Add up all three: `logsumexp`.",
        ("terms.logsumexp(dim=0)", "terms.amax(dim=0)"),
    ),
    Mistake(
        "The term with D is subtracted, so that the law may be negative and its logarithm NaN. Add it.",
        (
            "terms.logsumexp(dim=0)",
            "(terms.exp() * torch.tensor([[1], [1], [-1]])).sum(dim=0).log()",
        ),
    ),
)


REACHES = "a gradient reaches the law"


def use(mine: Any, law: Tensor, *runs: Tensor) -> Any:
    """The error, and its gradient on the law."""
    law = law.clone().requires_grad_()
    error = mine.scaling_error(law, *runs)
    reaches = isinstance(error, Tensor) and error.requires_grad
    gradient = None
    if reaches:
        (gradient,) = torch.autograd.grad(
            error.sum(), law, allow_unused=True, materialize_grads=True
        )
        error = error.detach()
    return Labelled({"the error": error, REACHES: reaches, "its gradient": gradient})


def right(law: Tensor, n: Tensor, d: Tensor, losses: Tensor) -> Labelled:
    law = law.clone().requires_grad_()
    E, A, B = law[:3].exp()
    apart = ((E + A * n ** -law[3] + B * d ** -law[4]) / losses).log().abs()
    delta = 1e-3
    near = apart <= delta
    error = torch.where(near, 0.5 * apart**2, delta * (apart - delta / 2)).sum()
    (gradient,) = torch.autograd.grad(error, law)
    return Labelled({"the error": error.detach(), REACHES: True, "its gradient": gradient})


TOLERANCE = 1e-8  # the error of a law that is close is 1e-6


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
