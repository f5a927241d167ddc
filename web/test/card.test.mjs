// Cards: sizes, counts and shapes are Python's, and what Python refuses is refused in a sentence.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cacheBytes, flopsByPart, parameters, parametersByPart } from "../card/count.mjs";
import { DEVICES, FORMS, FULL, shapes, share, sum } from "../card/count.mjs";
import { lines } from "../card/lines.mjs";
import { address } from "../card/links.mjs";
import { LONGEST, Refused, read } from "../card/read.mjs";
import { pretend } from "../dev/markup.mjs";
import { fixture } from "./files.mjs";

const { examples, small, read: accepted, refused } = fixture("card");
const text = (name) =>
  readFileSync(new URL(`../card/examples/${name}.json`, import.meta.url), "utf8");
const example = (name, changes = {}) =>
  read(JSON.stringify({ ...JSON.parse(text(name)), ...changes }));
const why = (given) => {
  try {
    read(given);
  } catch (error) {
    expect(error).toBeInstanceOf(Refused);
    return error.message;
  }
  throw new Error("it was read");
};
const full = (parts) => Object.fromEntries(Object.entries(parts).filter(([, n]) => n));

describe("counts are Python's", () => {
  test.each(Object.entries(examples))("of %s", (name, python) => {
    const card = read(text(name));
    expect(full(parametersByPart(card))).toEqual(full(python.parts));
    expect(parameters(card)).toBe(python.parameters);
    expect(cacheBytes(card)).toBe(python.cache);
    if (python.flops) expect(sum(flopsByPart(card, python.T))).toBe(python.flops);
  });

  test.each(Object.entries(small))(
    "of a small %s, with its shapes and torch's FLOPs",
    (_, model) => {
      const card = read(JSON.stringify(model.card));
      expect(full(parametersByPart(card))).toEqual(full(model.parts));
      const noted = shapes(card, model.T).map(({ name, axes, shape }) => [name, axes, shape]);
      expect(noted).toEqual(model.noted);
      const paper = flopsByPart(card, model.T); // torch sees the half under the mask, too
      expect(model.T * (sum(paper) + paper.attention)).toBe(model.flops);
    },
  );

  test("published ones", () => {
    const published = { "smollm2-135m": 134_515_008, "qwen3-0.6b": 596_049_920 };
    for (const [name, number] of Object.entries({ ...published, "llama-3-8b": 8_030_261_248 }))
      expect(parameters(read(text(name)))).toBe(number);
  });
});

test("what Python reads is read the same", () => {
  for (const { card: stored, ...python } of accepted) {
    const card = read(JSON.stringify(stored));
    const found = {
      parameters: parameters(card),
      n_kv_head: card.nKvHead,
      head_size: card.headSize,
      n_embd: card.nEmbd,
      epsilon: card.epsilon,
      rope_base: card.ropeBase,
      factor: card.scaling?.factor ?? null,
      tied: card.tied,
      qkv_bias: card.qkvBias,
    };
    for (const [name, value] of Object.entries(python)) expect(found[name], name).toBe(value);
  }
});

test("what Python refuses is refused in a sentence that names the line", () => {
  for (const stored of refused) expect(why(JSON.stringify(stored))).toMatch(/^Th.*\.$/s);
});

test.each([
  ["", "is empty"],
  ["  \n", "is empty"],
  ["https://huggingface.co/gpt2", "is an address"],
  ["{'n_layer': 12}", "is not JSON: "],
  ['{"n_layer": 12,}', "is not JSON: "],
  ["[]", "is a list"],
  ["null", "is null"],
  ["7", "is a number"],
  ['"gpt2"', "is a string"],
  ["{}", "no model_type"],
  ['{"model_type": ["gpt2"]}', 'is ["gpt2"], not a name'],
  ['{"model_type": "constructor"}', "unknown here"],
  ['{"model_type": "qwen3_moe"}', "mixture of experts"],
  ['{"model_type": "mixtral"}', "mixture of experts"],
  ['{"model_type": "gemma3_text"}', "Gemma"],
  ['{"model_type": "bert"}', "both directions"],
  ['{"model_type": "qwen2_vl"}', "text_config"],
  ["[".repeat(90_000) + "]".repeat(90_000), "characters"],
  [`{"model_type": "gpt2", "deep": ${"[".repeat(11)}${"]".repeat(11)}}`, "nested"],
  [`{"model_type": ${"[".repeat(40_000)}${"]".repeat(40_000)}}`, "nested"],
  [" ".repeat(5e6), "5,000,000 characters"],
  [JSON.stringify(Object.fromEntries(Array(999).fill(0).entries())), "999 lines"],
])("%.40s is refused", (given, sentence) => {
  expect(why(given)).toContain(sentence);
  expect(why(given).length).toBeLessThan(600);
});

test("problems are named together, with what is wrong", () => {
  const says = (name, changes) => why(JSON.stringify({ ...JSON.parse(text(name)), ...changes }));
  expect(says("gpt2", { n_head: 13 })).toContain("n_embd = 768 is not divisible by n_head = 13");
  expect(says("gpt2", { n_layer: -1, n_head: 0 })).toMatch(/n_layer is -1.*; n_head is 0/);
  const endless = text("llama-3-8b").replace("500000.0", "1e999");
  expect(why(endless)).toContain("rope_theta is Infinity, not a finite number");
  expect(says("llama-3-8b", { rope_scaling: { rope_type: "yarn" } })).toContain(
    "rescales the scores",
  );
  expect(says("llama-3-8b", { rope_scaling: { rope_type: "toString" } })).toContain("unknown here");
  const { rope_scaling: rope } = JSON.parse(text("llama-3.1-8b"));
  const equal = { ...rope, high_freq_factor: rope.low_freq_factor };
  expect(says("llama-3.1-8b", { rope_scaling: equal })).toContain("not above its low_freq_factor");
  expect(says("llama-3-8b", { num_local_experts: 8 })).toContain("mixture of experts");
  expect(says("llama-3-8b", { num_attention_heads: 30, num_key_value_heads: 30 })).toContain(
    "4096",
  );
  expect(says("qwen3-0.6b", { layer_types: ["full_attention", "sliding_attention"] })).toContain(
    '"sliding_attention"',
  );
  const lacking = why('{"model_type": "llama"}');
  expect(lacking).toContain("vocab_size is missing");
  expect(lacking).toContain("and 2 more");
});

test("every line of a card has one entry, and says something", () => {
  for (const name of Object.keys(examples)) {
    const card = read(text(name));
    const entries = lines(card);
    for (const [key, value] of Object.entries(card.stored)) {
      const found = entries.filter(({ line }) => line.startsWith(`"${key}": `));
      expect(found.length, `${name}: ${key}`).toBe(1);
      expect(found[0].says.length).toBeGreaterThan(10);
      expect(found[0].kind, `${key} ${value}`).not.toBe("unknown");
    }
    for (const { place } of entries) if (place) expect(address(place)).toMatch(/^\.\.\/\w+\/\w+/);
    expect(entries.every(({ says }) => !/NaN|undefined|null|Infinity/.test(says))).toBe(true);
  }
});

test("what one family has no line for is told for the other", () => {
  const told = lines(example("gpt2")).filter(({ line }) => !line);
  const topics = Object.fromEntries(told.map(({ topic, says }) => [topic, says]));
  expect(topics.num_key_value_heads).toContain("each of the 12 query heads has its own");
  expect(topics.head_dim).toContain("a head has 64 columns. 12 heads together have 768");
  expect(topics.mlp_bias).toContain("have biases");
});

test("a line that is unknown is said to be so", () => {
  const card = example("gpt2", { constructor: 1, toString: [2], n_layerz: "<b>12</b>" });
  const unknown = lines(card).filter(({ kind }) => kind === "unknown");
  expect(unknown.map(({ topic }) => topic)).toEqual(["constructor", "toString", "n_layerz"]);
});

test("a missing line with a default is named with it", () => {
  const says = Object.fromEntries(
    lines(example("llama-3-8b")).map(({ line, says }) => [line, says]),
  );
  expect(says.head_dim).toMatch(/^Not in the card.*128 columns/);
  expect(says['"num_key_value_heads": 8']).toContain("4 times smaller");
});

test("what fits is weights and cache together", () => {
  const card = example("llama-3.1-8b");
  const [, laptop] = DEVICES.find(([name]) => name.includes("16 GB"));
  const fits = (each, tokens) => share(card, tokens, each, laptop) <= FULL;
  expect(FORMS.map(([, each]) => fits(each, 1024))).toEqual([false, false, true, true]);
  expect(fits(0.5, 131_072)).toBe(false); // 4 GB of weights, 17 GB of cache
  expect(share(card, 0, 2, laptop)).toBeCloseTo((2 * 8_030_261_248) / 16e9);
});

test("the first frame is text: nothing of a card becomes markup", async () => {
  pretend();
  const { view } = await import("../card/view.mjs");
  const card = example("gpt2", { '"><img src=x onerror=alert(1)>': "<b>&" });
  const html = view([{ name: "<i>", card }], 64).join("");
  expect(html).not.toMatch(/<(img|b|i)\b/);
  expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
  expect(LONGEST).toBeGreaterThan(10_000);
});

test("each part is shown with its share, and a part that none has is left out", async () => {
  pretend();
  const { view } = await import("../card/view.mjs");
  const shown = (...names) => {
    const [, parts] = view(
      names.map((name) => ({ name, card: example(name) })),
      64,
    );
    const rows = String(parts).split("<tr>").slice(2);
    return rows.map((row) => row.split(/<\/t[hd]>/).map((cell) => cell.replace(/<[^>]*>/g, "")));
  };
  const both = shown("gpt2", "llama-3-8b");
  expect(both[1]).toEqual(["position table", "786,432 (&lt;1\u00a0%)", "none", ""]);
  expect(both[5]).toEqual(["head", "0, the token table", "525,336,576 (7\u00a0%)", ""]);
  expect(both[6]).toEqual(["all", "124,439,808", "8,030,261,248", ""]);
  const rows = (name) => shown(name).map(([part]) => part);
  expect(rows("llama-3-8b")).toEqual(["token table", "attention", "MLP", "norms", "head", "all"]);
  expect(rows("gpt2")).toContain("head");
});
