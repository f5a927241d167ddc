"""Training where it runs: by the packed script, in a worker of a page, in Chromium."""

from __future__ import annotations

import json

import pytest

from tests.web.fixtures import FOLDER

pytestmark = pytest.mark.browser
FIXTURE = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
EVEN = FIXTURE["cases"]["even sizes"]

WORKER = """
importScripts("ADDRESS/gpt2_edu/exhibits/static/train.js");
onmessage = async ({ data: { expected, settings } }) => {
  const { BITS, checksum, fill } = await import("ADDRESS/web/test/runs.mjs");
  const { readConfig } = await import("ADDRESS/web/config.mjs");
  const { Trainer, simdArithmetic } = gpt2Train;
  const given = { T: expected.T, settings };
  const trainer = await Trainer.start(readConfig(expected.config), simdArithmetic, given);
  fill(trainer, expected);
  const steps = Array.from({ length: 20 }, () => trainer.step(expected.ids, expected.targets));
  const same = checksum(trainer.state().weights) === BITS;
  trainer.close();
  postMessage({ losses: steps.map(({ loss }) => loss), same });
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
    page = browser.new_page()
    page.goto(f"{address}/web/package.json")
    data = {"expected": EVEN, "settings": FIXTURE["settings"]}
    found = page.evaluate(PAGE, [WORKER.replace("ADDRESS", address), data])
    page.close()
    assert found["losses"] == pytest.approx(EVEN["losses"][:20], abs=1e-4)
    assert found["same"], "a run cannot be continued on another machine"
