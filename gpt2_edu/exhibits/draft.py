"""A small model drafts for a large one: which tokens stay, pass by pass of the large model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

import torch
from torch import Tensor

from ..language_model import LanguageModel
from ..machine.display import Exhibit, figure
from ..sampling import next_probabilities
from ..tokenizer import Encoding
from .matrix import number
from .tokens import token_label

WRITTEN = 32  # tokens at most
BARS = 5
MARKS = {"stays": "✓", "goes": "✗", "unread": "–"}


class Speculated(Exhibit):
    """A text of a model, of which another has drafted some tokens, with p, q and darts of each.

    model and draft share a vocabulary. ``temperature`` is that of the draft alone: whatever it is,
    the text is the model's. ``settings`` goes to the exhibit of the page, with all
    beginnings; the first one is continued here, with the darts that the page throws.
    """

    def __init__(
        self,
        model: LanguageModel,
        draft: LanguageModel,
        encoding: Encoding,
        texts: Sequence[str],
        *,
        ahead: int = 4,
        temperature: float = 1.0,
        seed: int = 0,
        caption: str = "",
    ) -> None:
        self.texts, self.ahead, self.caption = texts, ahead, caption
        self.temperature, self.seed = temperature, seed
        ids = [encoding.eot_token, *encoding.encode_ordinary(texts[0])]
        self.rounds = list(_rounds(model, draft, encoding, ids, ahead, temperature, _darts(seed)))

    @property
    def settings(self) -> dict[str, Any]:
        """For ``Live("draft", speculated, first=…, **speculated.settings)``."""
        return {
            "texts": list(self.texts),
            "ahead": self.ahead,
            "temperature": self.temperature,
            "seed": self.seed,
            "found": self.rounds,
        }

    def __repr__(self) -> str:
        return f"Speculated({self.texts[0]!r}, {len(self.rounds)} passes)"

    def html(self) -> str:
        columns = ["pass", *(f"drafted {i + 1}" for i in range(self.ahead)), "and one more"]
        head = "".join(f'<th scope="col">{name}</th>' for name in columns)
        rows = "".join(self._row(n, one) for n, one in enumerate(self.rounds, start=1))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        legend = "Under each token q of the draft and p of the model; ✓ it stays, ✗ it goes."
        body = f'<div class="g2-scroll">{table}</div>'
        return figure("speculated", self.caption, body, legend)

    def _row(self, n: int, one: dict[str, Any]) -> str:
        cells = [
            f"<code>{escape(token['name'])}</code> {MARKS[token['fate']]}<br><small>"
            f"{number(token['q'], 2)}, {number(token['p'], 2)}</small>"
            for token in one["drafted"]
        ]
        cells += [""] * (self.ahead - len(cells))
        if one["next"]:
            p = number(one["next"]["p"], 2)
            cells.append(f"<code>{escape(one['next']['name'])}</code><br><small>{p}</small>")
        else:
            cells.append("")
        return f'<tr><th scope="row">{n}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _rounds(
    model: LanguageModel,
    draft: LanguageModel,
    encoding: Encoding,
    ids: list[int],
    ahead: int,
    temperature: float,
    throw: Callable[[], float],
) -> Iterator[dict[str, Any]]:
    """What web/exhibits/drafting.mjs shows of each pass, under the same names.

    The plain form of ``thought.speculate``: without caches, with the darts that the page throws.
    """
    start, eot = len(ids), encoding.eot_token
    while len(ids) < start + WRITTEN and (len(ids) == start or ids[-1] != eot):
        drafted: list[int] = []
        q: list[Tensor] = []
        longest = min(ahead, start + WRITTEN - len(ids) - 1)
        while len(drafted) < longest and eot not in drafted:
            q += _next(draft, ids + drafted, 1, temperature)
            drafted.append(_drawn(q[-1], throw))
        p = _next(model, ids + drafted, len(drafted) + 1)
        darts, stay, rest = _judged(p, q, drafted, throw)
        token = _drawn(rest, throw)
        ids += drafted[:stay]
        ends = stay > 0 and ids[-1] == eot
        ids += [] if ends else [token]
        fates = ["stays"] * stay + ["goes"] + ["unread"] * len(drafted)
        yield {
            "drafted": [
                {
                    **_token(encoding, one, p[i], q[i]),
                    "fate": fates[i],
                    "q": _rounded(q[i][one].item()),
                    "dart": round(darts[i], 3) if i < len(darts) else None,
                }
                for i, one in enumerate(drafted)
            ],
            "next": None if ends else _token(encoding, token, rest),
        }


def _judged(
    p: list[Tensor], q: list[Tensor], drafted: list[int], throw: Callable[[], float]
) -> tuple[list[float], int, Tensor]:
    """The darts, how many tokens stay, and (V,) what the token after them is drawn from."""
    darts: list[float] = []
    for i, token in enumerate(drafted):
        darts.append(throw())
        if darts[i] * q[i][token] >= p[i][token]:
            lacking = (p[i] - q[i]).clamp(min=0)
            return darts, i, lacking / lacking.sum()
    return darts, len(drafted), p[-1]


def _token(encoding: Encoding, token: int, p: Tensor, q: Tensor | None = None) -> dict[str, Any]:
    """A token's name, its p, and the likeliest in its place, with q of a draft."""
    first = [] if q is None else _likeliest(q)[:2]
    rest = [i for i in _likeliest(p) if i not in first]
    shown = sorted(first + rest[: BARS - len(first)], key=lambda i: -p[i].item())

    def name(i: int) -> str:
        end = i == encoding.eot_token
        return "⟨end⟩" if end else token_label(encoding.decode_single_token_bytes(i))

    bars = [
        [i, name(i), _rounded(p[i].item()), None if q is None else _rounded(q[i].item())]
        for i in shown
    ]
    return {"name": name(token), "p": _rounded(p[token].item()), "bars": bars}


@torch.no_grad()
def _next(
    model: LanguageModel, ids: list[int], last: int, temperature: float = 1.0
) -> list[Tensor]:
    """Probabilities (V,) of the token after each of the last ones."""
    logits, _ = model(torch.tensor([ids]))
    return list(next_probabilities(logits[0, -last:], temperature=temperature).double())


def _likeliest(p: Tensor) -> list[int]:
    return p.argsort(descending=True, stable=True).tolist()


def _rounded(p: float) -> float:
    """To what is shown, so that it is the same on every machine; small ones stay above 0."""
    return max(round(p, 3), 1e-4)


def _drawn(p: Tensor, throw: Callable[[], float]) -> int:
    """The token that a dart hits on the line of all tokens."""
    left = throw()
    ids = p.nonzero().flatten().tolist()
    for i in ids:
        left -= p[i].item()
        if left < 0:
            return i
    return ids[-1]  # the sum was a little below 1


def _darts(seed: int) -> Callable[[], float]:
    """Random numbers as the page has them: "sfc32" of PractRand, web/sampling.mjs."""
    state = [seed % 2**32, seed // 2**32 % 2**32, 0, 1]

    def throw() -> float:
        a, b, c, counter = state
        total = (a + b + counter) % 2**32
        turned = (c << 21 | c >> 11) % 2**32
        state[:] = [b ^ b >> 9, (c + (c << 3)) % 2**32, (turned + total) % 2**32, counter + 1]
        return total / 2**32

    for _ in range(12):
        throw()
    return throw
