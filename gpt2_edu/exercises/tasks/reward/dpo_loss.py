"""The loss of DPO."""

import torch

from ...exercise import Case, Mistake

ORDER = 80
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
For a batch of pairs, each a preferred text and a rejected one, you have the log-probabilities of the whole texts under the model in training and under the model at the start. Write `dpo_loss(chosen, rejected, chosen_start, rejected_start, beta)`, the mean over the pairs of

$$
-\ln \sigma\!\Big(\beta\,\big[(\ln p_w - \ln p^0_w) - (\ln p_l - \ln p^0_l)\big]\Big)
$$

where w is preferred, l is rejected, and p⁰ is the model at the start. It should be right for large differences, too.
"""

HINTS = (
    "First two differences: how much likelier each text has become since the start.",
    "`torch.nn.functional.logsigmoid` computes ln σ without overflow.",
    "At the start both differences are 0, so that the loss is −ln σ(0) = ln 2.",
)

START = '''
def dpo_loss(chosen, rejected, chosen_start, rejected_start, beta):
    """Four tensors (n,) of log-probabilities, beta a number. Returns a scalar."""
    ...
'''

SOLUTION = """
def dpo_loss(chosen, rejected, chosen_start, rejected_start, beta):
    gained = chosen - chosen_start
    lost = rejected - rejected_start
    margin = beta * (gained - lost)
    return -torch.nn.functional.logsigmoid(margin).mean()
"""

MISTAKES = (
    Mistake(
        "The model at the start is not compared with. A text that was likely before counts then as if the training had made it so.",
        ("chosen - chosen_start", "chosen"),
        ("rejected - rejected_start", "rejected"),
    ),
    Mistake(
        "The two texts of a pair have changed places, so that the rejected one is preferred.",
        ("gained - lost", "lost - gained"),
    ),
    Mistake(
        "The two differences are added. What counts is how much more the preferred text has gained than the rejected one.",
        ("gained - lost", "gained + lost"),
    ),
    Mistake(
        "The minus is missing, so that a good model has a large negative loss, and training makes it worse.",
        ("return -torch", "return torch"),
    ),
    Mistake(
        "That is the probability itself, without its logarithm.",
        ("logsigmoid", "sigmoid"),
    ),
    Mistake(
        "β is missing.",
        ("beta * (gained - lost)", "gained - lost"),
    ),
    Mistake(
        "The margin is divided by β. A small β makes the loss flat, so that the model may go far from its start.",
        ("beta * (gained - lost)", "(gained - lost) / beta"),
    ),
    Mistake(
        "This is the sum over the pairs. Take the mean.",
        (".mean()", ".sum()"),
    ),
    Mistake(
        "The mean is taken before the logarithm of the sigmoid, so that one pair with a large margin hides those that are still wrong.",
        (
            "-torch.nn.functional.logsigmoid(margin).mean()",
            "-torch.nn.functional.logsigmoid(margin.mean())",
        ),
    ),
    Mistake(
        "For a large negative margin the sigmoid is 0, and its logarithm is infinite. `logsigmoid` computes both in one.",
        ("torch.nn.functional.logsigmoid(margin)", "torch.sigmoid(margin).log()"),
    ),
    Mistake(
        "Only the preferred texts are compared with the start.",
        ("rejected - rejected_start", "rejected"),
    ),
    Mistake(
        "The preferred text is not compared with the start.",
        ("chosen - chosen_start", "chosen"),
    ),
    Mistake(
        "The difference of the preferred text is turned around: new less start.",
        ("chosen - chosen_start", "chosen_start - chosen"),
    ),
    Mistake(
        "β multiplies only the first difference. Parentheses are missing.",
        ("beta * (gained - lost)", "beta * gained - lost"),
    ),
    Mistake(
        "One difference is divided by the other. Subtract them.",
        ("gained - lost", "gained / lost"),
    ),
    Mistake(
        "That is the margin itself. The loss is −ln σ of it.",
        ("-torch.nn.functional.logsigmoid(margin)", "-margin"),
    ),
    Mistake(
        "There is a loss for each pair. Take the mean.",
        (".mean()", ""),
    ),
    Mistake(
        "A small number keeps the logarithm finite, but cuts off large losses. `logsigmoid` needs none.",
        ("-torch.nn.functional.logsigmoid(margin)", "-torch.log(torch.sigmoid(margin) + 1e-8)"),
    ),
    Mistake(
        "The loss is multiplied by β, too. β belongs inside, to the margin.",
        (".mean()", ".mean() * beta"),
    ),
    Mistake(
        "Probabilities are compared, not their logarithms.",
        ("chosen - chosen_start", "chosen.exp() - chosen_start.exp()"),
        ("rejected - rejected_start", "rejected.exp() - rejected_start.exp()"),
    ),
    Mistake(
        "Pairs on the wrong side are cut off at 0. They need the largest loss.",
        ("beta * (gained - lost)", "beta * (gained - lost).clamp(min=0)"),
    ),
    Mistake(
        "Logarithms are divided. The logarithm of a ratio is their difference.",
        ("chosen - chosen_start", "chosen / chosen_start"),
        ("rejected - rejected_start", "rejected / rejected_start"),
    ),
    Mistake(
        "The starts are swapped. Each text is compared with itself under the model at the start.",
        ("chosen - chosen_start", "chosen - rejected_start"),
        ("rejected - rejected_start", "rejected - chosen_start"),
    ),
    Mistake(
        "β is outside the logarithm, where it only scales the loss. It scales the difference: `beta * (gained - lost)`.",
        ("margin = beta * (gained - lost)", "margin = gained - lost"),
        (".mean()", ".mean() / beta"),
    ),
)


def right(chosen, rejected, chosen_start, rejected_start, beta):
    ratio = (chosen - rejected) - (chosen_start - rejected_start)
    zeros = torch.zeros_like(ratio)
    return torch.logaddexp(zeros, -beta * ratio).mean()  # −ln σ(x) = ln(1 + exp(−x))


def cases():
    generator = torch.Generator().manual_seed(86)
    old = -30 + 5 * torch.randn(2, 5, generator=generator)
    new = old + torch.randn(2, 5, generator=generator)
    far = torch.tensor([[-50.0, -1500.0], [-60.0, -40.0]])
    return [
        Case("three pairs at the start", (*old[:, :3], *old[:, :3], 0.1)),
        Case("five pairs, beta 0.1", (*new, *old, 0.1)),
        Case("five pairs, beta 0.5", (*new, *old, 0.5)),
        Case("two pairs, one far on the wrong side", (*far, *far.new_full((2, 2), -50.0), 0.1)),
    ]
