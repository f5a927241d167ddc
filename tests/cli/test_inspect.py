"""gpt2-edu inspect."""

from __future__ import annotations

from gpt2_edu import GPT2


def test_a_published_size_is_inspected_without_its_weights(run):
    shown = run("inspect", "gpt2-medium")
    assert "354,823,168" in shown
    assert "24" in shown


def test_a_folder_is_inspected_and_a_text_traced(run, folder, small):
    shown = run("inspect", folder, "--text", "A crane ate fish")
    assert f"{GPT2(small).num_parameters():,}" in shown
    assert "transformer.h.0.attn.weights" in shown
    assert "(1, 3, 4, 4)" in shown
