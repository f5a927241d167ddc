"""gpt2-edu tokenize."""

from __future__ import annotations

import io


def test_tokens_are_shown_with_their_text(run):
    lines = run("tokenize", "A crane 🦩").splitlines()
    assert lines[0].split() == ["32", "'A'"]
    assert lines[1].split(maxsplit=1) == ["41175", "' crane'"]
    assert lines[2].split(maxsplit=1) == ["12520", r"b' \xf0\x9f'"]  # half a character
    assert lines[-1] == "5 tokens, 9 characters, 12 bytes"


def test_text_can_come_from_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("A crane\n"))
    assert run("tokenize", "-", "--ids") == "32 41175 198\n"


def test_ids_become_text_again(run, refused):
    assert run("tokenize", "--decode", "32 41175, 15063 5916") == "A crane ate fish\n"
    for wrong in ("50257", "-1", "crane", "1.5"):
        assert f"{wrong!r} is no id of 'gpt2'" in refused("tokenize", "--decode", f"32 {wrong}")
