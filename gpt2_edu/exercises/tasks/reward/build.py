"""The loss that learns from marks."""

from typing import Any

import torch
from torch import Tensor

from ....tuning.reward import Texts, advantages, gain, of_tokens, token_weights
from ...exercise import Case, Mistake
from ...step import random_tensor

PARTS = ("policy_loss",)
IMPORTS = ("from torch.nn import functional as F",)

START = '''
def policy_loss(logits, ids, rewards, end):  # (B, T, V), (B, T + 1), (B,)
    """A step against its gradient makes the better stories likelier."""
    ...  # how much better than the group each story is
    ...  # -ln p of each token
    ...  # which of them were drawn
    ...  # all together
'''

SOLUTION = '''
def policy_loss(logits, ids, rewards, end):  # (B, T, V), (B, T + 1), (B,)
    """A step against its gradient makes the better stories likelier."""
    advantage = rewards - rewards.mean()
    targets = ids[:, 1:]
    losses = F.cross_entropy(
        logits.transpose(1, 2), targets, reduction="none"
    )  # (B, T), -ln p
    is_end = (targets == end).int()
    drawn = is_end.cumsum(dim=1) - is_end == 0  # no end before it
    weighted = advantage.unsqueeze(1) * losses * drawn
    return weighted.sum() / drawn.sum()
'''

MISTAKES = (
    Mistake(
        "The rewards are used as they are. Subtract the mean of the group, so that stories below "
        "it are made less likely.",
        ("rewards - rewards.mean()", "rewards"),
    ),
    Mistake(
        "The advantages are divided by the deviation of the group. Only the mean is subtracted "
        "here.",
        ("rewards - rewards.mean()", "(rewards - rewards.mean()) / rewards.std()"),
    ),
    Mistake(
        "The sign is that of the objective, and a step against its gradient would make the better "
        "stories rarer. `cross_entropy` is −ln p, and that has the sign of a loss already.",
        ("weighted.sum() /", "-weighted.sum() /"),
    ),
    Mistake(
        "The tokens after the end are counted, too. They are filling, and the model has not drawn "
        "them.",
        ("advantage.unsqueeze(1) * losses * drawn", "advantage.unsqueeze(1) * losses"),
        ("drawn.sum()", "drawn.numel()"),
    ),
    Mistake(
        "The sum is divided by all places of the batch, with the filling. Divide by how many tokens "
        "were drawn.",
        ("drawn.sum()", "drawn.numel()"),
    ),
    Mistake(
        "The end of a story is left out. The model has drawn it like any other token, so only what "
        "comes after it is filling.",
        ("is_end.cumsum(dim=1) - is_end == 0", "is_end.cumsum(dim=1) == 0"),
    ),
    Mistake(
        "The targets are the tokens that the model reads. The logits at a position are for the "
        "next one, `ids[:, 1:]`.",
        ("targets = ids[:, 1:]", "targets = ids[:, :-1]"),
    ),
    Mistake(
        "Each story is divided by its own number of tokens, so that a token of a long story counts "
        "less. Divide the sum of all by the number of all.",
        (
            "weighted.sum() / drawn.sum()",
            "(weighted.sum(dim=1) / drawn.sum(dim=1)).mean()",
        ),
    ),
    Mistake(
        "The sum is not divided by the number of tokens, so that the size of a step depends on the "
        "size of the group.",
        ("weighted.sum() / drawn.sum()", "weighted.sum()"),
    ),
    Mistake(
        "It is divided by the number of stories. Divide by the number of tokens that were drawn.",
        ("drawn.sum()", "len(ids)"),
    ),
    Mistake(
        "`cross_entropy` takes its mean by itself, so that all tokens get the same factor. Ask for "
        'every token: `reduction="none"`.',
        (', reduction="none"', ""),
    ),
    Mistake(
        "`cross_entropy` expects the classes on the second axis, and (B, T, V) has T there: "
        "`logits.transpose(1, 2)`.",
        ("logits.transpose(1, 2)", "logits"),
    ),
    Mistake(
        "The advantages (B,) need a second axis before they meet (B, T): `advantage.unsqueeze(1)`.",
        ("advantage.unsqueeze(1)", "advantage"),
    ),
    Mistake(
        "The end is fixed at 0. Use the argument `end`.",
        ("targets == end", "targets == 0"),
    ),
    Mistake(
        "Only the ends are counted. A token was drawn if no end comes before it.",
        ("is_end.cumsum(dim=1) - is_end == 0", "targets == end"),
    ),
    Mistake(
        "The tokens after the end are in the sum. Multiply by `drawn`.",
        ("* losses * drawn", "* losses"),
    ),
    Mistake(
        "Each story is divided by its own number of tokens, and these are added. Divide the sum of all by the number of all.",
        ("weighted.sum() / drawn.sum()", "(weighted.sum(dim=1) / drawn.sum(dim=1)).sum()"),
    ),
    Mistake(
        "What comes after the end counts until another `end`. Only the first ends the story: count the ends *before* each token, which must be 0.",
        ("is_end.cumsum(dim=1) - is_end == 0", "is_end.cumsum(dim=1) <= 1"),
    ),
    Mistake(
        "The likeliest token at each position is rewarded. Take the one that was drawn, the target.",
        (
            'F.cross_entropy(\n        logits.transpose(1, 2), targets, reduction="none"\n    )',
            "-logits.log_softmax(dim=-1).amax(dim=-1)",
        ),
    ),
)


def use(mine: Any, logits: Tensor, *given: Any) -> Any:
    """The loss, and its gradient on the logits."""
    logits = logits.clone().requires_grad_()
    loss = mine.policy_loss(logits, *given)
    if not isinstance(loss, Tensor) or loss.ndim or not loss.requires_grad:
        return loss
    return [loss.detach(), torch.autograd.grad(loss, logits)[0]]


def right(logits: Tensor, ids: Tensor, rewards: Tensor, end: int) -> list[Tensor]:
    logits = logits.clone().requires_grad_()
    ends = (ids[:, 1:] == end).long()
    texts = Texts(ids, ends.cumsum(dim=1) - ends == 0)
    now = of_tokens(logits.log_softmax(dim=-1), texts)
    above = advantages(rewards.view(1, -1))[0]
    # Its gradient is that of the gain, where the ratio is 1.
    value = -(above.unsqueeze(1) * now.detach() * token_weights(texts.drawn)).sum()
    objective = (gain(now, now.detach(), above) * token_weights(texts.drawn)).sum()
    return [value, torch.autograd.grad(-objective, logits)[0]]


def cases() -> list[Case]:
    ids = torch.tensor([[0, 3, 1, 4, 0, 0, 0], [0, 2, 0, 5, 4, 0, 3], [0, 1, 2, 3, 4, 5, 1]])
    marks = torch.tensor([1.0, 0.0, 0.0])
    logits = random_tensor(1, 3, 6, 7)
    return [
        Case("three stories, one of them right", (logits, ids, marks, 0)),
        Case("the same with other rewards", (logits, ids, torch.tensor([0.5, 2.0, -1.0]), 0)),
        Case("the same, where 6 is the end", (logits, (ids - 1) % 7, marks, 6)),
        Case("two stories that are equally good", (logits[:2], ids[:2], torch.ones(2), 0)),
    ]
