"""Files and folders that a reader drops or chooses, as Chromium gives them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch

import gpt2_edu
from gpt2_edu.quantize import quantize

pytestmark = pytest.mark.browser
CRANE = Path(gpt2_edu.__file__).parent / "assets" / "crane"

SETUP = """
async () => {
  const { Engine } = await import("/web/client.mjs");
  const files = await import("/web/exhibits/files.mjs");
  window.engine = new Engine(new Worker("/web/worker.mjs", { type: "module" }));
  window.found = null; // what was made of the last choice
  const say = (promise) => {
    window.found = promise.then(
      async ({ name, ...files }) => ({ name, ...(await engine.load("theirs", files)) }),
      (error) => error.message,
    );
  };
  for (const attribute of ["multiple", "webkitdirectory"]) {
    const input = document.createElement("input");
    input.type = "file";
    input.id = attribute;
    input[attribute] = true;
    input.onchange = () => say(files.modelFromFiles(input.files));
    document.body.append(input);
  }
  document.body.ondragover = (event) => event.preventDefault();
  document.body.ondrop = (event) => {
    event.preventDefault();
    say(files.modelFromDrop(event.dataTransfer));
  };
}
"""

# What is chosen next is not read; afterwards all is as before, for whatever test comes next.
KEEP = """() => {
  const before = multiple.onchange;
  multiple.onchange = () => {
    window.kept = [...multiple.files];
    multiple.onchange = before;
  };
}
"""


@pytest.fixture(scope="module")
def page(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/gpt2_edu/assets/crane/config.json")
    page.evaluate(SETUP)
    yield page
    page.close()


def copied(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ("config.json", "model.safetensors"):
        shutil.copy(CRANE / name, folder)
    return folder


def drop(page, *paths: Path) -> object:
    """A drop as the browser makes it from files and folders of the disk."""
    devtools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 100, "y": 20, "data": data}
        devtools.send("Input.dispatchDragEvent", event)
    return page.evaluate("found")


def test_files_and_folders_that_are_dropped_run(page, tmp_path):
    folder = copied(tmp_path / "my-crane")
    loose = drop(page, folder / "model.safetensors", folder / "config.json")
    assert (loose["name"], loose["config"]["nHead"]) == ("model", 4)
    assert drop(page, folder)["name"] == "my-crane"
    assert drop(page, copied(tmp_path / "runs/first/step-5"))["name"] == "step-5"
    assert drop(page, tmp_path / "runs")["name"] == "runs/first/step-5"


def test_files_and_folders_that_are_chosen_run(page, tmp_path):
    folder = copied(tmp_path / "my-crane")
    page.set_input_files("#multiple", [folder / "config.json", folder / "model.safetensors"])
    assert page.evaluate("found")["name"] == "model"
    page.set_input_files("#webkitdirectory", folder)
    assert page.evaluate("found")["name"] == "my-crane"


@pytest.mark.thorough
@pytest.mark.parametrize(("bits", "group"), [(8, None), (4, 32)])
def test_a_folder_of_integers_runs(page, tmp_path, bits, group):
    model = quantize(gpt2_edu.GPT2.from_pretrained("crane"), bits, group)
    model.save_pretrained(tmp_path / "small")
    assert drop(page, tmp_path / "small")["config"]["rounding"] == {"bits": bits, "group": group}
    ids = [1023, 258, 483, 5]
    run = "ids => engine.run('theirs', { ids }).then(({ logits }) => [...logits])"
    found = torch.tensor(page.evaluate(run, ids))
    assert (found - model(torch.tensor([ids]))[0].flatten()).abs().max() < 1e-4


@pytest.mark.thorough
def test_a_folder_of_many_files_is_read_in_all_its_batches(page, tmp_path):
    folder = copied(tmp_path / "many")
    for i in range(250):  # more than the browser lists at once
        (folder / f"a{i}.txt").touch()
    assert drop(page, folder)["name"] == "many"
    for i in range(1000):
        (folder / f"b{i}.txt").touch()
    assert "That is more than 1000 files: choose a folder with config.json" in drop(page, folder)


def test_what_is_gone_before_it_is_read(page, tmp_path):
    folder = copied(tmp_path / "gone")
    page.set_input_files("#multiple", [])
    page.evaluate(KEEP)
    page.set_input_files("#multiple", [folder / "config.json", folder / "model.safetensors"])
    assert min(page.evaluate("kept.map((file) => file.lastModified)")) > 0  # known from now on
    changed = folder / "model.safetensors"
    changed.write_bytes(b"another file")
    os.utime(changed, (0, 0))  # browsers compare whole seconds, and all this takes less than one
    said = page.evaluate(
        "import('/web/exhibits/files.mjs')"
        ".then((f) => f.modelFromFiles(kept)).catch((e) => e.message)"
    )
    assert "model.safetensors cannot be read: is it still there" in said


def test_text_that_is_dropped_is_no_model(page):
    said = page.evaluate(
        """async () => {
          const transfer = new DataTransfer();
          transfer.setData("text/plain", "hello");
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
          return found;
        }"""
    )
    assert "There is no model in this" in said
