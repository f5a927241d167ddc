"""Seventeen common bugs, each as edited tensors or changed modules.

``broken(model, "no mask")`` yields a copy of a model with the bug. museum.py measures the effect
of a bug on the loss, the attention maps and the generated text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..machine.messages import nearest
from ..model import GPT2
from ..tape import Edit, Tape, trace

Edits = dict[str, Edit]
Apply = Callable[[GPT2], Edits | None]  # changes the model in place, or returns edits


@dataclass(frozen=True)
class Bug:
    """A bug: the right line of code, the wrong one, and the symptom.

    ``trained_with``: the bug is present during training, not only afterwards. ``shift``: the offset
    of the targets in positions. ``shows``: the bug is visible in the loss, the maps or the text.
    """

    name: str
    right: str
    wrong: str
    symptom: str
    apply: Apply = field(default=lambda model: None, repr=False)
    trained_with: bool = True
    shift: int = 1
    shows: bool = True

    def __str__(self) -> str:
        return f"right   {self.right}\nwrong   {self.wrong}"


def find(name: str) -> Bug:
    """The bug with this name, or "no bug". Raises ValueError with the nearest names."""
    known = {"no bug": NO_BUG} | BUGS
    if name not in known:
        raise ValueError(f"there is no bug called {name!r}. {nearest(name, known)}")
    return known[name]


@contextmanager
def broken(model: GPT2, name: str) -> Iterator[tuple[GPT2, Tape]]:
    """Context manager: a copy of the model with a bug, and the tape of its forward passes.

    The two bugs in the targets leave the copy unchanged, because targets are not part of a model.
    Raises TypeError for another model than GPT-2: the bugs are in its modules.
    """
    if not isinstance(model, GPT2):
        raise TypeError(f"these bugs are in the modules of a GPT2, got {type(model).__name__}")
    bug, copy = find(name), deepcopy(model)
    with trace(copy, edits=bug.apply(copy) or {}) as tape:
        yield copy, tape


# ---- What the bugs change -----------------------------------------------------------------------


def in_every_block(names: str, edit: Edit) -> Callable[[GPT2], Edits]:
    """Apply one edit to the named tensors of every block, such as "attn.q attn.k"."""
    return lambda model: {
        f"transformer.h.{layer}.{name}": edit
        for layer in range(model.config.n_layer)
        for name in names.split()
    }


def recompute(source: str, target: str, formula: Callable[[Tensor], Tensor]) -> Apply:
    """In every block, replace a tensor by a function of an earlier one, such as the scores."""
    latest: dict[str, Tensor] = {}

    def record(x: Tensor) -> Tensor:
        latest[source] = x
        return x

    def apply(model: GPT2) -> Edits:
        replace = in_every_block(target, lambda _: formula(latest.pop(source)))
        return in_every_block(source, record)(model) | replace(model)

    return apply


def masked(scores: Tensor, value: float, diagonal: int | None = None) -> Tensor:
    """Scores or weights (…, T, S) with a value at later keys; by default aligned at the last."""
    T, S = scores.shape[-2:]
    visible = torch.ones_like(scores, dtype=torch.bool)
    return scores.masked_fill(~visible.tril(S - T if diagonal is None else diagonal), value)


def mask_scores(formula: Callable[[Tensor], Tensor]) -> Apply:
    """Compute the masked scores of every block by a function of its scores (B, H, T, S)."""
    return recompute("attn.scores", "attn.masked_scores", formula)


def wrong_view(x: Tensor) -> Tensor:
    """Heads (B, H, T, D) as a ``view`` without the transpose would have split them."""
    return x.transpose(1, 2).reshape(x.shape)


def leave_dropout_on(model: GPT2) -> Edits:
    """Dropout also in evaluation, because ``F.dropout`` defaults to training=True."""
    dropped = partial(F.dropout, p=0.1)
    return {"embd": dropped} | in_every_block("attn.out mlp.out", dropped)(model)


class EpsilonOutside(nn.LayerNorm):
    """LayerNorm that adds ε to the standard deviation."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=-1, keepdim=True)) / self.std(x) * self.weight + self.bias

    def std(self, x: Tensor) -> Tensor:
        return x.var(dim=-1, keepdim=True, correction=0).sqrt() + self.eps


class UnbiasedVariance(EpsilonOutside):
    """LayerNorm with the unbiased variance (divisor C - 1), the default of ``Tensor.var``."""

    def std(self, x: Tensor) -> Tensor:
        return (x.var(dim=-1, keepdim=True) + self.eps).sqrt()


def change_norms(model: GPT2, kind: type[nn.LayerNorm]) -> None:
    """Make every LayerNorm one of another class, with the same parameters."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.__class__ = kind


@torch.no_grad()
def transpose_projections(model: GPT2) -> None:
    """Transpose attention's c_proj; it is square, so no shape error results."""
    for name, parameter in model.named_parameters():
        if name.endswith("attn.c_proj.weight"):
            parameter.copy_(parameter.T.clone())


def untie_head(model: GPT2) -> None:
    """Replace the tied output weights by a copy."""
    model.lm_head.weight = nn.Parameter(model.wte.weight.detach().clone())


def use_truth_value_of_targets(model: GPT2) -> None:
    """Replace ``forward`` by one that tests ``if targets`` instead of ``is not None``."""
    forward = model.forward

    def wrong(idx: Tensor, targets: Tensor | None = None, **options: Any) -> Any:
        return forward(idx, targets if targets else None, **options)

    model.forward = wrong  # type: ignore[method-assign]


# ---- The bugs, in the order of the chapter ------------------------------------------------------

in_use = partial(Bug, trained_with=False)
unseen = partial(Bug, trained_with=False, shows=False)

NO_BUG = unseen("no bug", "every line", "none", "none")

_MASK = "scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)"
_TARGETS = "idx, targets = text[:, :-1], text[:, 1:]"

_BUGS = (
    Bug(
        "no mask",
        right=_MASK,
        wrong="scores.softmax(dim=-1)",
        symptom="The loss falls through the floor to 0, the maps have colour above the diagonal, "
        "and the text has lost its variety.",
        apply=mask_scores(lambda scores: scores),
    ),
    Bug(
        "mask after softmax",
        right=_MASK,
        wrong="scores.softmax(dim=-1).masked_fill(~visible, 0)",
        symptom="The loss falls through the floor; above the diagonal there is nothing, but the "
        "rows of the maps do not sum to 1, and some are empty; the text is wrong or has lost its "
        "variety.",
        apply=recompute("attn.scores", "attn.weights", lambda s: masked(s.softmax(dim=-1), 0)),
    ),
    Bug(
        "finite mask",  # -4 instead of -10,000: scores fall below it after seconds of training
        right=_MASK,
        wrong="scores.masked_fill(~visible, -4).softmax(dim=-1)",
        symptom="The loss stays on the floor, then falls through it in steps; one head has "
        "its colour above the diagonal; the text is wrong or has lost its variety.",
        apply=mask_scores(lambda scores: masked(scores, -4)),
    ),
    Bug(
        "wrong view",
        right="x.view(B, T, H, D).transpose(1, 2)",
        wrong="x.view(B, H, T, D)",
        symptom="The loss falls through the floor although the maps are clean triangles whose "
        "rows sum to 1, and the text is wrong.",
        apply=in_every_block("attn.q attn.k attn.v", wrong_view),
    ),
    Bug(
        "targets off by none",
        right=_TARGETS,
        wrong="idx, targets = text[:, :-1], text[:, :-1]",
        symptom="The loss falls to 0, the maps are triangles, and the text repeats one word.",
        shift=0,
    ),
    Bug(
        "targets off by two",
        right=_TARGETS,
        wrong="idx, targets = text[:, :-2], text[:, 2:]",
        symptom="The loss ends above the floor, and the text skips words from the first one on.",
        shift=2,
    ),
    Bug(
        "positions forgotten",
        right="x = tok_emb + pos_emb",
        wrong="x = tok_emb",
        symptom="The loss ends above the floor; texts are well formed, but mix up who did what.",
        apply=lambda model: {"pos_emb": torch.zeros_like},
    ),
    Bug(
        "softmax before cross-entropy",
        right="return logits",
        wrong="return logits.softmax(dim=-1)",
        symptom="The loss comes to rest less than 1 below where it began; the text is nearly "
        "random.",
        apply=lambda model: {"logits": lambda logits: logits.softmax(dim=-1)},
    ),
    in_use(
        "dropout left on",
        right="F.dropout(x, 0.1, self.training)",
        wrong="F.dropout(x, 0.1)",
        symptom="Training is healthy; in use, the loss is different each time it is measured.",
        apply=leave_dropout_on,
    ),
    in_use(
        "transposed Conv1D",
        right="c_proj.weight.copy_(stored.T)",
        wrong="c_proj.weight.copy_(stored)",
        symptom="Training is healthy; in use, the loss is far too high and the text broken, while "
        "the maps of the first block are unchanged.",
        apply=transpose_projections,
    ),
    in_use(
        "cache with the wrong mask",
        right="visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)",
        wrong="visible = torch.ones(T, S, dtype=torch.bool).tril()",
        symptom="Loss and maps are perfect, and the text repeats itself.",
        apply=mask_scores(lambda scores: masked(scores, -torch.inf, diagonal=0)),
    ),
    unseen(
        "scale by C",
        right="q @ k.transpose(-2, -1) / math.sqrt(D)",
        wrong="q @ k.transpose(-2, -1) / math.sqrt(C)",
        symptom="With correctly trained weights, the maps are paler and the loss is a little too "
        "high; a model trained with the bug shows nothing.",
        apply=lambda m: in_every_block("attn.scores", lambda s: s / m.config.n_head**0.5)(m),
    ),
    unseen(
        "ε outside the root",
        right="(x - mean) / torch.sqrt(variance + eps)",
        wrong="(x - mean) / (torch.sqrt(variance) + eps)",
        symptom="Nothing shows; the logits differ a little, most where variances are small.",
        apply=lambda model: change_norms(model, EpsilonOutside),
    ),
    unseen(
        "unbiased variance",
        right="x.var(dim=-1, correction=0)",
        wrong="x.var(dim=-1)",
        symptom="Nothing shows; each LayerNorm's result is smaller by √((C - 1) / C).",
        apply=lambda model: change_norms(model, UnbiasedVariance),
    ),
    unseen(
        "erf for tanh",
        right='F.gelu(x, approximate="tanh")',
        wrong="F.gelu(x)",
        symptom="Nothing shows; the logits differ a little, from the first MLP on.",
        apply=recompute("mlp.pre", "mlp.act", F.gelu),
    ),
    Bug(
        "tied by copy",
        right="lm_head.weight = wte.weight",
        wrong="lm_head.weight = nn.Parameter(wte.weight.clone())",
        symptom="Nothing shows; there are V · C parameters too many.",
        apply=untie_head,
        shows=False,
    ),
    Bug(
        "if targets",
        right="if targets is not None:",
        wrong="if targets:",
        symptom="The first step of training raises an error.",
        apply=use_truth_value_of_targets,
        shows=False,
    ),
)
BUGS = {bug.name: bug for bug in _BUGS}
