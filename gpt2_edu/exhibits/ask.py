"""Questions to a model: what it reads, what it answers, and how the plain model goes on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import torch
from torch import Tensor

from .. import crane
from ..analysis.reward_runs import plot as plot_of
from ..crane import Exchange
from ..generation import generate
from ..language_model import LanguageModel
from ..machine.display import Exhibit, figure
from ..sampling import next_probabilities
from ..tokenizer import Encoding
from ..tuning import conversation, prompt, render
from .matrix import number
from .tokens import token_label

WRITTEN = 12  # tokens at most
BARS = 5
FIRST = 1_000_000  # seed of the first story
PLOTS = ("lost", "flight", "gift", "chores", "errand")  # as the grammar names them
KINDS = ("sense", "who", "colour", "where", "friend", "count")


def exchanges(stories: int = 8, each: int = 4) -> list[Exchange]:
    """Questions about stories of each plot, the first with a crane.

    Those of a story are of different kinds, and the last is in a form that training never uses.
    """
    found: list[Exchange] = []
    seeds = itertools.count(FIRST)
    for n, plot in zip(range(stories), itertools.cycle(PLOTS), strict=False):
        story, kinds = next(
            (story, kinds)
            for story in map(crane.story, seeds)
            if (n or "crane" in story) and plot_of(story) == plot
            if len(kinds := {one.kind: one for one in crane.questions_about(story)}) >= each
        )
        unseen = {one.kind: one for one in crane.questions_about(story, held_out="form")}
        asked = [one.kind for one in found]
        rarest = sorted(sorted(kinds, key=KINDS.index), key=asked.count)[:each]
        *usual, last = sorted(rarest, key=KINDS.index)
        found += [*(kinds[kind] for kind in usual), unseen[last]]
    return found


class Asked(Exhibit):
    """What a tuned model reads and answers, token by token, and how the plain one goes on.

    model: knows the roles, as ``encoding`` does. plain: the model before it was tuned, which reads
    the same text without the tokens of the roles. ``settings`` goes to the exhibit of the page,
    with all exchanges; the first one is shown.
    """

    def __init__(
        self,
        model: LanguageModel,
        plain: LanguageModel,
        encoding: Encoding,
        asked: Sequence[Exchange],
        *,
        caption: str = "",
    ) -> None:
        self.exchanges, self.caption = asked, caption
        self.found = _found(model, plain, encoding, asked[0])

    @property
    def settings(self) -> dict[str, Any]:
        """For ``Live("ask", asked, first=…, **asked.settings)``."""
        stories: dict[str, list[dict[str, Any]]] = {}
        for one in self.exchanges:
            unseen = one.question in {
                other.question for other in crane.questions_about(one.story, held_out="form")
            }
            asked = {"question": one.question, "answer": one.answer, "unseen": unseen}
            stories.setdefault(one.story, []).append(asked)
        pairs = [{"story": story, "asked": asked} for story, asked in stories.items()]
        return {"stories": pairs, "found": self.found}

    def __repr__(self) -> str:
        return f"Asked({self.exchanges[0].question!r}, {self.found['said']!r})"

    def html(self) -> str:
        parts = [*self.found["read"], {"role": "answer", "names": self.found["right"]}]
        tokens = " ".join(
            f'<b class="of-{part["role"]}">{escape(name)}</b>'
            for part in parts
            for name in part["names"]
        )
        head = "".join(f'<th scope="col">{c}</th>' for c in ("with the adapter", "p"))
        rows = "".join(
            f'<tr><th scope="row"><code>{escape(one["name"])}</code></th>'
            f"<td>{number(one['p'], 3)}</td></tr>"
            for one in self.found["answer"]
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        rest = f"<p>Without the adapter: <q>{escape(self.found['continued'])}</q></p>"
        return figure("asked", self.caption, f"<p>{tokens}</p>{table}{rest}")


@torch.no_grad()
def _found(
    model: LanguageModel, plain: LanguageModel, encoding: Encoding, asked: Exchange
) -> dict[str, Any]:
    """What web/exhibits/asking.mjs computes, under the same names."""
    messages = conversation(asked)
    ids = prompt(messages[:1], encoding)
    right = render(messages, encoding).ids[len(ids) :]
    roles = ids[1], ids[-1]
    alone = [i for i in ids if i not in roles]  # the plain model has no rows for them
    answer, plainly = (
        _written(one, start, encoding.eot_token) for one, start in ((model, ids), (plain, alone))
    )
    now = _each(model, ids, answer)
    before = _each(plain, alone, list(itertools.takewhile(lambda i: i not in roles, answer)))
    before += [None] * (len(now) - len(before))
    show = dict(zip(roles, ("⟨user⟩", "⟨assistant⟩"), strict=True))
    show[encoding.eot_token] = "⟨start⟩"

    def name(i: int) -> str:
        return (
            "⟨end⟩"
            if i == encoding.eot_token
            else show.get(i) or token_label(encoding.decode_single_token_bytes(i))
        )

    def named(tokens: list[int], rows: list[Tensor]) -> list[dict[str, Any]]:
        pairs = zip(tokens, rows, strict=True)
        return [{"name": name(i), "p": _rounded(row[i].item())} for i, row in pairs]

    def text(tokens: list[int]) -> str:
        return encoding.decode([i for i in tokens if i < encoding.eot_token]).strip()

    inside = ids[2:-1]
    in_story = len(encoding.encode_ordinary(asked.story))
    parts = {"story": inside[:in_story], "question": inside[in_story:]}
    read = [{"role": role, "names": list(map(name, part))} for role, part in parts.items()]
    marks = [{"role": "mark", "names": [show[i] for i in some]} for some in (ids[:2], ids[-1:])]
    return {
        "read": [marks[0], *read, marks[1]],
        "cut": 0,
        "right": [name(i) for i in right],
        "answer": named(answer, now),
        "plain": named(plainly, _each(plain, alone, plainly)),
        "next": [
            [[i, name(i), _rounded(p), b if b is None else _rounded(b)] for i, p, b in bars]
            for bars in map(_bars, now, before)
        ],
        "said": text(answer),
        "continued": text(plainly),
    }


def _rounded(p: float) -> float:
    """To what is shown, so that it is the same on every machine; small ones stay above 0."""
    return max(round(p, 3), 1e-4)


def _written(model: LanguageModel, ids: list[int], end: int) -> list[int]:
    """The likeliest tokens, one after the other, with the one that ends them."""
    longer = generate(model, torch.tensor([ids]), WRITTEN, temperature=0, eos_id=end)
    return longer[0, len(ids) :].tolist()


def _each(model: LanguageModel, ids: list[int], written: list[int]) -> list[Any]:
    """The probabilities (V,) of what follows, for each token that was written."""
    if not written:
        return []
    logits, _ = model(torch.tensor([ids + written[:-1]]))
    return list(next_probabilities(logits[0, len(ids) - 1 :]))


def _bars(now: Tensor, before: Tensor | None) -> Iterator[tuple[int, float, float | None]]:
    """The likeliest tokens with both probabilities, among them the plain model's first two."""
    earlier = [] if before is None else before.argsort(descending=True, stable=True)[:2].tolist()
    rest = [i for i in now.argsort(descending=True, stable=True).tolist() if i not in earlier]
    shown = earlier + rest[: BARS - len(earlier)]
    for i in sorted(shown, key=lambda i: -now[i].item()):
        known = before is not None and i < len(before)
        yield i, now[i].item(), before[i].item() if known else None  # type: ignore[index]
