// The engine behind messages: it writes Python's texts, drops what is stale, survives errors.

import { beforeEach, expect, test } from "vitest";
import { fromRanks } from "../tokenizer.mjs";
import { startEngine } from "./engine.mjs";
import { CRANE, asset, fixture } from "./files.mjs";

const { greedy, cropped } = fixture("host");
const GREEDY = { temperature: 0 };

/** An engine in this thread, with Crane World's model. */
let engine;
beforeEach(async () => {
  engine = startEngine();
  const shares = [];
  const info = await load(CRANE.weights, (share) => shares.push(share));
  expect(info.config.nHead).toBe(4);
  expect(shares.at(-1)).toBeCloseTo(1);
});

const load = (weights, onProgress) =>
  engine.load("crane", { config: CRANE.config, weights }, onProgress);
const run = (request) => engine.run("crane", { lastOnly: true, ...request });
const write = (request, onToken) =>
  engine.stream("crane", { settings: GREEDY, ...request }, onToken);

test("greedy texts are Python's", async () => {
  for (const { ids, next } of greedy) {
    const tokens = [];
    const { answer } = write({ ids, n: next.length }, (id) => tokens.push(id));
    expect((await answer).ids).toEqual(next);
    expect(tokens).toEqual(next);
  }
});

test("past the window it continues only when asked", async () => {
  const ids = Array.from({ length: 120 }, (_, i) => i);
  await expect(write({ ids, n: 20 }).answer).rejects.toThrow("window of 128");
  const settings = { ...GREEDY, overflow: "crop" };
  expect((await write({ ids, n: 20, settings }).answer).ids).toEqual(cropped);
  expect((await write({ ids, n: 9 }).answer).ids).toEqual(cropped.slice(0, 9)); // just fits
});

test("it stops at the end of a text and draws by the seed", async () => {
  const { eot } = fromRanks(asset("crane/crane.tiktoken", "latin1"));
  const settings = { topK: 50, topP: 0.9, eosId: eot };
  const texts = [];
  for (const seed of [7, 7, 8]) {
    const { answer } = write({ ids: [eot], n: 127, settings: { ...settings, seed } });
    texts.push((await answer).ids);
  }
  expect(texts[1]).toEqual(texts[0]);
  expect(texts[2]).not.toEqual(texts[0]);
  for (const ids of texts) expect(ids.indexOf(eot)).toBe(ids.length - 1);
});

test("of what is dragged only the latest is answered", async () => {
  const drags = Array.from({ length: 10 }, (_, i) => run({ ids: [i], key: "drag" }));
  const answers = await Promise.allSettled(drags);
  expect(answers.pop().status).toBe("fulfilled");
  for (const { reason } of answers) expect(reason.message).toContain("superseded");
});

test("a text that is being written can be stopped or replaced", async () => {
  const stopped = write({ ids: [1023], n: 100 }, () => stopped.cancel());
  expect((await stopped.answer).ids.length).toBe(1);
  let newer;
  const older = write({ ids: [1023], n: 100, key: "write" }, () => {
    newer ??= write({ ids: [1023], n: 2, key: "write" }).answer;
  });
  expect((await older.answer).ids.length).toBeLessThan(100);
  expect((await newer).ids.length).toBe(2);
  const waiting = [write({ ids: [1023], n: 5 }), write({ ids: [1023], n: 5 })];
  waiting[1].cancel();
  await expect(waiting[1].answer).rejects.toThrow("cancelled");
  expect((await waiting[0].answer).ids.length).toBe(5);
});

test("tensors are recorded by name and edits are applied", async () => {
  const record = ["transformer.h.1.attn.weights", "logits"];
  const { logits, noted } = await run({ ids: [1, 2, 3], record });
  expect(noted.map(({ path }) => path)).toEqual(record);
  expect(noted[0].shape).toEqual([1, 4, 3, 3]);
  const edits = { "transformer.h.1.attn.heads": { scale: 0 } };
  const edited = await run({ ids: [1, 2, 3], edits });
  expect(edited.logits).not.toEqual(logits);
  const zeros = new Float32Array(4 * 3 * 32);
  const same = await run({ ids: [1, 2, 3], edits: { "transformer.h.1.attn.heads": zeros } });
  expect(same.logits).toEqual(edited.logits);
  expect((await run({ ids: [1, 2, 3] })).noted).toEqual([]);
});

test("single numbers of a tensor are set", async () => {
  const path = "transformer.h.1.attn.weights";
  const [ids, record] = [[1, 2, 3], [path]];
  const before = await run({ ids, record });
  const set = [
    [4, 0.25],
    [9 + 8, 0],
  ]; // of heads 0 and 1
  const after = await run({ ids, record, edits: { [path]: { set } } });
  const changed = before.noted[0].values.slice();
  for (const [index, value] of set) changed[index] = value;
  expect(after.noted[0].values).toEqual(changed);
  const whole = await run({ ids, edits: { [path]: changed } });
  expect(after.logits).toEqual(whole.logits);
});

test.each(["plain", "wasm", "wasm-half", "wasm-int8", "wasm-int4"])(
  "%s gives parts of weights",
  async (backend) => {
    await engine.load("crane", { ...CRANE, backend });
    const part = (module, rows, columns) => engine.part("crane", { module, rows, columns });
    const ids = [1023, 32, 400];
    const h = "transformer.h.1.";
    const record = [`${h}ln_1`, `${h}attn.k`, `${h}mlp.act`, `${h}mlp.out`];
    const [x, k, act, out] = (await run({ ids, record })).noted.map(({ values }) => values);
    const digits = { "wasm-half": 2, "wasm-int8": 0, "wasm-int4": 0 }[backend] ?? 3;
    // of head 2 the keys, the last token's
    const c_attn = await part(`${h}attn.c_attn`, [128 + 64, 128 + 96], [0, 128]);
    expect([c_attn.weight.length, c_attn.bias.length]).toEqual([32 * 128, 32]);
    c_attn.bias.forEach((bias, o) => {
      const sum = x
        .subarray(256, 384)
        .reduce((s, v, i) => s + v * c_attn.weight[o * 128 + i], bias);
      expect(sum).toBeCloseTo(k[(2 * 3 + 2) * 32 + o], digits);
    });
    const halves = await Promise.all(
      [0, 256].map((c) => part(`${h}mlp.c_proj`, [7, 8], [c, c + 256])),
    );
    const row = halves.flatMap(({ weight }) => Array.from(weight));
    const sum = row.reduce((s, w, i) => s + w * act[1024 + i], halves[0].bias[0]);
    expect(sum).toBeCloseTo(out[256 + 7], digits);
    const request = { module: `${h}mlp.c_proj`, rows: [7, 8], columns: [0, 512], most: 3 };
    const few = await engine.part("crane", request);
    expect(Array.from(few.weight)).toEqual([row[0], row[170], row[341]]);
    const { weight, bias } = await part("transformer.ln_f", [0, 128], [0, 1]);
    expect([weight.length, bias.length]).toEqual([128, 128]);
  },
);

test.each([
  [() => engine.part("crane", { module: "constructor" }), 'no weights of "constructor"'],
  [
    () => engine.part("crane", { module: "transformer.wte" }),
    "rows must be [first, end] within 0 … 1024",
  ],
  [
    () => engine.part("crane", { module: "transformer.wte", rows: [0, 1], columns: [5, 5] }),
    "columns must be",
  ],
  [
    () => engine.part("crane", { module: "transformer.wte", rows: [0.5, 1], columns: [0, 5] }),
    "rows must be",
  ],
  [
    () => engine.part("crane", { module: "transformer.wte", most: [] }),
    "most must be a number from 1 on, not",
  ],
  [
    () => run({ ids: [1], edits: { embd: { set: [["length", 1]] } } }),
    'embd has no number "length"',
  ],
  [() => run({ ids: [1], edits: { embd: { set: [[0, "x"]] } } }), "gives no numbers"],
  [() => engine.run("other", { ids: [1] }), 'there is no model "other": load it first'],
  [() => run({ ids: [] }), "start from at least one"],
  [() => run({ ids: [1], edits: { x: { scale: 1 } } }), 'noted as "x"'],
  [() => run({ ids: [1], record: ["x"] }), 'noted as "x"'],
  [() => engine.ask({ call: "dance", model: "crane" }).answer, 'unknown call "dance"'],
  [() => load(CRANE.weights.subarray(0, CRANE.weights.length / 2)), "cut off"],
])("after an error it answers as before: %s", async (request, said) => {
  const before = await run({ ids: [1023] });
  await expect(request()).rejects.toThrow(said);
  expect(await run({ ids: [1023] })).toEqual(before);
});

test("a model that is unloaded is gone", async () => {
  expect(await engine.ask({ call: "unload", model: "crane" }).answer).toBe(true);
  await expect(run({ ids: [1] })).rejects.toThrow("load it first");
});
