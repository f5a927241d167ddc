"""The engine where it lives: in a worker of a page, in Chromium."""

from __future__ import annotations

import json

import pytest

from tests.web.fixtures import FOLDER

pytestmark = pytest.mark.browser
WRITTEN = json.loads((FOLDER / "host.json").read_text(encoding="utf-8"))["greedy"][20]

PAGE = """
async ({ ids, n }) => {
  const { Engine } = await import("/web/client.mjs");
  const worker = new Worker("/web/worker.mjs", { type: "module" });
  const engine = new Engine(worker);
  const get = (name) => fetch(`/gpt2_edu/assets/crane/${name}`);
  const [config, weights] = await Promise.all([
    get("config.json").then((r) => r.text()),
    get("model.safetensors").then((r) => r.blob()),
  ]);
  const shares = [];
  const info = await engine.load("crane", { config, weights }, (share) => shares.push(share));
  const drags = Array.from({ length: 30 }, (_, i) =>
    engine.run("crane", { ids: [i], key: "drag", lastOnly: true }).then(() => i, () => null));
  const answered = (await Promise.all(drags)).filter((i) => i !== null);
  const { noted } = await engine.run("crane", { ids, record: true });
  const tokens = [];
  const settings = { temperature: 0 };
  const written = engine.stream("crane", { ids, n, settings }, (id) => tokens.push(id));
  const result = await written.answer;
  const failed = await engine.run("none", { ids }).catch((error) => error.message);
  worker.terminate();
  return { info, shares, answered, paths: noted.map((n) => n.path),
    tokens, ids: result.ids, failed };
}
"""


def test_the_bundled_model_answers_in_a_worker(browser, address):
    page, asked, errors = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/web/config.mjs")
    found = page.evaluate(PAGE, {"ids": WRITTEN["ids"], "n": len(WRITTEN["next"])})
    page.close()
    assert errors == []
    assert all(url.startswith((address, "blob:")) for url in asked)
    assert found["info"]["backend"] == "WebAssembly"
    assert found["shares"][-1] == pytest.approx(1)
    assert found["answered"][-1] == 29, "the latest of what was dragged is answered"
    assert len(found["answered"]) <= 3, "stale requests are dropped"
    assert "there is no model" in found["failed"]

    assert found["paths"][0] == "tok_emb"
    assert found["paths"][-1] == "logits"
    assert found["tokens"] == found["ids"] == WRITTEN["next"]
