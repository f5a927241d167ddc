"""Labs: what their controls make, what a mistake says, and when the page's exhibit stands there."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import ipywidgets as widgets
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gpt2_edu import GPT2, GPT2Config, generate, load_tokenizer, trace
from gpt2_edu.bpe import train_bpe
from gpt2_edu.exhibits import Bars, Matrix
from gpt2_edu.labs import Cost, Crane, Heads, Museum, Patching, Sampling, Training, lab
from gpt2_edu.labs.cost import REQUESTS, on_paper
from gpt2_edu.sampling import next_probabilities
from gpt2_edu.tokenizer import make_encoding
from gpt2_edu.trainer import TrainConfig

FIRST = "Turn a knob."
MARSH = "In the marsh, the crane"


@pytest.fixture(scope="module")
def crane() -> tuple[GPT2, object]:
    return GPT2.from_pretrained("crane"), load_tokenizer("crane")


WORDS = {
    "crane": {"k": (0.7, 0.7), "v": (0.5, 0.5)},
    "ate": {"k": (0.5, 0.5), "v": (0.9, 0.1)},
    "lifted": {"k": (0.5, 0.5), "v": (0.1, 0.9)},
}
SENTENCES = {"A": ("crane", "ate", "ate"), "B": ("crane", "lifted", "ate")}
LIVE = {"printed": Matrix([[1.5, -2.0]]), "first": FIRST}


@pytest.fixture
def sampling(crane) -> Sampling:
    return Sampling(*crane, **LIVE)


@pytest.fixture
def heads(crane) -> Heads:
    return Heads(*crane, text=MARSH, **LIVE)


@pytest.fixture
def patching(crane) -> Patching:
    return Patching(*crane, texts=("In the city, the crane", MARSH), **LIVE)


@pytest.fixture
def museum(crane) -> Museum:
    return Museum(*crane, text=MARSH, **LIVE)


@pytest.fixture
def arrows() -> Crane:
    return Crane(word="crane", q=(1.4, 1.3), words=WORDS, sentences=SENTENCES, **LIVE)


@pytest.fixture
def cost(crane) -> Cost:
    return Cost(crane[0].config, **LIVE)


class Asked(TorchDispatchMode):
    """Counts the operations that PyTorch is asked for."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("n_layer", [1, 2, 3])
def test_a_step_asks_as_often_as_the_lab_assumes(n_layer):
    sizes = {"vocab_size": 11, "block_size": 16, "n_head": 2, "n_embd": 8, "n_layer": n_layer}
    model = GPT2(GPT2Config(**sizes, embd_pdrop=0, attn_pdrop=0, resid_pdrop=0))
    rows = torch.zeros(2, 9, dtype=torch.long)
    cache = model.make_cache(batch_size=2)
    with torch.no_grad():
        model(rows, cache=cache)
        with Asked() as write:
            model(rows[:, :1], cache=cache)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(2):  # the first step also makes the averages
        with Asked() as train:
            model(rows, rows)[1].backward()
            optimizer.step()
            optimizer.zero_grad()
    for job, asked in (("write", write), ("train", train)):
        outside, each = REQUESTS[job]
        assert asked.count == outside + each * n_layer


def test_the_limits_of_a_listed_device_are_those_of_its_data_sheet():
    requests, traffic, arithmetic = on_paper("gpt2-xl", "write", 1, 256, "float16", "L4")
    assert requests == pytest.approx(1e3 * 5e-6 * (15 + 48 * 39))
    slower = on_paper("gpt2-xl", "write", 1, 256, "float16", "T4")
    assert traffic > slower[1] > slower[2] > arithmetic  # its memory is slower, its arithmetic not
    with pytest.raises(ValueError, match="no data sheet of a T5"):
        on_paper("gpt2", "write", 1, 1, "float16", "T5")


@pytest.mark.thorough
def test_a_lab_of_ones_own_needs_a_model_and_a_text_only():
    ranks = train_bpe(["the crane ate the fish in the marsh"], 270)
    encoding = make_encoding("own", ranks)
    model = GPT2(GPT2Config(vocab_size=270, block_size=64, n_layer=1, n_head=2, n_embd=8)).eval()
    for one in (
        Sampling(model, encoding, text="the fish"),
        Heads(model, encoding, text="the fish"),
        Museum(model, encoding, text="the fish"),
        Patching(model, encoding, texts=("the fish", "the crane")),
        Cost(model.config),
    ):
        assert "gpt2-" not in one.html() and "Run this cell in Jupyter" in one.html()
        shown = one.panel().children[2].value
        assert "figure" in shown or "table" in shown


def test_every_control_of_every_lab_changes_something(
    sampling, heads, patching, museum, arrows, cost, monkeypatch
):
    monkeypatch.setattr("gpt2_edu.labs.cost.measured", lambda precision: (1e9, 1e9))
    changes = {
        "giver": "By the river, the crane",
        "taker": "By the river, the crane",
        "stage": "h.2.resid_post",
        "back": 3,
        "bug": "mask after softmax",
        "sentence": "B",
        "vector": "value of ate",
        "x": -1.0,
        "y": -1.0,
        "mask": True,
        "device": "H200",
        "job": "train",
        "precision": "bfloat16",
        "batch": 64,
        "T": 7,
        "prompt": "In the city, the crane",
        "temperature": 2.0,
        "top_k": 2,
        "top_p": 0.5,
        "min_p": 0.5,
        "new_tokens": 3,
        "texts": 1,
        "seed": 7,
        "text": "In the city, the crane",
        "layer": 1,
        "cut": ("1.0", "1.2"),
    }
    for one in (sampling, heads, patching, museum, arrows, cost):
        assert one.html().startswith(f"<gpt2-{one.kind} ")
        one.panel()
        for name, widget in one.widgets.items():
            if name == "vector":
                continue  # chooses what x and y move
            before = one.shown.value
            first, widget.value = widget.value, changes[name]
            assert one.shown.value != before, name
            widget.value = first
            assert one.shown.value == before, name


def test_sampling_shows_what_the_package_draws(sampling, crane):
    model, encoding = crane
    knobs = {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "min_p": 0.1}
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


def test_sampling_begins_with_what_the_model_predicts(sampling, crane):
    model, encoding = crane
    values = {name: widget.value for name, widget in sampling.controls().items()}
    bars, *_ = sampling.show(**values)
    idx = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(values["prompt"])]])
    expected = model(idx)[0][0, -1].softmax(dim=-1).topk(6).values
    assert list(bars.now.values()) == pytest.approx(expected.tolist())


def test_long_prompt_is_reported_and_text_is_no_markup(crane):
    sampling = Sampling(*crane, text="One windy morning,", **LIVE)
    sampling.panel()
    assert "One windy morning," in sampling.shown.value
    before, prompt = sampling.shown.value, sampling.widgets["prompt"]
    prompt.value = "crane " * 200
    assert "window of 128" in sampling.status.value
    assert sampling.shown.value == before
    prompt.value = "<img src=x>"
    assert sampling.status.value == ""
    assert "<img" not in sampling.shown.value


def test_heads_that_are_cut_give_zeros(heads, crane):
    model, encoding = crane
    idx = torch.tensor([[encoding.eot_token, *encoding.encode_ordinary(MARSH)]])
    with trace(model, edits=heads.cutting(("1.0", "1.2", "2.3"))) as t, torch.no_grad():
        model(idx)
    for n, cut in ((0, []), (1, [0, 2]), (2, [3])):
        sizes = t[f"transformer.h.{n}.attn.heads"][0].abs().amax(dim=(1, 2))
        assert [h for h in range(4) if sizes[h] == 0] == cut


def test_shows_widgets_in_a_live_kernel_and_else_the_page(sampling, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    monkeypatch.setattr(lab, "in_live_kernel", lambda: True)
    sampling._ipython_display_()
    assert isinstance(shown[0], widgets.VBox)
    monkeypatch.setattr(lab, "in_live_kernel", lambda: False)
    with pytest.raises(NotImplementedError):  # which lets IPython go on to the HTML
        sampling._ipython_display_()
    assert sampling._repr_html_().startswith('<gpt2-sampling class="g2-live"')


def test_a_vector_at_the_last_stage_brings_its_own_prediction_along(patching, crane):
    model, encoding = crane
    city, marsh = patching.texts
    bars, sentence = patching.show(giver=city, taker=marsh, stage="h.2.resid_post", back=1)
    rows = [[encoding.eot_token, *encoding.encode_ordinary(t)] for t in (city, marsh)]
    with torch.no_grad():
        theirs, own = (
            next_probabilities(model(torch.tensor([row]))[0][:, -1])[0].max() for row in rows
        )
    assert max(bars.now.values()) == pytest.approx(float(theirs), abs=1e-5)
    assert max(bars.before.values()) <= float(own) + 1e-5
    assert sentence == "h.2.resid_post at ␣crane of the first text stands at ␣crane of the second."


def test_the_museum_shows_code_and_damage_and_leaves_the_model_alone(museum, crane):
    before = [p.clone() for p in crane[0].parameters()]
    for bug in museum.controls()["bug"].options:
        code, *rest = museum.show(bug=bug, text=MARSH, layer=1)
        assert code.startswith("right ") and rest
    assert all(torch.equal(a, b) for a, b in zip(before, crane[0].parameters(), strict=True))


def test_a_value_moves_no_share_and_the_sliders_follow_the_vector(arrows):
    arrows.panel()
    table, _ = arrows.shown.value.split("</figure>")
    arrows.widgets["vector"].value = "value of ate"
    assert (arrows.widgets["x"].value, arrows.widgets["y"].value) == (0.9, 0.1)
    arrows.widgets["x"].value = -2.0
    after, sentence = arrows.shown.value.split("</figure>")
    assert after == table and "(-" in sentence
    arrows.widgets["vector"].value = "query of crane"
    assert (arrows.widgets["x"].value, arrows.widgets["y"].value) == (1.4, 1.3)
    arrows.widgets["mask"].value = True
    assert "ate" in table and "ate" not in arrows.shown.value


def test_a_data_sheet_without_a_figure_says_so(cost):
    with pytest.raises(ValueError, match="T4 has no figure for bfloat16"):
        list(cost.show(device="T4", job="write", precision="bfloat16", batch=1, T=8))


@pytest.fixture
def training(tmp_path) -> Training:
    shards = str(tmp_path / "shards")
    config = TrainConfig(
        data=shards,
        out=str(tmp_path / "run"),
        model="crane",
        n_layer=1,
        n_head=2,
        n_embd=16,
        block_size=32,
        steps=9,
        warmup_steps=5,
        batch_size=4,
        log_every=1,
        eval_every=0,
        device="cpu",
        quiet=True,
    )
    more = {"text": MARSH, "floor": 0.47, "source": "crane:60"}
    return Training(config, load_tokenizer("crane"), **more, **LIVE)


@pytest.mark.thorough
def test_a_run_is_started_stopped_and_resumed_from_its_buttons(training, monkeypatch):
    training.panel()
    heard = training.hear

    def stop_at_five(row):
        heard(row)
        if row["step"] == 5:
            training.widgets["end"].click()

    monkeypatch.setattr(training, "hear", stop_at_five)
    training.widgets["begin"].click()
    training.widgets["begin"].click()  # a second click begins no second run
    training.thread.join(60)
    assert "It is stopped, and can go on: step 6 of 9" in training.status.value
    assert "Step 6 of 9" in training.shown.value and "<svg" in training.shown.value
    assert ">floor</text>" in training.shown.value
    again = Training(training.config, training.encoding, text=MARSH, **LIVE)
    again.panel()
    assert "Step 6 of 9" in again.shown.value  # what was is shown before it goes on
    again.widgets["begin"].click()
    again.thread.join(120)
    assert "It is finished: step 9 of 9" in again.status.value
    assert [row["step"] for row in again.rows if "loss" in row] == list(range(1, 10))


def test_a_run_that_cannot_begin_says_why(training):
    training.config, training.source = replace(training.config, data="nowhere"), None
    training.panel()
    training.widgets["begin"].click()
    training.thread.join(60)
    assert "nowhere" in training.status.value
    training.run(Mock(train=Mock(side_effect=MemoryError)))  # which has no message
    assert "MemoryError" in training.status.value
