// A Llama and files of integers give PyTorch's numbers.

import { describe, expect, test } from "vitest";
import { pickBackend } from "../backend.mjs";
import { readConfig } from "../config.mjs";
import { numParameters } from "../shapes.mjs";
import { apartFromPlain, bytes, furthest, passes } from "./cases.mjs";
import { fixture } from "./files.mjs";

const models = Object.entries(fixture("llama")).map(([name, { config, weights, cases }]) => ({
  name,
  files: { config, weights: bytes(weights) },
  cases,
}));
const integers = fixture("integers");

describe.each(models)("a Llama with $name", ({ files, cases }) => {
  test.each(["plain", "wasm"])("gives PyTorch's numbers in %s", async (backend) => {
    for (const expected of Object.values(cases)) {
      const found = await passes(files, expected, await pickBackend(backend));
      expect(furthest(found, expected.passes)).toBeLessThan(5e-5);
    }
  });

  test.each([
    ["wasm-half", 5e-3],
    ["wasm-int8", 0.1],
  ])("is near them in %s", async (backend, tolerance) => {
    const request = { chunks: [[5, 6, 7, 8, 9], [8]] };
    const apart = await apartFromPlain(files, request, await pickBackend(backend));
    expect(apart).toBeLessThan(tolerance);
    expect(apart).toBeGreaterThan(1e-6);
  });

  test("is another model without rotation, mask, norms or scale", async () => {
    const run = async (switches) =>
      (await passes(files, { chunks: [[5, 6, 7]], switches }, await pickBackend("plain")))[0];
    const { logits } = await run({});
    for (const name of ["positions", "mask", "layerNorm", "scale"]) {
      const other = (await run({ [name]: false })).logits;
      expect(other.every(Number.isFinite)).toBe(true);
      expect(other).not.toEqual(logits);
    }
  });

  test("says what does not fit", async () => {
    const load = async (change, backend = "plain") => {
      const config = JSON.stringify({ ...JSON.parse(files.config), ...change });
      const pick = () => pickBackend(backend, readConfig(config));
      return passes({ ...files, config }, { chunks: [[1]] }, await pick());
    };
    await expect(load({ intermediate_size: 12 })).rejects.toThrow("h.0.mlp.gate_proj.weight is");
    await expect(load({ num_hidden_layers: 3 })).rejects.toThrow("q_proj.weight is missing");
    await expect(load({ hidden_act: "gelu" })).rejects.toThrow('hidden_act is "gelu"');
    await expect(load({}, "webgpu")).rejects.toThrow("use WebAssembly");
  });
});

test.each(integers)("integers of $bits bits, group $group", async (file) => {
  const files = { config: file.config, weights: bytes(file.weights) };
  const found = await passes(files, file, await pickBackend("wasm"));
  expect(furthest(found, file.passes)).toBeLessThan(5e-5);
  const { rounding } = readConfig(file.config);
  expect(rounding).toEqual({ bits: file.bits, group: file.group });
});

test("integers that other programs wrote are refused", async () => {
  const [{ config, weights }] = integers;
  const load = async (change) => {
    const json = JSON.parse(config);
    const quantization_config = { ...json.quantization_config, ...change };
    const files = {
      config: JSON.stringify({ ...json, quantization_config }),
      weights: bytes(weights),
    };
    return passes(files, { chunks: [[1]] }, await pickBackend("plain"));
  };
  await expect(load({ quant_method: "gptq" })).rejects.toThrow('rounded by "gptq" to 8 bits');
  await expect(load({ bits: 4 })).rejects.toThrow("h.0.attn.c_attn.integers is");
  await expect(load({ group: 4 })).rejects.toThrow("groups of 4 columns do not divide");
});

test("parameters are counted once", () => {
  for (const { files } of models) {
    const config = readConfig(files.config);
    const header = new TextDecoder().decode(
      files.weights.slice(
        8,
        8 + files.weights[0] + 256 * files.weights[1] + 65536 * files.weights[2],
      ),
    );
    const tensors = Object.values(JSON.parse(header)).filter(({ shape }) => shape);
    const all = tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b), 0);
    expect(numParameters(config)).toBe(all);
  }
});
