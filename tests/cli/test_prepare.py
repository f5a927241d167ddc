"""gpt2-edu prepare."""

from __future__ import annotations


def test_text_that_cannot_be_prepared_is_named(refused, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"A crane \xff\xfe ate fish")
    said = refused("prepare", tmp_path / "bad.txt", "--out", tmp_path / "shards")
    assert "bad.txt" in said
    assert "8" in said
    assert "errors='replace'" in said
