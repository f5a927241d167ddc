"""The GPT-2 of the page on a graphics device, which Chromium imitates: PyTorch's numbers."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from benchmarks.chromium import Quiet
from gpt2_edu import GPT2, GPT2Config, crane, generate, load_tokenizer
from tests.web.test_model import ODD, SWITCHES, compare, expected, halved, numbers, switched

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
IMITATED = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
WIDE = GPT2Config(vocab_size=503, block_size=32, n_layer=2)

PASSES = """
async ({ folder, request }) => {
  const { passes } = await import("/tests/web/passes.mjs");
  const { inMemory } = await import("/web/load.mjs");
  const get = (name) => fetch(`/saved/${folder}/${name}`);
  const config = await get("config.json").then((r) => r.text());
  const bytes = await get("model.safetensors").then((r) => r.arrayBuffer());
  const { pickBackend } = await import("/web/backend.mjs");
  const started = (window.started ??= {}); // its kernels are compiled once for all tests
  const pick = async (name) => (started[name] ??= await pickBackend(name));
  return passes(request, config, inMemory(new Uint8Array(bytes)), pick);
}
"""

# What further scripts share: an engine in the page itself, so that they reach its devices.
ENGINE = """
async (given) => {
  const { Engine } = await import("/web/client.mjs");
  const { Host } = await import("/web/host.mjs");
  const { inMemory } = await import("/web/load.mjs");
  const { pickBackend } = await import("/web/backend.mjs");
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
  const text = (name, ids, onToken) =>
    engine.stream(name, { ids, n: 20, settings: { temperature: 0 } }, onToken).answer.then(
      (result) => result.ids, (error) => error.message);
  %s
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
        page.goto(f"http://127.0.0.1:{server.server_port}/web/config.mjs")
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


def test_widths_of_the_published_model(gpu, folder, make_model):
    chunks = [[5, 6, 7, 8, 9, 10], [8]]
    compare(gpu, folder, make_model(WIDE), chunks, "webgpu", cached=True, atol=1e-4)


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


def prompts() -> list[list[int]]:
    """Three stories' beginnings; one of them is read in two pieces."""
    encoding = load_tokenizer("crane")
    stories = [[encoding.eot_token, *encoding.encode_ordinary(crane.story(n))] for n in range(3)]
    return [ids[:n] for ids, n in zip(stories, (3, 20, 70), strict=True)]


def test_greedy_texts_are_pythons_in_a_worker_too(page):
    in_worker = """
      const worker = new Worker("/web/worker.mjs", { type: "module" });
      const far = new Engine(worker);
      const info = await far.load("a", { config, weights: bytes, backend: "webgpu" });
      const settings = { temperature: 0 };
      const texts = await Promise.all(given.map((ids) =>
        far.stream("a", { ids, n: 8, settings }).answer.then((result) => result.ids)));
      worker.terminate();
      return [info.backend, ...texts];
    """
    name, *found = page.evaluate(ENGINE % in_worker, prompts())
    model = GPT2.from_pretrained("crane").eval()
    assert name == "WebGPU"
    for ids, text in zip(prompts(), found, strict=True):
        whole = generate(model, torch.tensor([ids]), 8, temperature=0)
        assert text == whole[0, len(ids) :].tolist()


def test_a_lost_device_is_told_and_the_other_models_answer(page):
    found = page.evaluate(
        ENGINE
        % """
      const names = [];
      for (const name of ["a", "b", "other"]) names.push(await load(name, "webgpu"));
      names.push(await load("wasm", "wasm"));
      const before = await run("other");
      const destroy = (name) => host.models.get(name).backend.device.destroy();
      let tokens = 0;
      const lost = [await text("a", [1], () => { if (++tokens === 3) destroy("a"); })];
      lost.push(await run("a"), await text("a", [1]));
      const map = GPUBuffer.prototype.mapAsync;
      GPUBuffer.prototype.mapAsync = function (mode) {
        const pending = map.call(this, mode);
        destroy("b");
        return pending;
      };
      lost.push(await run("b"));
      GPUBuffer.prototype.mapAsync = map;
      const others = [await run("other"), await run("wasm")];
      const again = [await load("a", "webgpu"), await run("a")];
      return { names, before, tokens, lost, others, again };
    """
    )
    assert found["names"] == ["WebGPU", "WebGPU", "WebGPU", "WebAssembly"]
    said = "the graphics device was lost: load the model again, or choose WebAssembly"
    assert found["lost"] == [said] * 4
    assert found["tokens"] == 3
    assert found["others"][0] == found["before"]
    assert found["others"][1] == pytest.approx(found["before"], abs=1e-4)
    assert found["again"] == ["WebGPU", found["before"]]


def test_without_memory_the_model_that_was_there_is_still_there(page):
    found = page.evaluate(
        ENGINE
        % """
      const pop = GPUDevice.prototype.popErrorScope;
      const failing = (after) => {
        GPUDevice.prototype.popErrorScope = async function () {
          const error = await pop.call(this);
          return after-- === 0 ? new GPUOutOfMemoryError("none left") : error;
        };
      };
      const found = { name: await load("a", "webgpu"), before: await run("a") };
      failing(10);
      found.refused = await load("a", "webgpu");
      failing(0);
      const map = GPUBuffer.prototype.mapAsync;
      GPUBuffer.prototype.mapAsync = () => Promise.reject(new Error("there is no such buffer"));
      found.pass = await run("a");
      GPUBuffer.prototype.mapAsync = map;
      GPUDevice.prototype.popErrorScope = pop;
      return { ...found, after: await run("a") };
    """
    )
    said = "the graphics device has no memory left: choose WebAssembly, or a smaller model"
    assert found["name"] == "WebGPU"
    assert found["refused"] == found["pass"] == said
    assert len(found["before"]) == 1024
    assert found["after"] == found["before"]


def test_a_table_too_large_for_the_device_is_halved_or_refused(page):
    found = page.evaluate(
        ENGINE
        % """
      const limits = GPUSupportedLimits.prototype;
      const own = Object.getOwnPropertyDescriptor(limits, "maxStorageBufferBindingSize");
      const answers = [];
      for (const largest of [400e3, 100e3]) {
        const get = () => largest;
        Object.defineProperty(limits, "maxStorageBufferBindingSize", { ...own, get });
        answers.push(await load("a", "webgpu"));
      }
      Object.defineProperty(limits, "maxStorageBufferBindingSize", own);
      return [...answers, await text("a", [1023])];
    """
    )
    assert found[0] == "WebGPU, float16 weights"
    assert "more than the 0.1 MB that this graphics device takes at once" in found[1]
    assert len(found[2]) == 20


HALF = "WebAssembly, float16 weights"
AUTO = """
  const name = (config) => pickBackend("auto", config).then((backend) => backend.name);
  const small = { vocabSize: 1024, blockSize: 128, nLayer: 3, nEmbd: 128 };
  const large = { vocabSize: 50257, blockSize: 1024, nLayer: 12, nEmbd: 768 };
  const names = [await name(small), await name(large)];
"""


def test_a_large_model_goes_to_a_real_graphics_device(page):
    real = """
      const { prototype } = GPUAdapterInfo;
      const own = Object.getOwnPropertyDescriptor(prototype, "isFallbackAdapter");
      Object.defineProperty(prototype, "isFallbackAdapter", { ...own, get: () => false });
      names.push(await name(small), await name(large));
      Object.defineProperty(prototype, "isFallbackAdapter", own);
      return names;
    """
    names = page.evaluate(ENGINE % (AUTO + real))
    assert names == ["WebAssembly", HALF, "WebAssembly", "WebGPU"]


def test_without_a_graphics_device_it_is_told_what_to_choose(open_page):
    page = open_page()
    assert page.evaluate(ENGINE % (AUTO + "return names;")) == ["WebAssembly", HALF]
    said = "this browser offers no graphics device: use WebAssembly"
    assert page.evaluate(ENGINE % "return load('a', 'webgpu');") == said
    page.evaluate("delete Navigator.prototype.gpu")
    assert page.evaluate(ENGINE % "return load('a', 'webgpu-half');") == said
