"""gpt2-edu crane."""

from __future__ import annotations

from gpt2_edu.training.recipes import RECIPES, Recipe


def test_a_crane_run_goes_from_stories_to_marks(run, refused, tmp_path, monkeypatch):
    small = {"n_layer": 1, "n_head": 1, "n_embd": 8, "steps": 3, "warmup_steps": 1}
    small |= {"model": "crane", "block_size": 128, "align": True, "batch_size": 2}
    monkeypatch.setitem(RECIPES, "laptop", Recipe(60, small | {"eval_batches": 1}))
    out = run("crane", "--out", tmp_path / "crane", "--samples", 1, "--device", "cpu", "--quiet")
    assert "3 steps in" in out
    assert "gap" in out
    assert "stories" in out
    assert "(top_p=0.99): " in out
    assert (tmp_path / "crane" / "run" / "log.jsonl").is_file()
    said = refused("crane", "--out", tmp_path / "x", "--samples", -1)
    assert "--samples must be at least 0" in said
