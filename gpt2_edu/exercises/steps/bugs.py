"""An audit of any model."""

from typing import Any

import torch
from torch import Tensor, nn

from ..exercise import Case, Mistake, changed
from ..step import Step, find_step

DEFINES = ("audit",)
IMPORTS = ("import torch",)

START = '''
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    ...  # return ["not finite"], where that is so
    ...  # return ["not repeatable"]
    found = []
    ...  # "looks ahead"
    ...  # "not tied"
    return found
'''

SOLUTION = '''
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    logits = model(idx)
    if not logits.isfinite().all():
        return ["not finite"]
    if not torch.equal(model(idx), logits):
        return ["not repeatable"]  # dropout is on
    found, changed = [], idx.clone()
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
        book.__dict__["attention"] = lambda q, k, v: (
            (q @ k.mT / q.size(-1) ** 0.5).softmax(dim=-1) @ v
        )
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
    cases = {
        "a healthy model": "",
        "a model that looks ahead": "looks ahead",
        "a model whose tables are two": "not tied",
        "a model with dropout on": "not repeatable",
        "a model with NaN": "not finite",
    }
    return [Case(label, (bug, idx)) for label, bug in cases.items()]


MISTAKES = (
    Mistake(
        "A healthy model is accused of looking ahead: the last place may change, since "
        "its own token did. Compare the logits before it.",
        changed(SOLUTION, ("model(changed)[:, :-1], logits[:, :-1]", "model(changed), logits")),
    ),
    Mistake(
        "A copy of the table is taken for the table itself. Equal numbers are not one "
        "tensor: ask with `is`.",
        changed(
            SOLUTION,
            (
                "model.lm_head.weight is not model.embeddings.wte.weight",
                "not torch.equal(model.lm_head.weight, model.embeddings.wte.weight)",
            ),
        ),
    ),
    Mistake(
        "Dropout is not found: model.eval() switches it off before you look. Take the "
        "model as it comes.",
        changed(SOLUTION, ("logits = model(idx)", "logits = model.eval()(idx)")),
    ),
    Mistake(
        "A model with NaN is accused of more than that: NaN is not equal to itself, so "
        'every comparison fails. Return ["not finite"] at once.',
        changed(
            SOLUTION,
            ("    logits = model(idx)\n", "    found, logits = [], model(idx)\n"),
            ('return ["not finite"]', 'found.append("not finite")'),
            ('return ["not repeatable"]', 'return found + ["not repeatable"]'),
            ("found, changed = [], idx", "changed = idx"),
        ),
    ),
)
