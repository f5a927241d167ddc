"""The gradient from answers that were drawn."""

import torch

from ...exercise import Case, Mistake

ORDER = 20
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12

TASK = r"""
Nobody can sum over all stories, so the gradient of the expected reward is estimated from a few answers that the model has drawn. Write `drawn_gradient(logits, drawn, rewards, baseline)`. It returns the mean, over the answers drawn, of

$$
(r - b)\,(\mathrm{onehot}(y) - p)
$$

where y is the answer, r its reward, b the baseline, and p the softmax of the logits.
"""

HINTS = (
    "`torch.nn.functional.one_hot(drawn, len(logits))` has a row for each answer: (n, V).",
    "To multiply each row by its own number, the numbers need a second axis: `(rewards - baseline).unsqueeze(1)`.",
    "The mean is over the answers, axis 0.",
)

START = '''
def drawn_gradient(logits, drawn, rewards, baseline):
    """logits (V,), drawn (n,) ids, rewards (n,), baseline a number. Returns (V,)."""
    ...
'''

SOLUTION = """
def drawn_gradient(logits, drawn, rewards, baseline):
    p = logits.softmax(dim=-1)  # (V,)
    hit = torch.nn.functional.one_hot(drawn, len(logits))  # (n, V)
    return ((rewards - baseline).unsqueeze(1) * (hit - p)).mean(dim=0)
"""

MISTAKES = (
    Mistake(
        "The baseline is not subtracted from the rewards.",
        ("(rewards - baseline)", "rewards"),
    ),
    Mistake(
        "The probabilities are missing. The derivative of ln p(y) with respect to the logits is onehot(y) − p, which takes from all answers what it gives to y.",
        ("(hit - p)", "hit"),
    ),
    Mistake(
        "Those are the signs of a loss, which would make good answers rarer. The derivative of ln p(y) is onehot(y) − p.",
        ("(hit - p)", "(p - hit)"),
    ),
    Mistake(
        "This is the sum over the answers drawn. With the mean, the size of a step does not depend on how many there are.",
        (".mean(dim=0)", ".sum(dim=0)"),
    ),
    Mistake(
        "Each answer is weighted by its probability once more. A likely answer is already drawn more often, and that is its weight.",
        ("* (hit - p))", "* p[drawn].unsqueeze(1) * (hit - p))"),
    ),
    Mistake(
        "The logits are used as if they were probabilities. Apply the softmax first.",
        ("logits.softmax(dim=-1)", "logits"),
    ),
    Mistake(
        "The baseline is subtracted from the gradient. It belongs to the rewards, before they are multiplied.",
        ("(rewards - baseline).unsqueeze(1)", "rewards.unsqueeze(1)"),
        (".mean(dim=0)", ".mean(dim=0) - baseline"),
    ),
    Mistake(
        "The rewards are averaged before they are multiplied, so that an answer no longer has its own.",
        ("(rewards - baseline).unsqueeze(1)", "(rewards - baseline).mean()"),
    ),
    Mistake(
        "The mean runs over the answers that are possible. Average over those that were drawn, axis 0.",
        (".mean(dim=0)", ".mean(dim=1)"),
    ),
    Mistake(
        "onehot(y) is missing. The factor is onehot(y) − p.",
        ("(hit - p)", "-p.expand(len(hit), -1)"),
    ),
    Mistake(
        "Only the logit of the drawn answer changes here. A softmax takes from the others what it gives to that one: onehot(y) − p.",
        ("(hit - p)", "hit * (1 - p)"),
    ),
    Mistake(
        "The probability of the drawn answer is subtracted from all entries. Entry i loses p[i].",
        ("(hit - p)", "(hit - p[drawn].unsqueeze(1))"),
    ),
    Mistake(
        "That is one number. Each logit has its own mean, over the answers that were drawn: `mean(dim=0)`.",
        (".mean(dim=0)", ".mean()"),
    ),
    Mistake(
        "There is a row for each answer. Take the mean over them, `mean(dim=0)`.",
        (".mean(dim=0)", ""),
    ),
    Mistake(
        "These are logarithms of probabilities. Subtract the probabilities themselves.",
        ("logits.softmax", "logits.log_softmax"),
    ),
    Mistake(
        "A sigmoid treats each logit by itself. Probabilities of several answers come from `softmax`.",
        ("logits.softmax(dim=-1)", "logits.sigmoid()"),
    ),
    Mistake(
        "The exponentials are not divided by their sum. Use `softmax`.",
        ("logits.softmax(dim=-1)", "logits.exp()"),
    ),
    Mistake(
        "The numbers (n,) need a second axis before they meet (n, V): `unsqueeze(1)`.",
        (".unsqueeze(1)", ""),
    ),
    Mistake(
        "The sum is divided by the number of possible answers. Divide by how many were drawn.",
        (".mean(dim=0)", ".sum(dim=0) / len(logits)"),
    ),
    Mistake(
        "The baseline is added. Subtract it.",
        ("rewards - baseline", "rewards + baseline"),
    ),
    Mistake(
        "The mean of the rewards is subtracted, not the `baseline` that is given.",
        ("rewards - baseline", "rewards - rewards.mean()"),
    ),
    Mistake(
        "The ones of earlier answers are still in the vector. Each answer has a one-hot vector of its own.",
        code="""
def drawn_gradient(logits, drawn, rewards, baseline):
    p = logits.softmax(dim=-1)
    total, hit = torch.zeros_like(p), torch.zeros_like(p)
    for y, r in zip(drawn, rewards):
        hit[y] = 1
        total += (r - baseline) * (hit - p)
    return total / len(drawn)
""",
    ),
)


def right(logits, drawn, rewards, baseline):
    logits = logits.clone().requires_grad_()
    log_p = logits.log_softmax(dim=-1)[drawn]
    return torch.autograd.grad(((rewards - baseline) * log_p).mean(), logits)[0]


def cases():
    generator = torch.Generator().manual_seed(81)

    def case(label, V, n, baseline):
        logits = torch.randn(V, generator=generator)
        drawn = torch.randint(V, (n,), generator=generator)
        return Case(label, (logits, drawn, torch.rand(n, generator=generator), baseline))

    two = torch.tensor([0.7, 0.3]).log()
    return [
        Case(
            "the chapter's two answers, each drawn once",
            (two, torch.tensor([0, 1]), torch.tensor([0.0, 1.0]), 0.3),
        ),
        case("five answers, seven drawn", 5, 7, 0.4),
        case("the same without a baseline", 5, 7, 0.0),
    ]
