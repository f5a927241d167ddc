"""In the picture of the whole: which parts are the reader's own, by my_gpt2.py."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
FILE = Path(__file__).parents[2] / "saved" / "my_gpt2.py"
BOOK = " (the book's answer)"


@pytest.mark.thorough
def test_parts_of_the_book_are_grey_and_own_code_is_shown(still, tmp_path):
    shown = still("flow", text="In the marsh, the crane", tensors="folded")
    shown.ready()
    element = shown.element
    field = element.locator("input[accept='.py']")
    drawn = element.locator(".flow-picture .ribbon").first
    grey = "one => getComputedStyle(one).filter"
    empty = tmp_path / "empty.py"
    empty.write_text("print(1)\n")
    field.set_input_files(empty)
    shown.page.wait_for_function("document.body.innerText.includes('has no part that a chapter')")
    text = FILE.read_text(encoding="utf-8")
    file = tmp_path / "my_gpt2.py"
    file.write_text(text.replace("chapter 6: heads", f"chapter 6: heads{BOOK}"))
    field.set_input_files(file)
    told = element.locator(".flow-mine [role=status]")
    told.filter(has_text="Grey parts are still the book’s.").wait_for()
    assert "CausalSelfAttention" not in told.inner_text() and "MLP" in told.inner_text()
    assert drawn.evaluate(grey) == "grayscale(1)"
    assert element.locator(".flow-picture .mlp").first.evaluate(grey) == "none"
    shown.slide("how far the pass has come", 17)  # block 0, mlp.act
    element.locator(".flow-mine summary").click()
    assert element.locator(".flow-mine pre").inner_text().startswith("class MLP(nn.Module):")
    element.get_by_role("button", name="put my_gpt2.py away").click()
    assert drawn.evaluate(grey) == "none" and not element.locator(".flow-mine details").is_visible()
