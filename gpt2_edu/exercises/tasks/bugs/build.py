"""An audit of any model."""

from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from ...exercise import Case, Mistake, find_step
from ...parts import execute

PARTS = ("audit",)
IMPORTS = ("import torch",)

START = '''
@torch.no_grad()
def audit(model, idx):
    """What is wrong with a model, as a list of words. idx (1, T)."""
    ...  # return ["not finite"] if it applies
    ...  # return ["not repeatable"] if it applies
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


@cache
def book() -> Any:
    """The book's answer, and below ``mine`` the parts that it works with."""
    step = find_step("bugs")
    return execute(step, step.solution)


def attention(q: Tensor, k: Tensor, v: Tensor, bug: str) -> Tensor:
    visible = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)
    if bug not in ("looks ahead", "both"):
        visible = visible.tril()
    if bug == "looks ahead late":
        visible[-2, -1] = True  # the last query but one sees the last key
    scores = q @ k.mT / q.size(-1) ** 0.5
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ v


def patient(bug: str) -> nn.Module:
    """A small GPT-2 made of the book's answers, with a bug in it; the one before has it, too."""
    vars(book().mine)["attention"] = partial(attention, bug=bug)
    torch.default_generator.manual_seed(0)
    model = book().mine.GPT2(*SIZES)
    if bug == "not repeatable":
        model.ln_f = nn.Sequential(model.ln_f, nn.Dropout(0.5))
    elif bug == "not tied":
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    elif bug == "apart":
        model.lm_head.weight = nn.Parameter(1 + model.lm_head.weight.detach())
    elif bug == "shared":  # two parameters, each with a gradient of its own
        model.lm_head.weight = nn.Parameter(model.embeddings.wte.weight.data)
    elif bug == "infinite":
        model.register_forward_hook(lambda module, given, logits: logits * torch.inf)
    elif bug == "all NaN":
        nn.init.constant_(model.h[1].mlp.c_fc.bias, torch.nan)
    elif bug == "not finite":
        model.register_forward_hook(
            lambda module, given, logits: logits.index_fill(-1, torch.tensor(2), torch.nan)
        )
    if bug == "both":
        model.lm_head.weight = nn.Parameter(1 + model.lm_head.weight.detach())
    return model


def use(mine: Any, bug: str, idx: Tensor) -> Any:
    torch.default_generator.manual_seed(1)
    found = mine.audit(patient(bug), idx)
    return list(found) if isinstance(found, tuple) else found


def right(bug: str, idx: Tensor) -> Any:
    return book()(bug, idx)


def cases() -> list[Case]:
    idx = torch.tensor([[1, 2, 3, 4, 5]])
    last = torch.tensor([[1, 2, 3, 4, SIZES[0] - 1]])
    cases = {
        "a healthy model": ("", idx),
        "the same, and a text that ends in the last id, V − 1": ("", last),
        "a model that looks ahead": ("looks ahead", idx),
        "a model that looks ahead at the last place but one": ("looks ahead late", idx),
        "a model whose tables are two": ("apart", idx),
        "a model whose tables are two with the same numbers": ("not tied", idx),
        "a model whose tables are two that share their numbers": ("shared", idx),
        "a model that looks ahead, and whose tables are two": ("both", idx),
        "a model with dropout on": ("not repeatable", idx),
        "a model with a NaN in each row": ("not finite", idx),
        "a model with nothing but NaN": ("all NaN", idx),
        "a model with infinite logits": ("infinite", idx),
    }
    return [Case(label, args) for label, args in cases.items()]


MISTAKES = (
    Mistake(
        "A healthy model is accused of looking ahead. Change the last token only, and "
        "compare the logits before it, because the last position may change.",
        ("model(changed)[:, :-1], logits[:, :-1]", "model(changed), logits"),
    ),
    Mistake(
        "A copy of the table is taken for the table itself. Equal numbers do not make one "
        "tensor, so ask with `is`.",
        (
            "model.lm_head.weight is not model.embeddings.wte.weight",
            "not torch.equal(model.lm_head.weight, model.embeddings.wte.weight)",
        ),
    ),
    Mistake(
        "Two parameters that share their numbers are taken for one. Each still gets a gradient of "
        "its own, so ask with `is`, not with `data_ptr()`.",
        (
            "model.lm_head.weight is not model.embeddings.wte.weight",
            "model.lm_head.weight.data_ptr() != model.embeddings.wte.weight.data_ptr()",
        ),
    ),
    Mistake(
        "You look only at the first position. A mask can leak later, so compare all positions "
        "except the last, `[:, :-1]`.",
        ("model(changed)[:, :-1], logits[:, :-1]", "model(changed)[:, 0], logits[:, 0]"),
    ),
    Mistake(
        "If the text ends in the last id, V − 1, there is no next one. Start again at 0: "
        "`(idx[:, -1] + 1) % logits.size(-1)`.",
        ("(idx[:, -1] + 1) % logits.size(-1)", "idx[:, -1] + 1"),
    ),
    Mistake(
        "Infinite logits pass, because `isnan()` finds only NaN. `isfinite()` finds both.",
        ("not logits.isfinite().all()", "logits.isnan().any()"),
    ),
    Mistake(
        "Dropout is not found, because model.eval() switches it off before you look. Take the "
        "model as it comes.",
        ("logits = model(idx)", "logits = model.eval()(idx)"),
    ),
    Mistake(
        "A model with NaN is accused of more than that. NaN is not equal to itself, so "
        'every comparison fails. Return ["not finite"] at once.',
        ("    logits = model(idx)\n", "    found, logits = [], model(idx)\n"),
        ('return ["not finite"]', 'found.append("not finite")'),
        ('return ["not repeatable"]', 'return found + ["not repeatable"]'),
        ("found, changed = [], idx", "changed = idx"),
    ),
    Mistake(
        "One finite logit is enough for you. A single NaN is one too many, so ask for `isfinite().all()`.",
        ("isfinite().all()", "isfinite().any()"),
    ),
    Mistake(
        "`[:-1]` cuts the axis of the texts, and of one text nothing is left. Cut the positions, `[:, :-1]`.",
        ("model(changed)[:, :-1], logits[:, :-1]", "model(changed)[:-1], logits[:-1]"),
    ),
    Mistake(
        "Logits are compared with themselves. Only a second pass, `model(idx)`, can differ.",
        ("torch.equal(model(idx), logits)", "torch.equal(logits, logits)"),
    ),
    Mistake(
        "A model with NaN is said to be not repeatable, because NaN is not equal to itself. Return "
        '`["not finite"]` at once.',
        ("    logits = model(idx)\n", "    found, logits = [], model(idx)\n"),
        ('return ["not finite"]', 'found.append("not finite")'),
        ("found, changed = [], idx", "changed = idx"),
    ),
    Mistake(
        "Of two faults only the first is found. Ask for each by its own `if`, not by `elif`.",
        ("    if model.lm_head", "    elif model.lm_head"),
    ),
    Mistake(
        "A model whose tables are two is not found. Ask whether the two weights are one tensor, with `is`.",
        ('        found.append("not tied")', "        pass"),
    ),
    Mistake(
        "`changed = idx` makes no copy, so the caller's text is changed. Write `idx.clone()`.",
        ("idx.clone()", "idx"),
    ),
    Mistake(
        "A healthy model is said to be not repeatable. Dropout may be 0 in training mode, so run the model twice and compare.",
        ("if not torch.equal(model(idx), logits)", "if model.training"),
    ),
    Mistake(
        "The question is turned round: a tied model is said to be not tied. Ask with `is not`.",
        ("weight is not model", "weight is model"),
    ),
    Mistake(
        "The question is turned round: a model whose earlier logits stay as they are is accused of looking ahead. It looks ahead if they differ.",
        ("if not torch.equal(model(changed)[:, :-1]", "if torch.equal(model(changed)[:, :-1]"),
    ),
    Mistake(
        'A list is asked for, also with one entry: `return ["not finite"]`.',
        ('return ["not finite"]', 'return "not finite"'),
    ),
)
