"""The engine where it lives: in a worker of a page, in Chromium."""

from __future__ import annotations

import pytest
import torch

from gpt2_edu import GPT2, generate

pytestmark = pytest.mark.browser

PAGE = """
async () => {
  const { Engine } = await import("/web/client.mjs");
  const started = performance.now();
  const worker = new Worker("/web/worker.mjs", { type: "module" });
  const engine = new Engine(worker);
  const get = (name) => fetch(`/gpt2_edu/assets/crane/${name}`);
  const [config, weights] = await Promise.all([
    get("config.json").then((r) => r.text()),
    get("model.safetensors").then((r) => r.blob()),
  ]);
  const shares = [];
  const info = await engine.load("crane", { config, weights }, (share) => shares.push(share));
  const ready = performance.now() - started;
  const ids = [1023, 32, 400, 500, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
  const drags = Array.from({ length: 30 }, (_, i) =>
    engine.run("crane", { ids: [i], key: "drag", lastOnly: true }).then(() => i, () => null));
  const answered = (await Promise.all(drags)).filter((i) => i !== null);
  const { logits, noted } = await engine.run("crane", { ids, record: true });
  const tokens = [];
  const settings = { temperature: 0 };
  const written = engine.stream("crane", { ids, n: 30, settings }, (id) => tokens.push(id));
  const result = await written.answer;
  const failed = await engine.run("none", { ids }).catch((error) => error.message);
  worker.terminate();
  return { info, ready, shares, answered, logits: [...logits], paths: noted.map((n) => n.path),
    tokens, ids: result.ids, failed };
}
"""


def test_the_bundled_model_answers_in_a_worker(browser, address):
    page, asked, errors = browser.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/web/config.mjs")
    found = page.evaluate(PAGE)
    page.close()
    assert errors == []
    assert all(url.startswith((address, "blob:")) for url in asked)
    assert found["info"]["backend"] == "WebAssembly"
    assert found["shares"][-1] == pytest.approx(1)
    assert found["answered"][-1] == 29, "the latest of what was dragged is answered"
    assert len(found["answered"]) <= 3, "stale requests are dropped"
    assert "there is no model" in found["failed"]

    model = GPT2.from_pretrained("crane").eval()
    ids = torch.tensor([[1023, 32, 400, 500, *range(7, 19)]])
    with torch.no_grad():
        logits, _ = model(ids)
    got = torch.tensor(found["logits"]).view(logits.shape)
    torch.testing.assert_close(got, logits, atol=5e-5, rtol=1e-5)
    assert found["paths"][0] == "tok_emb"
    assert found["paths"][-1] == "logits"
    expected = generate(model, ids, 30, temperature=0)[0, 16:].tolist()
    assert found["tokens"] == found["ids"] == expected
