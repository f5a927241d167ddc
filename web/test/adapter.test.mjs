// Adapters give what the package's merge gives, switched on and off beside their model.

import { beforeEach, describe, expect, test } from "vitest";
import { bytes, safetensors } from "./cases.mjs";
import { startEngine } from "./engine.mjs";
import { ODD, fixture } from "./files.mjs";

const { adapters } = fixture("ask");
const IDS = [3, 1, 4, 1, 5, 9, 2];
const [FIRST, , LONGER] = Object.values(adapters);
const HEAD = "base_model.model.lm_head.weight";
const BACKENDS = { plain: 5e-5, wasm: 5e-5, "wasm-half": 5e-2 };

let engine;
beforeEach(() => {
  engine = startEngine();
});

const base = (backend = "wasm") => engine.load("base", { ...ODD, backend });
const adapt = ({ config, weights }, as = "tuned") =>
  engine.adapt("base", as, { config, weights: bytes(weights) });
const logits = async (model) => (await engine.run(model, { ids: IDS })).logits;

/** The largest difference, relative to 1 or to the value. */
function apart(found, expected) {
  expect(found.length).toBe(expected.length);
  const each = expected.map((v, i) => Math.abs(v - found[i]) / Math.max(1, Math.abs(v)));
  return Math.max(...each);
}

describe.each(Object.entries(BACKENDS))("%s", (backend, close) => {
  test.each(Object.entries(adapters))("%s, more and less of it", async (_, files) => {
    await base(backend);
    const plain = await logits("base");
    await adapt(files);
    for (const { strength, logits: expected } of [...files.cases].reverse()) {
      await engine.strengthen("tuned", strength);
      expect(apart(await logits("tuned"), expected)).toBeLessThan(close);
    }
    expect(await logits("base")).toEqual(plain);
  });
});

test("at first its strength is 1, and at 0 the model is as it was, bit by bit", async () => {
  await base();
  expect((await adapt(FIRST)).scale).toBeCloseTo(5 / 3);
  const { logits: whole } = FIRST.cases.find(({ strength }) => strength === 1);
  expect(apart(await logits("tuned"), whole)).toBeLessThan(5e-5);
  await engine.strengthen("tuned", 0);
  expect(await logits("tuned")).toEqual(await logits("base"));
});

test("an adapted model goes with the one whose weights it uses, and not the other way", async () => {
  await base();
  await adapt(FIRST);
  await adapt(FIRST, "again");
  const unload = (model) => engine.ask({ call: "unload", model }).answer;
  expect(await unload("again")).toBe(true);
  await logits("tuned");
  await base();
  await logits("base");
  await expect(logits("tuned")).rejects.toThrow("load it first");
});

const config = (more) => JSON.stringify({ ...JSON.parse(FIRST.config), ...more });
const tensors = (more, of = FIRST) => {
  const file = bytes(of.weights);
  const length = Number(new DataView(file.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  delete header.__metadata__;
  return safetensors(more(header), new Float32Array(file.slice(8 + length).buffer));
};
const A = "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight";
const renamed = (to) => (header) =>
  Object.fromEntries(Object.entries(header).map(([name, one]) => [name === A ? to : name, one]));

test.each([
  [{ config: "[]" }, "holds no settings"],
  [{ config: "" }, "is not JSON"],
  [{ config: config({ peft_type: "IA3" }) }, 'of the kind "IA3"'],
  [{ config: config({ use_dora: true }) }, "asks for use_dora"],
  [{ config: config({ rank_pattern: { c_fc: 2 } }) }, "asks for rank_pattern"],
  [{ config: config({ bias: "all" }) }, "asks for bias"],
  [{ config: config({ r: 0 }) }, "give r as a whole number, not 0"],
  [{ config: config({ lora_alpha: "8" }) }, 'give lora_alpha as a number, not "8"'],
  [{ config: config({ r: 4 }) }, "lora_A.weight is 3 × 21, not 4 × 21"],
  [{ config: config({ r: 2 }) }, "lora_A.weight is 3 × 21, not 2 × 21"],
  [{ weights: bytes(FIRST.weights).subarray(0, 900) }, "cut off"],
  [{ weights: tensors(renamed("h.7.attn.c_attn.lora_A.weight")) }, "only one of lora_A and lora_B"],
  [{ weights: tensors(renamed(A.replace("lora_A", "lora_C"))) }, "is no part of a LoRA of it"],
  [{ weights: safetensors({}, new Float32Array()) }, "changes nothing"],
  [
    {
      config: LONGER.config,
      weights: tensors(
        (header) => ({ ...header, [HEAD]: { ...header[HEAD], dtype: "I32" } }),
        LONGER,
      ),
    },
    "lm_head.weight has the type I32",
  ],
])("what is no adapter of the model is refused: %#", async (files, said) => {
  await base();
  const given = { config: FIRST.config, weights: bytes(FIRST.weights), ...files };
  await expect(engine.adapt("base", "tuned", given)).rejects.toThrow(said);
  await expect(logits("tuned")).rejects.toThrow("load it first");
});

test("a head that differs from the table is refused", async () => {
  await base();
  const weights = bytes(LONGER.weights);
  const length = Number(new DataView(weights.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(weights.subarray(8, 8 + length)));
  weights[8 + length + header[HEAD].data_offsets[1] - 1] ^= 1; // a bit of its last number
  await expect(engine.adapt("base", "tuned", { ...LONGER, weights })).rejects.toThrow(
    "lm_head.weight is not wte.weight",
  );
});

test("requests that make no sense are refused", async () => {
  await base();
  await adapt(FIRST);
  await expect(adapt(FIRST, "base")).rejects.toThrow("needs a name of its own");
  await expect(engine.strengthen("base", 1)).rejects.toThrow("has no adapter");
  for (const strength of [NaN, "1", null, undefined, Infinity]) {
    await expect(engine.strengthen("tuned", strength)).rejects.toThrow("is a number, not");
  }
  const twice = { ...FIRST, weights: bytes(FIRST.weights) };
  await expect(engine.adapt("tuned", "more", twice)).rejects.toThrow("has an adapter already");
  await logits("tuned");
});
