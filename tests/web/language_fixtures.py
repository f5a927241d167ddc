"""Fixtures of web/language and web/text: stories, verdicts, merges and losses in Python."""

from __future__ import annotations

import base64
import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch

from gpt2_edu import crane, load_tokenizer, web
from gpt2_edu.analysis.scoring import Bigram
from gpt2_edu.bpe import train_bpe
from gpt2_edu.crane.grammar import EVERYTHING, Grammar, crane_world
from gpt2_edu.crane.judging import _parse
from gpt2_edu.crane.parsing import initial_state, join_words, next_steps
from gpt2_edu.crane.sampling import SplitMix64, _sample
from gpt2_edu.crane.shipping import shipped
from gpt2_edu.tokenizer import make_encoding
from tests.crane.mutations import MUTATIONS, annotated_story
from tests.crane.small_grammars import PAGES, page

SEEDS = (0, 1, 2**32 - 1, 2**53 + 1, 2**64 - 1)
story = cache(crane.story)
WHOLE = 600  # stories that are judged as they are
HELD = 2**52  # the first story of the page's validation rows, each of which has 16 numbers
T = 100


def sha256(lines: Iterator[str] | list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def language() -> dict[str, Any]:
    texts = [*unchanged(), *mutated(), *odd()]
    return {
        "grammar": web.crane_grammar(),
        "draws": [[str(seed), sha256(draws(seed))] for seed in SEEDS],
        "stories": [[str(seed), story(seed)] for seed in (*range(5), *SEEDS)],
        "first": sha256([story(seed) for seed in range(2000)]),
        "whole": WHOLE,
        "judged": [[text, *verdict(text)] for text in texts],
        "changed": [[seed, *change(story(seed), text), *verdict(text)] for seed, text in changed()],
        "losses": losses(),
        "small": {
            name: small(Grammar(page(f"{rules}\nsentence: a"))) for name, rules in PAGES.items()
        },
    }


def draws(seed: int) -> Iterator[str]:
    drawn = SplitMix64(seed)
    return (str(drawn.below(n)) for n in range(1, 10_001))


# ---- Texts to judge


def small(grammar: Grammar) -> dict[str, Any]:
    """A grammar that does what Crane World's does not, with stories, whole and without a word."""
    draw = random.Random(0)
    stories = [_sample(grammar, seed, None, annotate=False).text for seed in range(60)]
    words = [text.split(" ") for text in stories]
    without = []
    for one in words:
        one.pop(draw.randrange(len(one)))
        without.append(" ".join(one))
    return {
        "grammar": shipped(grammar),
        "stories": stories,
        "judged": [[text, *verdict(text, grammar)] for text in stories + without],
    }


def verdict(text: str, grammar: Grammar | None = None) -> tuple[str | None, int | None, str]:
    """The kind, the index, and the expected words in short."""
    kind, fails_at, expected = _parse(grammar or crane_world(), text)
    return kind, fails_at, sha256(list(expected))[:8]


def unchanged() -> Iterator[str]:
    """Stories that training never shows, and single sentences."""
    for kind, seed in itertools.product(("sense", "object", "name"), range(30)):
        yield story(seed, held_out=kind)
    draw = random.Random(0)
    for _ in range(100):
        state, words = initial_state(crane_world(), "sentence"), []
        while True:
            word, state, _ = draw.choice(list(next_steps(crane_world(), state, EVERYTHING)))
            if word == "":
                break
            words.append(word)
        yield join_words(words)


def odd() -> Iterator[str]:
    yield from (
        "",
        " ",
        "\n\t",
        "\ufeff",
        "\x1c\x1f",
        "\x85",
        "A",
        "A ",
        " A crane\u2003",
        "\ud800",
    )
    yield from ("crane", '"', '""', '"A crane ate fish."', ".", "A crane ate fish", "A-b")
    yield from ("\x00A crane", "A crane\x00", "A 😀", "😀", "كركي", "A crane ate fish.\x1d")


def mutated() -> Iterator[str]:
    """Texts that are not a story any more by a character at either end."""
    ends = ("\ufeff", "\x1c", "\x85", "\xa0", "\u3000", "\n", "\x00", "😀", '"', " .", "ﬁ", "م")
    for seed, end in enumerate(ends):
        yield story(seed) + end
        yield end + story(seed)


Edit = Callable[[str, int, random.Random], str]  # of a text at an index

EDITS: list[Edit] = [
    lambda text, at, _: text[:at],
    lambda text, at, _: text[:at] + text[at + 1 :],
    lambda text, at, _: text[:at] + text[at] + text[at:],
    lambda text, at, _: text[:at] + text[at].swapcase() + text[at + 1 :],
    lambda text, at, draw: text[:at] + draw.choice("\x00\n\t😀éاﬁ-\"'.,?! ") + text[at:],
    lambda text, at, _: text[: text.rfind(" ", 0, at) + 1] + text[text.find(" ", at) + 1 :],
    lambda text, at, _: text[: text.find(" ", at)] + " " + text[text.find(" ", at) :],
    lambda text, at, _: " ".join(swapped(text.split(" "), text.count(" ", 0, at))),
    lambda text, at, _: " ".join(doubled(text.split(" "), text.count(" ", 0, at))),
    lambda text, at, draw: text[:at] + story(draw.randrange(10**6))[at:],
]


def swapped(words: list[str], i: int) -> list[str]:
    return [*words[:i], *reversed(words[i : i + 2]), *words[i + 2 :]]


def doubled(words: list[str], i: int) -> list[str]:
    return [*words[:i], *words[i : i + 1], *words[i:]]


def changed() -> Iterator[tuple[int, str]]:
    """Stories with a mistake in them, each with its seed."""
    for kind, (mutation, _) in MUTATIONS.items():
        draw, found = random.Random(kind), 0
        for seed in itertools.count(10_000):
            new = mutation(annotated_story(seed), draw)
            if new is not None:
                found += 1
                yield seed, new[0]
                if found == 50:
                    break
    draw = random.Random(1)
    for seed in range(600):
        text = story(seed)
        yield seed, EDITS[seed % len(EDITS)](text, draw.randrange(len(text)), draw)


def change(before: str, after: str) -> tuple[int, int, str]:
    """Where a text was changed, up to where, and what stands there now."""
    start = shared(before, after)
    end = shared(before[start:][::-1], after[start:][::-1])
    return start, len(before) - end, after[start : len(after) - end]


def shared(a: str, b: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (one, two) in pairs if one != two), min(len(a), len(b)))


# ---- Losses


def losses() -> dict[str, Any]:
    """Of frequencies, of pairs and of the grammar on the page's rows for validation."""
    encoding = load_tokenizer("crane")
    eot = encoding.eot_token

    def ids(seeds: range) -> list[int]:
        texts = [encoding.encode_ordinary(story(seed)) for seed in seeds]
        return [i for text in texts for i in (eot, *text)]

    counted = torch.tensor(ids(range(2000)))
    rows = torch.tensor([ids(range(HELD + 16 * r, HELD + 16 * r + 16))[: T + 1] for r in range(40)])
    counts = counted[1:].bincount(minlength=1024) + 0.01
    pairs = Bigram(counted, 1024).table
    floor, position, truth = web.crane_grammar()["floor"], 0, []
    for i in rows[:, :-1].flatten().tolist():
        position = 0 if i == eot else position + 1
        truth.append(floor[position])
    return {
        "T": T,
        "ids": sha256([str(i) for i in rows[:, :-1].flatten().tolist()]),
        "targets": sha256([str(i) for i in rows[:, 1:].flatten().tolist()]),
        "unigram": -float((counts / counts.sum()).log()[rows[:, 1:]].mean()),
        "bigram": -float(pairs[rows[:, :-1], rows[:, 1:]].mean()),
        "truth": sum(truth) / len(truth),
    }


# ---- Merges learned from a text


def own_text() -> dict[str, Any]:
    draw = random.Random(0)
    pieces = [
        *"abcXY01.,'\"- \t\n\r",
        *"\xa0\u2003\ufefféßж中字あ😀",
        " the",
        "'ll",
        "  ",
        "e\u0301",
    ]
    greek = "Ὁ γερανὸς ἔφαγε τὸ ψάρι. 🐟 Ο γερανός σήκωσε το ατσάλι. 🏗️ "
    texts = {
        "stories": "\n".join(story(seed) for seed in range(60)),
        "Greek": greek * 3 + "Ο γερανός πέταξε. 🕊️\n",
        "odd": "".join(draw.choices(pieces, k=3000)),
        "long pieces": "".join(draw.choices("abcé😀", k=1000)) + " " + "ab" * 400,
        "few": "abab",
    }
    return {
        name: {
            "text": text,
            "merges": {V: learned(text, V) for V in (300, 600)},
        }
        for name, text in texts.items()
    }


def learned(text: str, V: int) -> str:
    """The merges in base64, as pages have them."""
    encoding = make_encoding("own", train_bpe([text], V, or_fewer=True))
    return base64.b64encode(web.merges(encoding)).decode()
