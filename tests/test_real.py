"""Cells that fetch OpenAI's weights: run against a stand-in for the hub, with weights made here."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.hub import PUBLISHED
from gpt2_edu.machine.files import file_sha256
from gpt2_site import make_real
from gpt2_site.chapters import find
from tests.stand_in_hub import StandInHub

pytestmark = pytest.mark.slow

# What a kernel runs first: the digests of the weights that the stand-in serves.
STARTUP = """\
from gpt2_edu import hub
hub.PUBLISHED["gpt2"] = hub.Published({repo!r}, {commit!r}, {digests!r})
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Kernels that start now find a stand-in where the hub would be."""
    weights = tmp_path / "weights"
    GPT2(GPT2Config(n_layer=2, n_head=2, n_embd=8)).save_pretrained(weights)
    published = PUBLISHED["gpt2"]
    digests = {file.name: file_sha256(file) for file in weights.iterdir()}
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "stand_in.py").write_text(
        STARTUP.format(repo=published.repo, commit=published.commit, digests=digests)
    )
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with StandInHub() as hub:
        hub.publish(published.repo, published.commit, weights)
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


CELL = """\
encoding = load_tokenizer("gpt2")
hello = encoding.encode("Hello, I'm a language model,")
gpt2 = GPT2.from_pretrained("gpt2")
five = generate(gpt2, torch.tensor([hello]).repeat(5, 1), 22, top_k=50)
for row in five.tolist():
    print(">", encoding.decode(row))
"""


IMPORTS = "import torch\nfrom gpt2_edu import GPT2, generate, load_tokenizer"


def short(folder: Path, imports: str, real: str) -> Path:
    """A notebook with one real cell, behind what it imports."""
    nb = nbformat.v4.new_notebook()
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    tags = ["nbval-skip", "raises-exception", "real", "skip-execution"]
    nb.cells = [
        nbformat.v4.new_code_cell(imports),
        nbformat.v4.new_code_cell(real, metadata={"tags": tags}),
    ]
    make_real.store(nb, folder / "real.ipynb")
    return folder / "real.ipynb"


def test_all_such_cells_are_known():
    names = [path.stem for path in make_real.notebooks_with_real_cells()]
    assert names == [find("weights").name]


@pytest.mark.thorough
def test_a_real_cell_records_when_and_where_it_ran(stand_in, tmp_path):
    path = short(tmp_path, IMPORTS, CELL)
    where = make_real.run(path)
    (cell,) = filter(make_real.is_real, nbformat.read(path, as_version=4).cells)
    assert cell.metadata["real"] == where and where["on"].startswith("20")
    assert "PyTorch" in where["versions"] and where["machine"]
    assert cell.outputs[0].text.count("> Hello, I'm a language model,") == 5
    assert {"real", "skip-execution"} <= set(cell.metadata.tags), "it is not run with the others"


def test_a_real_cell_that_fails_leaves_the_notebook_as_it_was(tmp_path):
    path = short(tmp_path, "", "print('begun')\nraise OSError('the hub is away')")
    before = path.read_bytes()
    with pytest.raises(CellExecutionError, match="the hub is away"):
        make_real.run(path)
    assert path.read_bytes() == before
