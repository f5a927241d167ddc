"""Training where it runs: by the packed script, in a worker of a page, in Chromium."""

from __future__ import annotations

import json

import pytest

from tests.web.fixtures import FOLDER

pytestmark = pytest.mark.browser
FIXTURE = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
CASE = FIXTURE["cases"]["larger sizes"]

WORKER = """
importScripts("ADDRESS/gpt2_edu/exhibits/static/train.js");
onmessage = async ({ data: { expected, settings } }) => {
  const { BITS, checksum, fill } = await import("ADDRESS/web/test/runs.mjs");
  const { readConfig } = await import("ADDRESS/web/config.mjs");
  const { Trainer, simdArithmetic } = gpt2Train;
  const config = readConfig(expected.config);
  let trainer = await Trainer.start(config, simdArithmetic, { T: expected.T, settings });
  fill(trainer, expected);
  const losses = [];
  for (let i = 0; i < 20; i++) {
    losses.push(trainer.step(expected.ids, expected.targets).loss);
    if (i !== 9) continue;
    const state = structuredClone(trainer.state());
    trainer.close();
    trainer = await Trainer.start(config, simdArithmetic, { state });
  }
  const same = checksum(trainer.state().weights) === BITS;
  postMessage({ losses, same });
};
"""
PAGE = """
([code, data]) => new Promise((resolve, reject) => {
  const worker = new Worker(URL.createObjectURL(new Blob([code])));
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(data);
})
"""


def test_losses_are_those_of_pytorch_and_bits_those_of_node(browser, address):
    """Node runs the engine of Chromium; there a run that was stored may be continued."""
    page = browser.new_page()
    page.goto(f"{address}/web/package.json")
    data = {"expected": CASE, "settings": FIXTURE["settings"]}
    found = page.evaluate(PAGE, [WORKER.replace("ADDRESS", address), data])
    page.close()
    assert found["losses"] == pytest.approx(CASE["losses"][:20], abs=1e-4)
    assert found["same"], "a stored run does not continue bit for bit"
