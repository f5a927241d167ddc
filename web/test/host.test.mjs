// The engine behind messages: it writes Python's texts, drops what is stale, survives errors.

import { beforeEach, expect, test } from "vitest";
import { Engine } from "../client.mjs";
import { Host } from "../host.mjs";
import { inMemory } from "../load.mjs";
import { fromRanks } from "../tokenizer.mjs";
import { CRANE, asset, fixture } from "./files.mjs";

const { greedy, cropped } = fixture("host");
const GREEDY = { temperature: 0 };

/** An engine in this thread, with Crane World's model. */
let engine;
beforeEach(async () => {
  const port = { postMessage: (message) => host.receive(message) };
  const host = new Host((data) => port.onmessage({ data }));
  engine = new Engine(port);
  const shares = [];
  const info = await load(CRANE.weights, (share) => shares.push(share));
  expect(info.config.nHead).toBe(4);
  expect(shares.at(-1)).toBeCloseTo(1);
});

const load = (weights, onProgress) =>
  engine.load("crane", { config: CRANE.config, weights: inMemory(weights) }, onProgress);
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

test.each([
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
