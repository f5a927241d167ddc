"""A model that was trained by the page's code is the same model in Python and in transformers."""

from __future__ import annotations

import base64
import json
import math
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from gpt2_edu import GPT2, GPT2Config, crane, load_tokenizer
from gpt2_edu.bpe import train_bpe
from gpt2_edu.cli import main
from gpt2_edu.exercises import my_gpt2
from gpt2_edu.tokenizer import header_texts, make_encoding
from gpt2_edu.web import save_for_page
from tests.node import ask

# Every kind of piece: contractions, digits, white space of all sorts, bytes that are no Latin-1.
TEXT = "Über dem Moor hob   der Kran 🏗 1,234 Kraniche.\n\n\tIt's they'll\u00a0\u3000x \r\n ال"
NO_DROPOUT = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
SIZES = {"vocab_size": 400, "block_size": 11, "n_layer": 2, "n_head": 3, "n_embd": 21}
CONFIG = GPT2Config(**SIZES, **NO_DROPOUT, initializer_range=0.1)
PROMPTS = [[399], [5, 3, 398, 0, 7], list(range(11))]


TRAINED = """
async ([address, text, prompts]) => {
  for (const name of ["gpt2", "runs"]) {
    const script = document.createElement("script");
    script.src = `${address}/gpt2_edu/exhibits/static/${name}.js`;
    await new Promise((resolve) => {
      script.onload = resolve;
      document.head.append(script);
    });
  }
  const settings = { steps: 30, lr: 0.01, minLr: 0.001, warmupSteps: 5 };
  const model = { nLayer: 1, nHead: 2, nEmbd: 16, T: 16 };
  const whole = text.repeat(200);
  const data = { kind: "text", unit: "characters", vocabSize: 256, text: whole };
  const plan = { version: 1, name: "My text", seed: 3, model, batch: 4, std: 0.1, settings };
  const losses = [];
  const run = await new Promise(async (done) => {
    const report = ({ loss }) => losses.push(loss);
    const on = { report, done: () => done(run) };
    const run = await gpt2Runs.start({ ...plan, switches: {}, workers: 2, data }, null, on);
    await run.go();
  });
  const files = await gpt2Runs.filesOf(await run.weights());
  const saved = {};
  for (const file of [gpt2Runs.download(files), await gpt2Runs.folderOf(files)]) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    saved[file.name] = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }
  const engine = gpt2.startEngine(); // that of every exhibit
  await engine.load("mine", files);
  const answers = [];
  for (const ids of prompts) answers.push([ids, [...(await engine.run("mine", { ids })).logits]]);
  const tokenizer = await gpt2.unpackTokenizer(files.merges);
  return { saved, losses, answers, ids: tokenizer.encode(text) };
}
"""


@pytest.fixture(scope="module")
def encoding():
    learned = train_bpe([TEXT * 4, *map(crane.story, range(30))], 400)
    return make_encoding("own", learned)


@pytest.fixture
def gone(make_model, encoding, tmp_path):
    """A function that saves a model for the page and lets the page train and save it."""
    model = make_model(CONFIG)
    save_for_page(model, encoding, tmp_path / "before.safetensors")

    def go(steps: int) -> tuple[GPT2, Path, Path, list[list[float]]]:
        generator = torch.Generator().manual_seed(3)
        ids = torch.randint(400, (12,), generator=generator).tolist()
        request = {"steps": steps, "ids": ids, "prompts": PROMPTS, "out": str(tmp_path)}
        found = ask("run_goes.mjs", request | {"path": str(tmp_path / "before.safetensors")})
        with zipfile.ZipFile(tmp_path / found["names"][1]) as packed:
            assert packed.testzip() is None
            assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in packed.filelist)
            packed.extractall(tmp_path / "unpacked")
        (folder,) = (tmp_path / "unpacked").iterdir()
        return model, tmp_path / found["names"][0], folder, found["logits"]

    return go


def test_there_and_back_changes_no_bit(gone, tmp_path):
    _, file, _, _ = gone(steps=0)
    before, after = load_file(tmp_path / "before.safetensors"), load_file(file)
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    old, new = header_texts(tmp_path / "before.safetensors"), header_texts(file)
    assert new["format"] == "pt"
    assert json.loads(new["gpt2-edu.config"]) == json.loads(old["gpt2-edu.config"])


def test_logits_and_ids_are_those_of_the_page_in_python(gone, encoding):
    model, file, folder, logits = gone(steps=30)
    for path in (file, folder):
        again = GPT2.from_pretrained(path)
        assert again.config == CONFIG
        for prompt, expected in zip(PROMPTS, logits, strict=True):
            found = again(torch.tensor([prompt]))[0].flatten()
            assert (found - torch.tensor(expected)).abs().max() < 1e-5
            assert (model(torch.tensor([prompt]))[0].flatten() - found).abs().max() > 0.1
        tokenizer = load_tokenizer(path)
        assert tokenizer._mergeable_ranks == encoding._mergeable_ranks
        assert tokenizer.encode_ordinary(TEXT) == encoding.encode_ordinary(TEXT)


def test_the_readers_own_gpt2_loads_the_folder_and_what_export_makes_of_the_file(
    gone, tmp_path, monkeypatch
):
    """By chapter 12's ``load``, here the book's."""
    monkeypatch.chdir(tmp_path)
    _, file, folder, logits = gone(steps=30)
    main(["export", str(file), "--out", "my-crane"])  # as book/train.md says
    for path in (folder, "my-crane"):
        mine = my_gpt2("weights").load(path).eval()
        for prompt, expected in zip(PROMPTS, logits, strict=True):
            found = mine(torch.tensor([prompt])).detach().flatten()
            assert (found - torch.tensor(expected)).abs().max() < 1e-4


def test_logits_and_ids_are_those_of_the_page_in_transformers(gone, encoding):
    transformers = pytest.importorskip("transformers")
    _, _, folder, logits = gone(steps=30)
    again = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    assert type(again).__name__ == "GPT2LMHeadModel"
    for prompt, expected in zip(PROMPTS, logits, strict=True):
        found = again(torch.tensor([prompt])).logits.detach().flatten()
        assert (found - torch.tensor(expected)).abs().max() < 1e-5
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = encoding.encode_ordinary(TEXT)
    assert len({*ids}) > 30
    assert tokenizer(TEXT)["input_ids"] == ids
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == TEXT
    assert tokenizer.eos_token_id == encoding.eot_token == again.config.eos_token_id
    written = again.generate(torch.tensor([[399]]), max_new_tokens=3, do_sample=False)
    assert tokenizer.decode(written[0])


@pytest.mark.browser
def test_what_a_reader_trains_and_saves_goes_on_in_python(browser, address, tmp_path):
    """As the page does it: by the packed scripts, in two workers, with characters as tokens."""
    page = browser.new_page()
    page.goto(f"{address}/web/package.json")
    found = page.evaluate(TRAINED, [address, TEXT, [[0], [5, 3, 265, 0, 7], list(range(250, 266))]])
    page.close()
    for name, content in found["saved"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    file = tmp_path / "my-text-30-steps.safetensors"
    with zipfile.ZipFile(tmp_path / "my-text-30-steps.zip") as packed:
        packed.extractall(tmp_path)
    model, encoding = GPT2.from_pretrained(file), load_tokenizer(file)
    theirs = pytest.importorskip("transformers").pipeline(
        "text-generation", str(tmp_path / "my-text-30-steps")
    )
    assert encoding.encode_ordinary(TEXT) == found["ids"] == theirs.tokenizer(TEXT)["input_ids"]
    for prompt, expected in found["answers"]:
        idx = torch.tensor([prompt])
        for logits in (model(idx)[0], theirs.model(idx).logits.detach()):
            assert (logits.flatten() - torch.tensor(expected)).abs().max() < 1e-5
    written = theirs("Über dem", max_new_tokens=3, do_sample=False)[0]["generated_text"]
    assert written.startswith("Über dem")
    begun = math.log(model.config.vocab_size)
    assert found["losses"][-1] < begun - 0.5
    (tmp_path / "text.txt").write_text(TEXT * 200, encoding="utf-8")
    data, run = tmp_path / "data", tmp_path / "run"
    main(f"prepare {tmp_path}/text.txt --out {data} --tokenizer {file}".split())
    settings = "--block-size 16 --batch-size 4 --steps 2 --warmup-steps 1 --eval-every 1"
    main(f"train --data {data} --out {run} --init-from {file} {settings}".split())
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in log if "loss" in line]
    assert losses[0] < begun - 0.5
