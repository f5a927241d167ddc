"""Seventeen common bugs, each implemented as an edited tensor or a replaced module.

``broken(model, "no mask")`` yields a copy of a model with the bug. museum.py measures the effect
of a bug on the loss, the attention maps and the generated text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..machine.messages import nearest
from ..model import GPT2, MLP
from ..tape import Edit, Tape, note, trace

Edits = dict[str, Edit]


@dataclass(frozen=True)
class Bug:
    """A bug: the right line of code, the wrong one, and the symptom.

    ``apply`` modifies a model in place, or returns edits for ``trace``. ``trained_with``: the bug
    is present during training, not only afterwards. ``shift``: the offset of the targets in
    positions. ``shows``: the bug is visible in the loss, the maps or the text.
    """

    name: str
    right: str
    wrong: str
    symptom: str
    apply: Callable[[GPT2], Edits | None] = field(default=lambda model: None, repr=False)
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
    Raises ValueError for an unknown name, and what ``trace`` raises.
    """
    bug, copy = find(name), deepcopy(model)
    with trace(copy, edits=bug.apply(copy) or {}) as tape:
        yield copy, tape


# ---- Tensor edits -------------------------------------------------------------------------------


def in_every_block(model: GPT2, names: Sequence[str], edit: Edit) -> Edits:
    """Apply one edit to the named tensors of every block."""
    layers = range(model.config.n_layer)
    return {f"transformer.h.{layer}.{name}": edit for layer in layers for name in names}


class Substitute:
    """A pair of edits: record one tensor, then replace a later one by a function of it."""

    def __init__(self, formula: Callable[[Tensor], Tensor]) -> None:
        self.formula = formula

    def record(self, source: Tensor) -> Tensor:
        self.source = source
        return source

    def replace(self, target: Tensor) -> Tensor:
        return self.formula(self.source)


def recompute_from_scores(model: GPT2, target: str, formula: Callable[[Tensor], Tensor]) -> Edits:
    """In every block, replace ``target`` by a function of the attention scores (B, H, T, S)."""
    edits: Edits = {}
    for layer in range(model.config.n_layer):
        attn, substitute = f"transformer.h.{layer}.attn", Substitute(formula)
        edits |= {f"{attn}.scores": substitute.record, f"{attn}.{target}": substitute.replace}
    return edits


def causal_mask(scores: Tensor, diagonal: int | None = None) -> Tensor:
    """True where a query may attend to a key, (…, T, S); by default aligned at the last key."""
    T, S = scores.shape[-2:]
    return torch.ones_like(scores, dtype=torch.bool).tril(S - T if diagonal is None else diagonal)


def wrong_view(x: Tensor) -> Tensor:
    """Heads (B, H, T, D) as a ``view`` without the transpose would have split them."""
    return x.transpose(1, 2).reshape(x.shape)


def dropout(x: Tensor) -> Tensor:
    """Dropout also in evaluation, because ``F.dropout`` defaults to training=True."""
    return F.dropout(x, 0.1)


# ---- Module changes -----------------------------------------------------------------------------


def replace_modules(model: GPT2, kind: type[nn.Module], new: Callable[[Any], nn.Module]) -> None:
    """Replace every module of a type by ``new(module)``."""
    for parent in list(model.modules()):
        for name, module in parent.named_children():
            if isinstance(module, kind):
                setattr(parent, name, new(module))


class EpsilonOutside(nn.LayerNorm):
    """LayerNorm that adds ε to the standard deviation; shares the given norm's parameters."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__(norm.normalized_shape, norm.eps)
        self.weight, self.bias = norm.weight, norm.bias

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=-1, keepdim=True)) / self.std(x) * self.weight + self.bias

    def std(self, x: Tensor) -> Tensor:
        return x.var(dim=-1, keepdim=True, correction=0).sqrt() + self.eps


class UnbiasedVariance(EpsilonOutside):
    """LayerNorm with the unbiased variance (divisor C - 1), the default of ``Tensor.var``."""

    def std(self, x: Tensor) -> Tensor:
        return (x.var(dim=-1, keepdim=True) + self.eps).sqrt()


class ErfMLP(nn.Module):
    """MLP with the exact (erf) GELU; shares the given MLP's parameters."""

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        self.c_fc, self.c_proj, self.dropout = mlp.c_fc, mlp.c_proj, mlp.dropout

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) → (B, T, C)
        act = note("act", F.gelu(note("pre", self.c_fc(x), "B T F")), "B T F")
        return note("out", self.dropout(self.c_proj(act)), "B T C")


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

NO_BUG = Bug("no bug", "every line", "none", "none", trained_with=False, shows=False)

_MASK = "scores.masked_fill(~visible, -torch.inf).softmax(dim=-1)"
_TARGETS = "idx, targets = text[:, :-1], text[:, 1:]"

_BUGS = (
    Bug(
        "no mask",
        right=_MASK,
        wrong="scores.softmax(dim=-1)",
        symptom="The loss falls through the floor to 0, the maps have colour above the diagonal, "
        "and the text has lost its variety.",
        apply=lambda model: recompute_from_scores(model, "masked_scores", lambda scores: scores),
    ),
    Bug(
        "mask after softmax",
        right=_MASK,
        wrong="scores.softmax(dim=-1).masked_fill(~visible, 0)",
        symptom="The loss falls through the floor; above the diagonal there is nothing, but the "
        "rows of the maps do not sum to 1, some are empty; the text is wrong or has lost its "
        "variety.",
        apply=lambda model: recompute_from_scores(
            model, "weights", lambda s: s.softmax(dim=-1).masked_fill(~causal_mask(s), 0)
        ),
    ),
    Bug(
        "finite mask",  # -4 instead of -10,000: scores fall below it after seconds of training
        right=_MASK,
        wrong="scores.masked_fill(~visible, -4).softmax(dim=-1)",
        symptom="The loss stays on the floor, then falls through it in steps; a head has its "
        "colour above the diagonal; the text is wrong or has lost its variety.",
        apply=lambda model: recompute_from_scores(
            model, "masked_scores", lambda s: s.masked_fill(~causal_mask(s), -4)
        ),
    ),
    Bug(
        "wrong view",
        right="x.view(B, T, H, D).transpose(1, 2)",
        wrong="x.view(B, H, T, D)",
        symptom="The loss falls through the floor although the maps are clean triangles whose "
        "rows sum to 1, and the text is wrong.",
        apply=lambda model: in_every_block(model, ["attn.q", "attn.k", "attn.v"], wrong_view),
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
    Bug(
        "dropout left on",
        right="F.dropout(x, 0.1, self.training)",
        wrong="F.dropout(x, 0.1)",
        symptom="Training is right; in use, the loss is different each time it is measured.",
        apply=lambda model: (
            {"embd": dropout} | in_every_block(model, ["attn.out", "mlp.out"], dropout)
        ),
        trained_with=False,
    ),
    Bug(
        "transposed Conv1D",
        right="c_proj.weight.copy_(stored.T)",
        wrong="c_proj.weight.copy_(stored)",
        symptom="Training is right; in use, the loss is far too high and the text broken, while "
        "the maps of the first block are as they were.",
        apply=transpose_projections,
        trained_with=False,
    ),
    Bug(
        "cache with the wrong mask",
        right="visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)",
        wrong="visible = torch.ones(T, S, dtype=torch.bool).tril()",
        symptom="Loss and maps are perfect, and the text repeats itself.",
        apply=lambda model: recompute_from_scores(
            model, "masked_scores", lambda s: s.masked_fill(~causal_mask(s, diagonal=0), -torch.inf)
        ),
        trained_with=False,
    ),
    Bug(
        "scale by C",
        right="q @ k.transpose(-2, -1) / math.sqrt(D)",
        wrong="q @ k.transpose(-2, -1) / math.sqrt(C)",
        symptom="With weights trained rightly, the maps are paler and the loss is a little too "
        "high; a model trained with the bug shows nothing.",
        apply=lambda m: in_every_block(m, ["attn.scores"], lambda s: s / m.config.n_head**0.5),
        trained_with=False,
        shows=False,
    ),
    Bug(
        "ε outside the root",
        right="(x - mean) / torch.sqrt(variance + eps)",
        wrong="(x - mean) / (torch.sqrt(variance) + eps)",
        symptom="Nothing shows; the logits differ a little, most where variances are small.",
        apply=lambda model: replace_modules(model, nn.LayerNorm, EpsilonOutside),
        trained_with=False,
        shows=False,
    ),
    Bug(
        "unbiased variance",
        right="x.var(dim=-1, correction=0)",
        wrong="x.var(dim=-1)",
        symptom="Nothing shows; each LayerNorm's result is smaller by √((C - 1) / C).",
        apply=lambda model: replace_modules(model, nn.LayerNorm, UnbiasedVariance),
        trained_with=False,
        shows=False,
    ),
    Bug(
        "erf for tanh",
        right='F.gelu(x, approximate="tanh")',
        wrong="F.gelu(x)",
        symptom="Nothing shows; the logits differ a little, from the first MLP on.",
        apply=lambda model: replace_modules(model, MLP, ErfMLP),
        trained_with=False,
        shows=False,
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
