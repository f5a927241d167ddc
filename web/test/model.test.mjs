// GPT-2 gives PyTorch's numbers, tensor by tensor, on every backend that Node has.

import { describe, expect, test } from "vitest";
import { pickBackend } from "../backend.mjs";
import { lossOf } from "../exhibits/loading.mjs";
import { inMemory, loadModel } from "../load.mjs";
import { toFile } from "../rounded.mjs";
import { readHeader } from "../safetensors.mjs";
import { randomNumbers } from "../sampling.mjs";
import { WasmBackend } from "../wasm.mjs";
import { pieces } from "../weights.mjs";
import { startWhole } from "../whole.mjs";
import { WIDE, apartFromPlain, furthest, passes, randomModel } from "./cases.mjs";
import { CRANE, ODD, fixture } from "./files.mjs";

const { exact, float16, roundings, losses, ...whole } = fixture("model");
const wide = randomModel(WIDE);

describe.each(["plain", "wasm"])("%s", (name) => {
  test.each(Object.entries(exact))("%s", async (_, expected) => {
    const files = expected.of === "crane" ? CRANE : ODD;
    const found = await passes(files, expected, await pickBackend(name));
    expect(furthest(found, expected.passes)).toBeLessThan(5e-5);
  });
});

test("float16 rounds weights and nothing else", async () => {
  const found = await passes(ODD, float16, await pickBackend("wasm-half"));
  expect(furthest(found, float16.passes)).toBeLessThan(1e-4);
  const unrounded = await passes(ODD, float16, await pickBackend("wasm"));
  expect(furthest(unrounded, float16.passes)).toBeGreaterThan(1e-4);
});

describe.each(["int8", "int4"])("%s", (kind) => {
  test("rounds weights to Python's, bit by bit", async () => {
    const backend = await startWhole(kind);
    for (const [i, row] of roundings.rows.entries()) {
      const matrix = backend.matrix(2, row.length);
      backend.store(matrix, 0, Float32Array.from([...row.map((x) => 1 - x), ...row]));
      const { data } = backend.lookUp(matrix, [1]);
      expect(data, `${row}`).toEqual(Float32Array.from(roundings[kind][i]));
    }
  });

  test("rounds weights and inputs and nothing else", async () => {
    const found = await passes(ODD, whole[kind], await startWhole(kind));
    expect(furthest(found, whole[kind].passes)).toBeLessThan(1e-3);
  });

  test("costs on stories what it costs in Python", async () => {
    const { stories, exact } = losses;
    const model = await loadModel(CRANE.config, inMemory(CRANE.weights), () => startWhole(kind));
    let [sum, tokens] = [0, 0];
    for (const ids of stories) {
      const logits = await model.forward(ids.slice(0, -1));
      sum += (ids.length - 1) * lossOf(logits, ids.slice(1));
      tokens += ids.length - 1;
    }
    expect(Math.abs(sum / tokens - losses[kind])).toBeLessThan(1e-4);
    expect(Math.abs(losses[kind] - exact)).toBeLessThan(kind === "int8" ? 1e-4 : 5e-3);
  });

  test("is written as bytes and read back the same", async () => {
    const model = await loadModel(ODD.config, inMemory(ODD.weights), () => startWhole(kind));
    const file = new Uint8Array([...toFile(model)].flatMap((piece) => [...piece]));
    const load = (bytes) =>
      loadModel(ODD.config, inMemory(bytes), () => startWhole(kind), undefined, true);
    const again = await load(file);
    const ids = [3, 1, 4, 1, 5];
    expect(await again.forward(ids)).toEqual(await model.forward(ids));
    await expect(load(file.slice(0, -1))).rejects.toThrow("cut off");
    const other = kind === "int8" ? "int4" : "int8";
    const asOther = loadModel(ODD.config, inMemory(file), () => startWhole(other), undefined, true);
    await expect(asOther).rejects.toThrow("wte.weight does not have");
  });
});

test.each([
  ["wasm", 1e-4],
  ["wasm-half", 5e-3],
  ["wasm-int8", 0.1],
  ["wasm-int4", 1],
])("widths of the published model in %s", async (name, tolerance) => {
  const request = { chunks: [[5, 6, 7, 8, 9, 10, 11], [8]] };
  const apart = await apartFromPlain(wide, request, await pickBackend(name));
  expect(apart).toBeLessThan(tolerance);
  if (name !== "wasm") expect(apart).toBeGreaterThan(1e-5);
});

test.each(["float32", "float16"])("products of rows of any length in %s", async (format) => {
  const backend = await WasmBackend.start(format);
  const [tokens, outputs] = [5, 11];
  for (let width = 1; width < 10; width++) {
    const numbers = (count, n) =>
      Float32Array.from({ length: count * width }, (_, i) => (i * n) % 8);
    const [x, w] = [numbers(tokens, 3), numbers(outputs, 5)];
    const matrix = backend.matrix(outputs, width);
    backend.store(matrix, 0, w);
    const { data } = backend.linear(backend.write(x, [tokens, width]), matrix, null);
    const expected = Array.from({ length: tokens * outputs }, (_, i) => {
      const [t, r] = [Math.floor(i / outputs) * width, (i % outputs) * width];
      return x.slice(t, t + width).reduce((sum, v, k) => sum + v * w[r + k], 0);
    });
    expect([...data], `${width}`).toEqual(expected);
  }
});

test.each(["int8", "int4"])(
  "whole numbers do not overflow in the longest row of %s",
  async (kind) => {
    const backend = await startWhole(kind);
    for (const sign of [1, -1]) {
      const ones = new Float32Array(8192).fill(1);
      const matrix = backend.matrix(1, 8192);
      backend.store(matrix, 0, ones);
      const x = backend.write(ones.fill(sign), [1, 8192]);
      const [product] = backend.linear(x, matrix, null).data;
      expect(product / 8192).toBeCloseTo(sign, 4);
    }
    const longer = () => backend.matrix(1, 8193);
    if (kind === "int8") expect(longer).toThrow("rows of up to 8192 weights");
    else expect(longer).not.toThrow();
  },
);

test("without mask, scale or LayerNorm it is another model", async () => {
  const request = (switches) => ({ chunks: [[5, 6, 7, 8]], switches });
  const run = async (switches) =>
    (await passes(ODD, request(switches), await pickBackend("plain")))[0];
  const whole = await run({});
  for (const name of ["mask", "scale", "layerNorm"]) {
    const { logits, noted } = await run({ [name]: false });
    expect(logits.every(Number.isFinite)).toBe(true);
    expect(logits).not.toEqual(whole.logits);
    const wasm = await pickBackend("wasm");
    expect(await apartFromPlain(ODD, request({ [name]: false }), wasm)).toBeLessThan(1e-4);
    const weights = noted.find(({ path }) => path === "transformer.h.0.attn.weights");
    expect(weights.values.every((weight) => weight > 0)).toBe(name === "mask");
  }
});

test.each([
  [[[]], "start from at least one"],
  [[[101]], "101 is outside the vocabulary 0 … 100"],
  [[[-1]], "outside the vocabulary"],
  [[[1.5]], "outside the vocabulary"],
  [[Array(14).fill(1)], "14 tokens are too many: there is room for 13"],
  [[Array(10).fill(1), Array(4).fill(2)], "14 tokens are too many"],
])("ids %j are refused", async (chunks, said) => {
  const backend = await pickBackend("plain");
  await expect(passes(ODD, { chunks }, backend)).rejects.toThrow(said);
});

test.each([
  [{ model_type: "mamba" }, 'this is a "mamba"; here run gpt2, llama, qwen2, qwen3'],
  [{ model_type: "llama" }, "max_position_embeddings is missing"],
  [{ activation_function: "relu" }, '"relu"; GPT-2 has "gelu_new"'],
  [{ n_layer: 1e9 }, "n_layer as a whole number"],
  [{ n_layer: 3 }, "h.2.attn.c_attn.weight is missing"],
  [{ n_head: 4 }, "cannot be shared"],
  [{ n_embd: 42 }, "wte.weight is 101 × 21, not 101 × 42"],
  [{ layer_norm_epsilon: "1e-5" }, "layer_norm_epsilon must lie between 0 and 1"],
  [{ scale_attn_by_inverse_layer_idx: true }, "GPT-2 has false"],
])("a config with %j is refused", async (change, said) => {
  const config = JSON.stringify({ ...JSON.parse(ODD.config), ...change });
  await expect(passes({ ...ODD, config }, { chunks: [[1]] }, await pickBackend("plain")))
    .rejects //
    .toThrow(said);
});

test.each(["wasm", "wasm-half", "wasm-int8", "wasm-int4"])(
  "%s works beyond 2 GiB",
  async (name) => {
    const logits = [];
    for (const used of [16, 2 ** 31 - 4096]) {
      const backend = await pickBackend(name); // there numbers of 32 bits are negative
      backend.used = used;
      const model = await loadModel(ODD.config, inMemory(ODD.weights), () => backend);
      logits.push(await model.forward([1, 2, 3, 4, 5]));
    }
    expect(logits[1]).toEqual(logits[0]);
  },
);

test("a header may list its tensors in any order, but they leave no gap", () => {
  const tensor = (start, end) => ({
    dtype: "F32",
    shape: [(end - start) / 4],
    data_offsets: [start, end],
  });
  const read = (tensors) => {
    const header = new TextEncoder().encode(JSON.stringify(tensors));
    return [...readHeader(header, 8 + header.length + 16).keys()];
  };
  expect(read({ c: tensor(8, 16), a: tensor(0, 4), b: tensor(4, 8) })).toEqual(["c", "a", "b"]);
  expect(read({ b: tensor(4, 16), none: tensor(4, 4), a: tensor(0, 4) })).toHaveLength(3);
  expect(() => read({ b: tensor(8, 16), a: tensor(0, 4) })).toThrow("does not begin where");
});

test("a row is read whole, however long, and what is not finite has its place named", async () => {
  const wide = 2 ** 20 + 1;
  const entry = { name: "w", dtype: "F32", shape: [2, wide], start: 0, end: 8 * wide };
  const numbers = new Float32Array(2 * wide);
  const found = pieces(entry, (start, end) => new Uint8Array(numbers.buffer, start, end - start));
  expect((await found.next()).value[1]).toHaveLength(wide);
  numbers[wide + 7] = NaN;
  await expect(found.next()).rejects.toThrow("w holds NaN at place 7");
});

test.each([0, 1, 2 ** 40 + 7])("random numbers of seed %d are those of sfc32", (seed) => {
  const bits = (n) => BigInt.asUintN(32, n);
  let [a, b, c, counter] = [bits(BigInt(seed)), bits(BigInt(seed) >> 32n), 0n, 1n];
  const sfc32 = () => {
    const sum = bits(a + b + counter++);
    [a, b, c] = [b ^ (b >> 9n), bits(c + (c << 3n)), bits((bits(c << 21n) | (c >> 11n)) + sum)];
    return Number(sum) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) sfc32();
  const random = randomNumbers(seed);
  expect(Array.from({ length: 100 }, random)).toEqual(Array.from({ length: 100 }, sfc32));
});
