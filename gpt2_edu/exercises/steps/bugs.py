"""An audit of any model."""

from typing import Any

import torch
from torch import Tensor, nn

from ..exercise import Case
from ..step import Step, find_step

DEFINES = ("audit",)
IMPORTS = ("import torch",)

START = '''
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    found = []
    ...
    return found
'''

SOLUTION = '''
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    found, logits = [], model(idx)
    if not logits.isfinite().all():
        found.append("not finite")
    if not torch.equal(model(idx), logits):
        found.append("not repeatable")  # dropout is on
    changed = idx.clone()
    changed[:, -1] = (idx[:, -1] + 1) % logits.size(-1)
    if not torch.equal(model(changed)[:, :-1], logits[:, :-1]):
        found.append("looks ahead")
    if model.lm_head.weight is not model.embeddings.wte.weight:
        found.append("not tied")
    return found
'''

SIZES = (13, 7, 2, 3, 12)


def patient(bug: str) -> nn.Module:
    """A small GPT-2 made of the book's answers, with a bug in it."""
    step: Step = find_step("bugs")
    book = step.answer(step.solution).mine
    torch.manual_seed(0)
    model = book.GPT2(*SIZES)
    if bug == "looks ahead":
        book.__dict__["attention"] = lambda q, k, v: (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1) @ v
    elif bug == "not repeatable":
        model.ln_f = nn.Sequential(model.ln_f, nn.Dropout(0.5))
    elif bug == "not tied":
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    elif bug == "not finite":
        nn.init.constant_(model.h[1].mlp.c_fc.bias, torch.nan)
    return model


def use(mine: Any, bug: str, idx: Tensor) -> Any:
    torch.manual_seed(1)
    return list(mine.audit(patient(bug), idx))


def right(bug: str, idx: Tensor) -> Any:
    step = find_step("bugs")
    return step.answer(step.solution)(bug, idx)


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5]])
    bugs = ("looks ahead", "not tied")
    return [Case("a healthy model", ("", idx)), *(Case(bug, (bug, idx)) for bug in bugs)]
