"""The GPT-2 of the page on a graphics device, which Chromium imitates: PyTorch's numbers."""

from __future__ import annotations

import json

import pytest

from tests.thorough import thorough
from tests.web.fixtures import FOLDER

pytestmark = pytest.mark.browser
IMITATED = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
FIXTURE = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))

# How far a case is from PyTorch's numbers, or from those of plain JavaScript.
COMPARE = """
async ({ name, backend }) => {
  const { WIDE, apartFromPlain, bytes, furthest, passes, randomModel } =
    await import("/web/test/cases.mjs");
  const { pickBackend } = await import("/web/backend.mjs");
  const started = (window.started ??= {}); // its kernels are compiled once for all tests
  const gpu = (started[backend] ??= await pickBackend(backend));
  const get = (path) => fetch(path).then((response) => response.arrayBuffer());
  const text = async (path) => new TextDecoder().decode(await get(path));
  const fixture = JSON.parse(await text("/web/test/fixtures/model.json"));
  const odd = { config: fixture.config, weights: bytes(fixture.weights) };
  const chunks = [[5, 6, 7], [8]];
  if (name === "wide") return apartFromPlain(randomModel(WIDE), { chunks }, gpu);
  const request = fixture.exact[name] ?? fixture[name];
  if (!request) return apartFromPlain(odd, { chunks, switches: { [name]: false } }, gpu);
  const crane = request.of === "crane" && {
    config: await text("/gpt2_edu/assets/crane/config.json"),
    weights: new Uint8Array(await get("/gpt2_edu/assets/crane/model.safetensors")),
  };
  return furthest(await passes(crane || odd, request, gpu), request.passes);
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


@pytest.fixture(scope="module")
def open_page(chromium, address):
    """Pages of Chromium with some flags."""
    browsers = []

    def start(*flags: str):
        browsers.append(chromium(*flags))
        page = browsers[-1].new_page()
        page.goto(f"{address}/web/package.json")
        return page

    yield start
    for browser in browsers:
        browser.close()


@pytest.fixture(scope="module")
def page(open_page):
    return open_page(*IMITATED)


ALL = [*FIXTURE["exact"], "wide", "mask", "scale", "layerNorm"]
FEW = ["one pass", "a cache", "edits", "the bundled model", "layerNorm"]


@pytest.mark.parametrize("name", FEW + [thorough(name) for name in ALL if name not in FEW])
def test_numbers_are_those_of_pytorch(page, name):
    assert page.evaluate(COMPARE, {"name": name, "backend": "webgpu"}) < 1e-4


@pytest.mark.thorough
def test_float16_weights_are_rounded_and_nothing_else(page):
    assert page.evaluate(COMPARE, {"name": "float16", "backend": "webgpu-half"}) < 1e-4


@pytest.mark.thorough
def test_greedy_texts_are_those_of_python_in_a_worker_too(page):
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
    texts = json.loads((FOLDER / "host.json").read_text(encoding="utf-8"))["greedy"][::10]
    name, *found = page.evaluate(ENGINE % in_worker, [text["ids"] for text in texts])
    assert name == "WebGPU"
    assert found == [text["next"][:8] for text in texts]


@pytest.mark.thorough
def test_a_lost_device_is_told_and_the_other_models_answer(page):
    found = page.evaluate(
        ENGINE
        % """
      const names = [];
      for (const name of ["a", "other"]) names.push(await load(name, "webgpu"));
      names.push(await load("wasm", "wasm"));
      const before = await run("other");
      const destroy = (name) => host.models.get(name).backend.device.destroy();
      let tokens = 0;
      const lost = [await text("a", [1], () => { if (++tokens === 3) destroy("a"); })];
      lost.push(await run("a"), await text("a", [1]));
      const again = [await load("a", "webgpu"), await run("a")];
      const map = GPUBuffer.prototype.mapAsync;
      GPUBuffer.prototype.mapAsync = function (mode) {
        const pending = map.call(this, mode);
        destroy("a");
        return pending;
      };
      lost.push(await run("a"));
      GPUBuffer.prototype.mapAsync = map;
      const others = [await run("other"), await run("wasm")];
      return { names, before, tokens, lost, others, again };
    """
    )
    assert found["names"] == ["WebGPU", "WebGPU", "WebAssembly"]
    said = "the graphics device was lost: load the model again, or choose WebAssembly"
    assert found["lost"] == [said] * 4
    assert found["tokens"] == 3
    assert found["others"][0] == found["before"]
    assert found["others"][1] == pytest.approx(found["before"], abs=1e-4)
    assert found["again"] == ["WebGPU", found["before"]]


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_without_a_graphics_device_it_is_told_what_to_choose(open_page):
    page = open_page()
    assert page.evaluate(ENGINE % (AUTO + "return names;")) == ["WebAssembly", HALF]
    said = "this browser offers no graphics device: use WebAssembly"
    assert page.evaluate(ENGINE % "return load('a', 'webgpu');") == said
    page.evaluate("delete Navigator.prototype.gpu")
    assert page.evaluate(ENGINE % "return load('a', 'webgpu-half');") == said
