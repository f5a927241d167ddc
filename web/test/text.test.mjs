// tiktoken's ids, Python's probabilities, PyTorch's float16.

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { merges } from "../dev/bundle.mjs";
import { bitsOf, fromHalf, toHalf } from "../numbers.mjs";
import { unpackTokenizer } from "../page.mjs";
import { draw, nextProbabilities, randomNumbers } from "../sampling.mjs";
import { fromMerges, fromRanks } from "../tokenizer.mjs";
import { asset, fixture } from "./files.mjs";

const { texts, longTexts, tokens, logits, knobs, probabilities, numbers, halves } = fixture("text");
const gpt2 = fromRanks(asset("gpt2.tiktoken", "latin1"));
const crane = fromRanks(asset("crane/crane.tiktoken", "latin1"));

describe.each(Object.entries({ gpt2, crane }))("%s", (name, tokenizer) => {
  test("texts have tiktoken's ids and come back", () => {
    const ids = texts.map((text) => tokenizer.encode(text));
    expect(ids).toEqual(tokens[name].ids);
    expect(ids.map((own) => tokenizer.decode(own))).toEqual(texts.map((t) => t.toWellFormed()));
  });

  test("long texts have them too", () => {
    const found = longTexts.map(([unit, n]) => {
      const ids = tokenizer.encode(unit.repeat(n));
      return [ids.length, ids.reduce((sum, id, i) => sum + id * (i + 1), 0)];
    });
    expect(found).toEqual(tokens[name].long);
  });

  test("two ids for each merge say all that a tokenizer is", async () => {
    const packed = merges(name);
    expect(createHash("sha256").update(packed).digest("hex")).toBe(tokens[name].merges);
    const unpacked = await unpackTokenizer(gzipSync(packed).toString("base64"));
    expect(unpacked.tokens).toEqual(tokenizer.tokens);
  });
});

test("a gzip bomb is not unpacked", async () => {
  const bomb = gzipSync(Buffer.alloc(300e6)).toString("base64");
  const before = process.memoryUsage().arrayBuffers;
  await expect(unpackTokenizer(bomb)).rejects.toThrow("more than a tokenizer's");
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50e6);
});

test("tokens that double are refused", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const pairs = Uint16Array.from({ length: 2 * 40 }, (_, i) => 255 + (i >> 1));
  expect(() => fromMerges(bytes, pairs)).toThrow("longer than any tokenizer's");
  expect(() => fromMerges(bytes, Uint16Array.of(1, 256))).toThrow("not there yet");
});

test("merges go from bytes to tokens, one pair a round", () => {
  for (const text of [" crane", "tokenized", "日本"]) {
    const bytes = new TextEncoder().encode(text);
    const rounds = [];
    gpt2.merge(String.fromCharCode(...bytes), (ids) => rounds.push(ids));
    expect(rounds[0].map((id) => [...gpt2.bytes(id)])).toEqual(Array.from(bytes, (byte) => [byte]));
    expect(rounds.at(-1)).toEqual(gpt2.encode(text));
    rounds.slice(1).forEach((after, i) => {
      expect(gpt2.decode(after)).toBe(text);
      expect(after.length).toBeLessThan(rounds[i].length);
      expect(new Set(after).difference(new Set(rounds[i])).size).toBeLessThanOrEqual(1);
    });
  }
});

test("half a character is shown as such, and no id is refused", () => {
  const [half] = gpt2.encode("😀");
  expect(gpt2.decode([half])).toBe("�");
  expect(gpt2.show(half)).toBe("F0 9F 98");
  expect([gpt2.show(50256), gpt2.decode([50256]), gpt2.size]).toEqual([
    "<|endoftext|>",
    "<|endoftext|>",
    50257,
  ]);
  expect(() => gpt2.decode([50257])).toThrow("50257 is no id");
});

// ---- Sampling

test("probabilities are Python's", () => {
  knobs.forEach((given, i) => {
    nextProbabilities(Float32Array.from(logits), given).forEach((p, id) =>
      expect(Math.abs(p - probabilities[i][id]), JSON.stringify(given)).toBeLessThan(1e-5),
    );
  });
});

test.each([
  [{ temperature: -1 }, "temperature must be 0 (greedy) or above"],
  [{ topK: 0 }, "at least 1"],
  [{ topK: 1.5 }, "a whole number of tokens"],
  [{ topP: 0 }, "above 0 and at most 1"],
  [{ topP: 1.1 }, "above 0 and at most 1"],
  [{ minP: -0.1 }, "from 0 to 1"],
  [{ minP: 1.5 }, "from 0 to 1"],
])("the setting %j is refused", (given, said) => {
  expect(() => nextProbabilities(Float32Array.from(logits), given)).toThrow(said);
});

test("logits that are not finite are refused", () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    expect(() => nextProbabilities(Float32Array.of(bad, -Infinity), {})).toThrow("logits are not");
  }
});

test("draws follow the probabilities and the seed", () => {
  const probabilities = [0.5, 0, 0.25, 0.125, 0.0625, 0.0625];
  const counts = (seed) => {
    const random = randomNumbers(seed);
    const found = probabilities.map(() => 0);
    for (let i = 0; i < 1e5; i++) found[draw(Float64Array.from(probabilities), random)]++;
    return found;
  };
  const found = counts(7);
  expect(counts(7)).toEqual(found);
  expect(counts(8)).not.toEqual(found);
  expect(found[1]).toBe(0);
  const terms = probabilities.map((p, i) => (p ? (found[i] - 1e5 * p) ** 2 / (1e5 * p) : 0));
  const chi = terms.reduce((a, b) => a + b);
  expect(chi).toBeLessThan(23.5); // five free counts: one seed in four thousand is beyond
  expect(() => randomNumbers(1.5)).toThrow("the seed must be a whole number");
});

// ---- Numbers of 16 bits

test("every float16 survives, and numbers between two go where PyTorch's go", () => {
  const rounded = (values) => Array.from(bitsOf(Float32Array.from(values)), toHalf);
  for (let bits = 0; bits < 1 << 16; bits++) {
    if (((bits >> 10) & 31) < 31 && rounded([fromHalf(bits)])[0] !== bits)
      throw new Error(`${bits} changes`);
  }
  expect(rounded(numbers)).toEqual(halves);
});
