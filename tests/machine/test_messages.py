"""What error messages are made of."""

from __future__ import annotations

from gpt2_edu.machine.messages import changes, did_you_mean, nearest


def test_a_mistyped_name_is_answered_with_the_nearest():
    assert did_you_mean("gtp2", ["gpt2", "crane"]) == "Did you mean 'gpt2'? "
    assert did_you_mean("xyz", ["gpt2", "crane"]) == ""
    assert nearest("gtp2", ["gpt2", "crane"]) == "Known: gpt2, crane. Did you mean 'gpt2'?"
    assert nearest("xyz", ["gpt2", "crane"]) == "Known: gpt2, crane."


def test_changes_name_every_difference_with_both_values():
    before, now = {"seed": 0, "lr": 0.1, "old": 3}, {"seed": 7, "lr": 0.1, "new": "a"}
    assert changes(before, now) == [
        "new was None, is now 'a'",
        "old was 3, is now None",
        "seed was 0, is now 7",
    ]
    assert changes(before, dict(before)) == []
