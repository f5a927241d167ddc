"""Words become text and text becomes words again."""

from __future__ import annotations

import itertools

import regex

from gpt2_edu.crane.parsing import join_words, scan_words
from gpt2_edu.tokenizer import SPLIT_PATTERN


def test_join_and_scan_are_inverse(annotated):
    for story in annotated:
        scanned = list(scan_words(story.text))
        assert tuple(word for word, _ in scanned[:-1]) == story.words
        assert scanned[-1] == ("", len(story.text))
        assert all(story.text.startswith(word, at) for word, at in scanned)
        assert join_words(story.words) == story.text


def test_no_token_spans_two_words(annotated):
    """GPT-2's pattern cuts a story exactly into its words, each with the space before it."""
    for story in annotated:
        ends = [at + len(word) for word, at in scan_words(story.text)][:-1]
        pieces = [story.text[a:b] for a, b in itertools.pairwise([0, *ends])]
        assert regex.findall(SPLIT_PATTERN, story.text) == pieces
