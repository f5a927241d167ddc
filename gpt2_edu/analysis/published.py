"""What OpenAI's GPT-2 124M did with five prompts, and whether a model does the same.

``published_runs()`` returns attention weights and next tokens that are stored as examples in the
repository of Transformer Explainer (Cho et al. 2024, Polo Club of Data Science, MIT licence):
github.com/poloclub/transformer-explainer, src/constants/examples. Its src/utils/model/model.py
loads OpenAI's weights, but uses the exact GELU, where GPT-2 was trained with the tanh form. How the
files were made is not recorded. ``differences`` compares a model with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import tiktoken
import torch
from torch import Tensor

from ..language_model import eval_mode
from ..machine.files import write_text
from ..model import GPT2
from ..tape import trace

UNITS = 10_000  # four decimals are stored, as integers
# Half a unit of the last decimal for the rounding, the rest for float32 sums in another order.
TOLERANCE = 2 / UNITS


@dataclass(frozen=True)
class PublishedRun:
    """One forward pass: a prompt, all attention weights, and the likeliest next tokens."""

    prompt: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    attention: Tensor  # (N, H, T, T): layer, head, query, key; rows sum to 1, within rounding
    next_ids: Tensor  # (100,), the likeliest first
    next_log_probs: Tensor  # (100,), natural logarithms, at temperature 1


def published_runs() -> list[PublishedRun]:
    """Five runs of GPT-2 124M with 12 × 12 heads, rounded to four decimals."""
    return read_runs(Path(str(files("gpt2_edu") / "assets" / "gpt2_runs.json")))


def record_run(model: GPT2, tokenizer: tiktoken.Encoding, prompt: str) -> PublishedRun:
    """The same facts of any model, not rounded."""
    ids = tokenizer.encode(prompt)
    attention, log_probs = _answers(model, ids)
    best = log_probs.topk(min(100, log_probs.numel()))
    tokens = tuple(tokenizer.decode([i]) for i in ids)
    return PublishedRun(prompt, tuple(ids), tokens, attention, best.indices, best.values)


def differences(model: GPT2, runs: Sequence[PublishedRun] | None = None) -> list[str]:
    """Where a model differs from ``runs``, by default the published ones: an empty list if nowhere.

    One line per run that differs by more than ``TOLERANCE``: the first head in the order of the
    computation, the largest difference of an attention weight, and that of a log-probability. A
    wrong ε can be below it, and another runtime just above.
    """
    lines = []
    for run in published_runs() if runs is None else runs:
        given, stored = (model.config.n_layer, model.config.n_head), run.attention.shape[:2]
        if given != stored:
            raise ValueError(
                f"the model has {given[0]} layers of {given[1]} heads, but the runs are of one "
                f"with {stored[0]} layers of {stored[1]} heads"
            )
        attention, log_probs = _answers(model, run.ids)
        looks = (attention - run.attention).abs().amax(dim=(2, 3))  # (N, H)
        listed = (log_probs[run.next_ids] - run.next_log_probs).abs().max()
        log_probs[run.next_ids] = -torch.inf  # of the others, none is above the last one listed
        says = torch.maximum(listed, log_probs.max() - run.next_log_probs[-1]).item()
        first = (~(looks <= TOLERANCE)).nonzero().tolist()  # negated, so that NaN differs
        if first or not says <= TOLERANCE:
            where = "first in head {}.{}".format(*first[0]) if first else "within rounding"
            lines.append(
                f"{run.prompt!r}: attention weights by up to {looks.max():.4f} ({where}), "
                f"log-probabilities of the next token by up to {says:.4f}"
            )
    return lines


def _answers(model: GPT2, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Attention weights (N, H, T, T) and log-probabilities of the next token (V,), on the CPU."""
    with eval_mode(model), torch.no_grad(), trace(model) as t:
        logits, _ = model(torch.tensor([ids], device=model.device))
    attention = torch.cat([*t.ending("attn.weights").values()])
    return attention.float().cpu(), logits[0, -1].float().log_softmax(dim=-1).cpu()


# ---- The file: whole multiples of 0.0001, and of each table the part at and below the diagonal --


def _below(T: int) -> Tensor:
    return torch.ones(T, T, dtype=torch.bool).tril()


def _units(values: Tensor) -> list[Any]:
    return (values * UNITS).round().int().tolist()


def save_runs(runs: Sequence[PublishedRun], path: Path, **about: str) -> None:
    """Write runs as JSON, rounded to four decimals, after what is to be said ``about`` them."""
    stored = [
        {
            "prompt": run.prompt,
            "ids": run.ids,
            "tokens": run.tokens,
            "attention": _units(run.attention[..., _below(len(run.ids))]),
            "next_ids": run.next_ids.tolist(),
            "next_log_probs": _units(run.next_log_probs),
        }
        for run in runs
    ]
    content = about | {"unit": f"1/{UNITS}", "runs": stored}
    write_text(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_runs(path: Path) -> list[PublishedRun]:
    """The runs that ``save_runs`` wrote."""
    runs = []
    for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
        ids, tokens = tuple(run["ids"]), tuple(run["tokens"])
        stored = torch.tensor(run["attention"])  # (N, H, T (T + 1) / 2)
        attention = torch.zeros(*stored.shape[:2], len(ids), len(ids))
        attention[..., _below(len(ids))] = stored / UNITS
        log_probs = torch.tensor(run["next_log_probs"]) / UNITS
        next_ids = torch.tensor(run["next_ids"])
        runs.append(PublishedRun(run["prompt"], ids, tokens, attention, next_ids, log_probs))
    return runs
