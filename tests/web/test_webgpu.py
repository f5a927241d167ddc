"""The GPT-2 of the page on a graphics device, which Chromium imitates: PyTorch's numbers."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config, crane, generate, load_tokenizer
from tests.web.conftest import Quiet
from tests.web.test_model import ODD, SWITCHES, compare, expected, halved, numbers, switched

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
IMITATED = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
WIDE = GPT2Config(vocab_size=503, block_size=32, n_layer=2)

PASSES = """
async ({ folder, request }) => {
  const { passes } = await import("/tests/web/passes.mjs");
  const { inMemory } = await import("/gpt2_edu/web/load.mjs");
  const get = (name) => fetch(`/saved/${folder}/${name}`);
  const config = await get("config.json").then((r) => r.text());
  const bytes = await get("model.safetensors").then((r) => r.arrayBuffer());
  return passes(request, config, inMemory(new Uint8Array(bytes)));
}
"""

# What the following scripts share: an engine in the page itself, so that they reach its devices.
ENGINE = """
async (given) => {
  const { Engine } = await import("/gpt2_edu/web/client.mjs");
  const { Host } = await import("/gpt2_edu/web/host.mjs");
  const { inMemory } = await import("/gpt2_edu/web/load.mjs");
  const { pickBackend } = await import("/gpt2_edu/web/backend.mjs");
  const get = (name) => fetch(`/gpt2_edu/assets/crane/${name}`);
  const config = await get("config.json").then((r) => r.text());
  const bytes = await get("model.safetensors").then((r) => r.arrayBuffer());
  const weights = inMemory(new Uint8Array(bytes));
  const port = { postMessage: (message) => host.receive(message) };
  const host = new Host((data) => port.onmessage({ data }));
  const engine = new Engine(port);
  const load = (name, backend) => engine.load(name, { config, weights, backend }).then(
    (info) => info.backend, (error) => error.message);
  const run = (name) => engine.run(name, { ids: [1, 2, 3], lastOnly: true }).then(
    ({ logits }) => [...logits], (error) => error.message);
  const texts = (name, prompts, onToken) => Promise.all(prompts.map((ids) =>
    engine.stream(name, { ids, n: 20, settings: { temperature: 0 } }, onToken).answer.then(
      (result) => result.ids, (error) => error.message)));
  SCRIPT
}
"""


class Files(Quiet):
    """The project's files, and the saved models of the tests."""

    def __init__(self, *args, saved: Path, **more):
        self.saved = saved
        super().__init__(*args, directory=str(ROOT), **more)

    def translate_path(self, path: str) -> str:
        if path.startswith("/saved/"):
            return str(self.saved / path.removeprefix("/saved/"))
        return super().translate_path(path)


@pytest.fixture(scope="module")
def open_page(tmp_path_factory, chromium):
    """Pages of Chromium with some flags."""
    files = partial(Files, saved=tmp_path_factory.getbasetemp())
    server = ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browsers = []

    def start(*flags: str):
        browsers.append(chromium(*flags))
        page = browsers[-1].new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/gpt2_edu/web/config.mjs")
        return page

    yield start
    for browser in browsers:
        browser.close()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def page(open_page):
    return open_page(*IMITATED)


@pytest.fixture(scope="module")
def gpu(page, tmp_path_factory):
    """What `node` is for run_model.mjs, in the page."""

    def run(_: str, request: dict) -> dict:
        folder = Path(request["folder"]).relative_to(tmp_path_factory.getbasetemp())
        return json.loads(page.evaluate(PASSES, {"folder": str(folder), "request": request}))

    return run


def engine(page, script: str, given: object = None):
    return page.evaluate(ENGINE.replace("SCRIPT", script), given)


def test_every_tensor_of_the_bundled_model_is_pytorchs(gpu, folder):
    model = GPT2.from_pretrained("crane").eval()
    compare(gpu, folder, model, [[1023, 32, 400, 500, 7, 8, 9]], "webgpu", atol=1e-4)


@pytest.mark.parametrize("chunks", [[[3, 1, 4, 1, 5, 9, 2]], [[3, 1, 4], [1], [5, 9, 2], [6] * 6]])
@pytest.mark.parametrize("last", [False, True])
def test_sizes_that_divide_by_nothing_with_and_without_a_cache(
    gpu, folder, make_model, chunks, last
):
    cached = len(chunks) > 1
    compare(gpu, folder, make_model(ODD), chunks, "webgpu", cached=cached, lastOnly=last)


@pytest.mark.parametrize("chunks", [[list(range(17))], [[5, 6, 7], [8]]])
def test_widths_of_the_published_model(gpu, folder, make_model, chunks):
    cached = len(chunks) > 1
    compare(gpu, folder, make_model(WIDE), chunks, "webgpu", cached=cached, atol=1e-4)


@pytest.mark.parametrize("config", [ODD, WIDE])
def test_float16_weights_are_rounded_and_nothing_else(gpu, folder, make_model, config):
    model = halved(make_model(config))
    compare(gpu, folder, model, [[3, 1, 4], [9]], "webgpu-half", cached=True, atol=1e-4)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_does_what_the_edit_in_python_does(gpu, folder, make_model, name):
    compare(gpu, folder, make_model(ODD), [[5, 6, 7, 8]], "webgpu", **switched(name))


@pytest.mark.parametrize("switch", ["mask", "scale", "layerNorm"])
def test_without_a_part_it_is_what_plain_javascript_gives(gpu, node, folder, make_model, switch):
    request = {"folder": folder(make_model(ODD)), "chunks": [[5, 6, 7, 8]], "record": True}
    request["switches"] = {switch: False}
    (got,) = gpu("", request | {"backend": "webgpu"})["passes"]
    (plain,) = node("run_model.mjs", request)["passes"]
    for a, b in zip(got["noted"], plain["noted"], strict=True):
        values = [[float(value) for value in entry["values"]] for entry in (a, b)]
        assert values[0] == pytest.approx(values[1], abs=1e-4), a["path"]


def test_an_edit_changes_what_follows_as_in_python(gpu, folder, make_model):
    paths = ["tok_emb", "transformer.h.0.attn.k", "transformer.h.1.attn.weights"]
    paths += ["transformer.h.0.mlp.act", "transformer.h.1.resid_post"]
    request = {"chunks": [[5, 6, 7]], "backend": "webgpu", "record": True}
    request["edits"] = {path: {"scale": 2.5} for path in paths}
    model = make_model(ODD)
    (passed,) = gpu("", {"folder": folder(model)} | request)["passes"]
    edits = {path: lambda x: 2.5 * x for path in paths}
    ((_, tensors),) = expected(model, [[5, 6, 7]], edits=edits)
    for entry in passed["noted"]:
        torch.testing.assert_close(
            numbers(entry), tensors[entry["path"]][1], atol=1e-4, rtol=1e-4, msg=entry["path"]
        )


def prompts(n: int) -> list[list[int]]:
    encoding = load_tokenizer("crane")
    stories = [[encoding.eot_token, *encoding.encode_ordinary(crane.story(n))] for n in range(n)]
    return [ids[: 3 + 11 * n] for n, ids in enumerate(stories)]


def test_greedy_texts_are_pythons(page):
    script = "return [await load('a', 'webgpu'), ...(await texts('a', given))];"
    name, *found = engine(page, script, prompts(8))
    model = GPT2.from_pretrained("crane").eval()
    assert name == "WebGPU"
    for ids, text in zip(prompts(8), found, strict=True):
        expected_ = generate(model, torch.tensor([ids]), 20, temperature=0)[0, len(ids) :]
        assert text == expected_.tolist()
