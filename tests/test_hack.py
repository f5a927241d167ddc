"""The page "Hack it": each change applies to model.py as it is printed, and what follows does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.nn import functional as F

import gpt2_edu
from gpt2_edu import GPT2, GPT2Config, fast, flops, generate, trace
from gpt2_edu.analysis.interventions import without
from tests.test_roads import NEW, ROADS, name, uncached

pytestmark = pytest.mark.slow

PACKAGE = Path(gpt2_edu.__file__).parent
PAGE = (PACKAGE.parent / "book" / "hack.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
RELU, RMS, ROTARY = [title for title, text in SECTIONS.items() if "```diff" in text]
LORA = next(title for title in SECTIONS if "LoRA" in title)
CONFIG = GPT2Config(vocab_size=101, block_size=13, n_layer=2, n_head=3, n_embd=18)  # D is even


def edited(title: str) -> str:
    """The text of model.py after the change of a section."""
    source = (PACKAGE / "model.py").read_text(encoding="utf-8")
    [diff] = re.findall(r"```diff\n(.*?)```", SECTIONS[title], re.S)
    for hunk in re.split(r"^@@.*\n", diff, flags=re.M):
        lines = hunk.splitlines()
        before, after = (
            "".join(f"{line[1:]}\n" for line in lines if line[:1] in (sign, " ", ""))
            for sign in "-+"
        )
        assert before in source, f"model.py has no longer:\n{before}"
        source = source.replace(before, after)
    return source


def imported(title: str) -> ModuleType:
    module = ModuleType("gpt2_edu.edited")
    module.__package__ = "gpt2_edu"
    exec(compile(edited(title), "model.py", "exec"), vars(module))
    sys.modules[module.__name__] = module  # where torch.compile looks for its globals
    return module


def built(title: str, make_model, seed: int = 0) -> GPT2:
    """A model of the edited file with random weights that have GPT-2's scale."""
    model = imported(title).GPT2(CONFIG).eval()
    given = make_model(CONFIG, seed).state_dict()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(given[key])
    return model


@pytest.fixture(autouse=True)
def nothing_stays_imported():
    yield
    sys.modules.pop("gpt2_edu.edited", None)


@pytest.fixture(params=[RELU, RMS, ROTARY])
def title(request) -> str:
    return request.param


@pytest.fixture
def hacked(title, make_model) -> GPT2:
    return built(title, make_model)


@pytest.fixture
def idx() -> torch.Tensor:
    return torch.randint(CONFIG.vocab_size, (5, 11))


def lora(model: GPT2) -> type:
    """The class of the page, around c_attn in each block of this model."""
    [code] = re.findall(r"```python\n(.*?)```", SECTIONS[LORA], re.S)
    page: dict = {"__name__": "page"}
    exec(code, page)
    for block in model.requires_grad_(False).transformer.h:
        block.attn.c_attn = page["LoRA"](block.attn.c_attn)
    return page["LoRA"]


@pytest.mark.parametrize("road", ROADS, ids=name)
def test_every_road_gives_the_text_of_the_changed_model(hacked, idx, road):
    assert torch.equal(road(hacked, idx[:, :4]), uncached(hacked, idx[:, :4]))


def test_a_change_is_in_the_logits(hacked, idx, make_model):
    assert not torch.allclose(hacked(idx)[0], make_model(CONFIG)(idx)[0], atol=1e-3)


def test_a_compiled_step_has_rotary_positions(make_model, idx, monkeypatch):
    monkeypatch.setattr(fast, "require_compiler", lambda device: None)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    model, prompt = built(ROTARY, make_model), idx[:, :4]
    found = generate(model, prompt, NEW, temperature=0, predict=fast.Compiled(model, len(prompt)))
    assert torch.equal(found, uncached(model, prompt))


def test_rotary_positions_depend_on_the_distance_only(make_model):
    rotate = imported(ROTARY).rotate
    q, k = torch.randn(2, 1, 1, 1, 8)
    at = partial(torch.tensor, dtype=torch.int64)

    def score(i: int, j: int) -> torch.Tensor:
        return (rotate(q, at([i])) * rotate(k, at([j]))).sum()

    torch.testing.assert_close(score(7, 3), score(104, 100))
    assert not torch.isclose(score(7, 3), score(7, 4))


def test_the_tape_has_the_tensors_of_the_changed_model(hacked, idx, title, make_model):
    with trace(hacked) as t:
        hacked(idx)
    with trace(plain := make_model(CONFIG)) as before:
        plain(idx)
    assert set(before.names) - set(t.names) == ({"pos_emb"} if title == ROTARY else set())
    with trace(hacked, edits=without(hacked, heads=[(0, 1)])) as t:
        hacked(idx)
    assert not t["transformer.h.0.attn.heads"][:, 1].any()


def test_the_changed_model_learns_a_batch(hacked, idx):
    optimizer = torch.optim.AdamW(hacked.parameters(), lr=1e-2)
    losses = []
    for _ in range(20):
        _, loss = hacked(idx, idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None for p in hacked.parameters())
    assert losses[-1] < losses[0] / 2


def test_the_formulas_do_not_know_of_a_change(hacked, title):
    C, N, window = CONFIG.n_embd, CONFIG.n_layer, CONFIG.block_size
    fewer = {RELU: 0, RMS: (2 * N + 1) * C, ROTARY: window * C}[title]
    assert flops.num_parameters(CONFIG) - hacked.num_parameters() == fewer


def test_only_weights_whose_names_still_fit_are_loaded(title):
    edited_class = imported(title).GPT2
    if title == RELU:
        assert edited_class.from_pretrained("crane").num_parameters() == 742_528
        return
    key = {RMS: r"h\.0\.ln_1\.bias", ROTARY: r"wpe\.weight"}[title]
    with pytest.raises(ValueError, match=f"not part of a GPT-2: transformer.{key}"):
        edited_class.from_pretrained("crane")


def test_a_changed_model_is_not_saved_as_a_gpt2_but_its_weights_are(hacked, tmp_path, idx):
    with pytest.raises(ValueError, match=r"gpt2_edu\.edited\.GPT2 computes other logits"):
        hacked.save_pretrained(tmp_path / "model")
    assert not [*tmp_path.iterdir()]
    torch.save(hacked.state_dict(), tmp_path / "mine.pt")
    again = type(hacked)(CONFIG).eval()
    again.load_state_dict(torch.load(tmp_path / "mine.pt"))
    assert torch.equal(again(idx)[0], hacked(idx)[0])


def test_the_files_of_a_hacker_work_with_the_commands(tmp_path):
    """A copy of the package with an edited model.py: train, resume, generate; export refuses."""
    (tmp_path / "gpt2_edu").mkdir()
    for path in PACKAGE.iterdir():
        if path.name not in ("model.py", "__pycache__"):
            (tmp_path / "gpt2_edu" / path.name).symlink_to(path)
    (tmp_path / "gpt2_edu" / "model.py").write_text(edited(ROTARY), encoding="utf-8")
    (tmp_path / "crane.txt").write_text("A crane ate fish. A crane lifted steel. " * 60)
    tiny = (
        "--n-layer 1 --n-head 2 --n-embd 8 --block-size 16 --batch-size 2 --warmup-steps 2 "
        "--eval-every 2 --sample-every 0 --precision float32 --device cpu"
    )
    commands = f"""
prepare crane.txt --out data --tokenizer crane --workers 1
train --data data --out run --steps 4 {tiny}
train --out run --resume
generate crane --model run --max-new-tokens 3
export run --out mine.safetensors --page
"""
    code = f"""
from gpt2_edu.cli import main
from gpt2_edu.training import proposal
proposal.training_rate = lambda *device: 1e9  # measuring takes seconds
for line in {commands.strip()!r}.splitlines():
    main(line.split())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "gpt2_edu.model.GPT2 computes other logits" in done.stderr, done.stderr
    assert "\ncrane" in done.stdout and not (tmp_path / "mine.safetensors").exists()


# ---- LoRA ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS, ids=name)
def test_a_lora_learns_on_every_road_and_merges_into_a_gpt2(make_model, idx, road, tmp_path):
    model = make_model(CONFIG)
    before, names = model(idx)[0], list(model.state_dict())
    kind = lora(model)
    assert torch.equal(model(idx)[0], before)
    learning = [p for p in model.parameters() if p.requires_grad]
    assert len(learning) == 2 * CONFIG.n_layer
    optimizer = torch.optim.AdamW(learning, lr=1e-2)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(idx)[0].flatten(0, 1), idx.flatten()).backward()
        optimizer.step()
    after = model(idx)[0].detach()
    assert not torch.allclose(after, before, atol=1e-2)
    assert torch.equal(road(model, idx[:, :4]), uncached(model, idx[:, :4]))
    with trace(model) as t:
        model(idx)
    assert "transformer.h.0.attn.q" in t and not any("c_attn" in path for path in t)
    with pytest.raises(ValueError, match=r"h\.0\.attn\.c_attn has code of its own \(LoRA\)"):
        model.save_pretrained(tmp_path / "model")

    for block in model.transformer.h:
        assert isinstance(block.attn.c_attn, kind)
        block.attn.c_attn = block.attn.c_attn.merged()
    assert list(model.state_dict()) == names
    model.save_pretrained(tmp_path / "model")
    again = GPT2.from_pretrained(tmp_path / "model")
    torch.testing.assert_close(again(idx)[0], after, atol=1e-4, rtol=1e-4)


def test_the_page_counts_what_a_lora_of_the_small_model_learns():
    model = GPT2.from_pretrained("crane")
    lora(model)
    learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert f"# {learning} of {model.num_parameters():,}" in SECTIONS[LORA]
