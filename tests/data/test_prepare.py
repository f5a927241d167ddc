"""Which documents are for validation, and settings that are refused."""

from __future__ import annotations

import pytest

from gpt2_edu.data.prepare import PrepareConfig, is_for_validation
from tests.data.helpers import ENCODING, EOT, STORIES, ids_of, refused, run

# ---- Training and validation ------------------------------------------------------------------


def test_of_one_document_the_end_is_for_validation(tmp_path, small_pieces):
    text = "".join(STORIES)
    (tmp_path / "play.txt").write_text(text)
    header = run(tmp_path, tmp_path / "play.txt", val_fraction=0.2)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert train + val == [EOT, *ENCODING.encode_ordinary(text)]
    assert len(val) == round(0.2 * (len(train) + len(val)))
    assert len(val) > 97, "the cut must fall before the last shard for this test to mean much"
    assert header.documents == 1


def test_few_documents_of_which_none_is_drawn_still_leave_a_validation_split(tmp_path, jsonl):
    lines = jsonl.read_text().splitlines()[:3]
    assert not any(is_for_validation(i, 0, 0.05) for i in range(3))
    jsonl.write_text("\n".join(lines))
    run(tmp_path, jsonl, val_fraction=0.05)
    train, val = ids_of(tmp_path / "out"), ids_of(tmp_path / "out", "val")
    assert len(val) == max(1, round(0.05 * (len(train) + len(val))))


def test_no_validation_on_request(tmp_path, jsonl):
    header = run(tmp_path, jsonl, val_fraction=0)
    assert header.tokens("val") == 0
    assert [shard.split for shard in header.shards] == ["train"] * len(header.shards)


def test_the_draw_follows_number_and_seed_and_keeps_the_fraction():
    drawn = [[is_for_validation(i, seed, 0.1) for i in range(20000)] for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for of_seed in drawn:
        assert 1800 < sum(of_seed) < 2200
    assert not any(is_for_validation(0, seed, 0.9) for seed in range(9))  # the first always trains
    assert not any(is_for_validation(i, 0, 0.0) for i in range(1000))
    # A larger fraction keeps what a smaller one drew.
    assert all(is_for_validation(i, 0, 0.2) for i in range(20000) if drawn[0][i])


@pytest.mark.parametrize(
    "wrong, kind",
    [
        ({"sources": ()}, ValueError),
        ({"sources": "a.txt"}, TypeError),
        ({"val_fraction": 1.0}, ValueError),
        ({"val_fraction": -0.1}, ValueError),
        ({"shard_tokens": 0}, ValueError),
        ({"workers": 0}, ValueError),
        ({"workers": 1.5}, TypeError),
        ({"errors": "ignore"}, ValueError),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, kind):
    refused(lambda: PrepareConfig(**({"sources": ("a",), "out": "b"} | wrong)), *wrong, kind=kind)
