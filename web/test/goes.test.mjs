// A model that was trained in the page leaves it, and comes back as it was.

import { describe, expect, test } from "vitest";
import { readConfig } from "../config.mjs";
import { modelFromFiles } from "../exhibits/files.mjs";
import { download, filesOf } from "../goes/files.mjs";
import { openFiles } from "../goes/read.mjs";
import { packMerges } from "../goes/vocabulary.mjs";
import { inMemory, loadModel } from "../load.mjs";
import { PlainBackend } from "../plain.mjs";
import { randomNumbers } from "../sampling.mjs";
import { plainArithmetic, Trainer } from "../train/trainer.mjs";

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);

/** Merges of the first bytes, until there are V tokens with <|endoftext|>. */
function mergesFor(V) {
  const pairs = Uint16Array.from({ length: 2 * (V - 257) }, (_, i) => i);
  return new Uint8Array([...BYTES, ...new Uint8Array(pairs.buffer)]);
}

const SIZES = { vocab_size: 261, n_positions: 7, n_layer: 2, n_head: 3, n_embd: 15 };
const config = readConfig(JSON.stringify(SIZES));
const merges = mergesFor(261);
const plan = {
  version: 1,
  name: "Mein Modell, *zwei*",
  std: 0.1,
  switches: {},
  data: { kind: "text", unit: "characters", vocabSize: 261, text: "secret" },
};

/** A run of two steps, and the files that it leaves. */
async function trained() {
  const trainer = await Trainer.start(config, plainArithmetic);
  trainer.initialise(randomNumbers(5), plan.std);
  for (let i = 0; i < 2; i++) trainer.step([0, 1, 2, 3, 4, 5, 260], [1, 2, 3, 4, 5, 6, 7]);
  const { step, weights } = trainer.state();
  return { trainer, weights, files: await filesOf({ plan, step, config, weights, merges }) };
}

test("what is written is the model that was trained", async () => {
  const { trainer, files } = await trained();
  const source = inMemory(new Uint8Array(files.weights));
  const again = await loadModel(files.config, source, () => new PlainBackend());
  expect(again.config).toEqual(config);
  const ids = [3, 1, 4, 1, 5];
  expect(await again.forward(ids)).toEqual(await trainer.model.forward(ids));
});

test("exhibits and the page take the one file as it is", async () => {
  const { files, weights } = await trained();
  const file = download(files);
  expect(file.name).toBe("mein-modell-zwei-2-steps.safetensors");
  const found = await modelFromFiles([file]);
  expect(found).toMatchObject({ config: files.config, merges: files.merges });
  for (const own of [files, found]) {
    const opened = await openFiles(own);
    expect(opened).toMatchObject({ config, weights, merges });
    expect(opened.plan).toEqual({ ...plan, step: 2, data: { ...plan.data, text: undefined } });
  }
});

test("the text that a model learned from is not in its file", async () => {
  const { files } = await trained();
  expect(Buffer.from(files.weights).includes("secret")).toBe(false);
});

test("without its mask a model is not for other programs", async () => {
  const run = { plan: { ...plan, switches: { mask: false } }, step: 0, config, merges };
  const weights = new Float32Array(1);
  await expect(filesOf({ ...run, weights })).rejects.toThrow("without mask it is no GPT-2");
});

describe("a file that cannot be gone on with", () => {
  test.each([
    [{ merges: undefined }, "no tokenizer: write it with gpt2-edu export --page"],
    [{ merges: mergesFor(260) }, "does not fit its 261 tokens"],
    [{ merges: new Uint8Array(1 << 20) }, "does not fit its 261 tokens"],
    [{ config: JSON.stringify({ ...SIZES, vocab_size: 50257 }) }, "50,257 tokens, and the page"],
    [{ config: JSON.stringify({ ...SIZES, n_embd: 18 }) }, "config and weights do not fit"],
    [{ config: JSON.stringify({ ...SIZES, layer_norm_epsilon: 1e-6 }) }, "with ε = 0.000001 in"],
    [{ config: "{}" }, "config.json must give"],
  ])("%o", async (change, said) => {
    const { files } = await trained();
    const other = { ...files, ...change };
    if (change.merges) other.merges = await packMerges(change.merges);
    await expect(openFiles(other)).rejects.toThrow(said);
  });
});
