"""Labs: what their controls make, what a mistake says, and when the page's exhibit stands there."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, generate, load_tokenizer, trace
from gpt2_edu.exhibits import Bars, Matrix
from gpt2_edu.generation import next_probabilities
from gpt2_edu.labs import Heads, Lab, Sampling, lab

widgets = pytest.importorskip("ipywidgets")
FIRST = "Turn a knob."
MARSH = "In the marsh, the crane"


@pytest.fixture(scope="module")
def crane() -> tuple[GPT2, object]:
    return GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")


@pytest.fixture
def sampling(crane) -> Sampling:
    return Sampling(*crane, printed=Matrix.example(), first=FIRST)


@pytest.fixture
def heads(crane) -> Heads:
    return Heads(*crane, printed=Matrix.example(), first=FIRST, text=MARSH)


def test_every_control_of_every_lab_changes_something(sampling, heads):
    changes = {
        "prompt": "In the city, the crane",
        "temperature": 2.0,
        "top_k": 2,
        "top_p": 0.5,
        "new_tokens": 3,
        "texts": 1,
        "seed": 7,
        "text": "In the city, the crane",
        "layer": 1,
        "cut": ("1.0", "1.2"),
    }
    for one in (sampling, heads):
        one.panel()
        for name, widget in one.widgets.items():
            before = one.shown.value
            first, widget.value = widget.value, changes[name]
            assert one.shown.value != before, name
            widget.value = first
            assert one.shown.value == before, name


def test_sampling_shows_what_the_package_draws(sampling, crane):
    model, encoding = crane
    knobs = {"temperature": 0.7, "top_k": 5, "top_p": 0.9}
    made = list(sampling.show(prompt=MARSH, new_tokens=8, texts=2, seed=3, **knobs))
    idx = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(MARSH)]])
    with torch.no_grad():
        expected = next_probabilities(model(idx)[0][:, -1], **knobs)[0]
    bars, *texts = made
    assert isinstance(bars, Bars)
    assert list(bars.now.values()) == pytest.approx(expected.topk(6).values.tolist())
    generator = torch.Generator().manual_seed(3)
    written = generate(
        model, idx.expand(2, -1), 8, eos_id=encoding.eot_token, generator=generator, **knobs
    )
    assert texts == [encoding.decode(row[1:]) for row in written.tolist()]


def test_a_prompt_that_is_too_long_is_said_in_a_sentence_and_nothing_is_lost(sampling):
    sampling.panel()
    before = sampling.shown.value
    sampling.widgets["prompt"].value = "crane " * 200
    assert "window of 128: shorten the prompt, or ask for fewer" in sampling.status.value
    assert sampling.shown.value == before
    sampling.widgets["prompt"].value = ""
    assert sampling.status.value == ""


def test_heads_that_are_cut_give_zeros(heads, crane):
    model, encoding = crane
    idx = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(MARSH)]])
    with trace(model, edits=heads.cutting(("1.0", "1.2", "2.3"))) as t, torch.no_grad():
        model(idx)
    for n, cut in ((0, []), (1, [0, 2]), (2, [3])):
        sizes = t[f"transformer.h.{n}.attn.heads"][0].abs().amax(dim=(1, 2))
        assert [h for h in range(4) if sizes[h] == 0] == cut


def test_markup_in_a_text_is_shown_as_text(sampling):
    sampling.panel()
    sampling.widgets["prompt"].value = "<img src=x>"
    assert "<img" not in sampling.shown.value


def test_the_page_stands_there_while_the_book_is_made(sampling, monkeypatch):
    monkeypatch.setattr(lab, "in_live_kernel", lambda: False)
    with pytest.raises(NotImplementedError):  # which lets IPython go on to the HTML
        sampling._ipython_display_()
    assert sampling._repr_html_().startswith('<gpt2-sampling class="g2-live"')


def test_in_a_live_kernel_the_widgets_are_shown(sampling, monkeypatch):
    shown = []
    monkeypatch.setattr(lab, "in_live_kernel", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    sampling._ipython_display_()
    assert isinstance(shown[0], widgets.VBox)


def test_a_lab_says_what_it_lacks():
    empty = Lab("nothing", Matrix.example(), first=FIRST)
    with pytest.raises(NotImplementedError, match=r"Lab has no controls\(\)"):
        empty.panel()
