// Requests that nobody should send, and memory that ends: the engine answers in plain sentences, and
// then as before.

import { describe, expect, test } from "vitest";
import { Host } from "../host.mjs";
import { inMemory } from "../load.mjs";
import { bytes, randomModel } from "./cases.mjs";
import { ODD, fixture } from "./files.mjs";

const files = ({ config, weights }) => ({ config, weights: inMemory(weights) });
const LONG = randomModel({ vocab_size: 7, n_positions: 256, n_layer: 2, n_head: 2, n_embd: 64 });

/** A host with a model, and a way to ask it. */
async function started(own = ODD, backend = "wasm") {
  const waiting = new Map();
  const strays = [];
  let last = 0;
  const host = new Host((answer) => {
    if (answer.progress !== undefined || answer.token !== undefined) return;
    if (waiting.has(answer.id)) waiting.get(answer.id)(answer);
    else strays.push(answer);
  });
  const ask = (request) =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      host.receive({ id: last, model: "m", ...request });
    });
  const run = (more) => ask({ call: "run", ids: [1, 2, 3], ...more });
  const stream = (settings, more) => ask({ call: "stream", ids: [1, 2], n: 2, settings, ...more });
  await ask({ call: "load", backend, ...files(own) });
  return { host, ask, run, stream, strays };
}

// What a program would say, and not this one.
const RAW =
  /undefined|\[object|\bnull\b.*propert|Cannot |Invalid |not iterable|\n| at \w+ \(|not a function|allocation|call stack|JSON\.parse|Unexpected|out of (range|bounds)/;
function plain(error) {
  expect(error).not.toMatch(RAW);
  expect(error.length).toBeLessThan(400);
}

const circular = {};
circular.self = circular;
const ODDITIES = [null, true, 0, -1, 1.5, NaN, Infinity, 2 ** 53, 1e308, 7n, "", "x", "5"];
ODDITIES.push(
  "💥".repeat(999),
  "constructor",
  [],
  [1],
  ["x"],
  [[]],
  {},
  { length: 3 },
  new Set([1]),
);
ODDITIES.push(new Map(), new Date(0), /x/, new ArrayBuffer(8), new DataView(new ArrayBuffer(12)));
ODDITIES.push(new BigInt64Array(3), undefined, circular, Array(3), Array(1e5));
ODDITIES.push(JSON.parse("[".repeat(5000) + "]".repeat(5000)));
const HEADS = "transformer.h.0.attn.heads"; // 3 heads, 3 tokens, 7 numbers

const inRun = (make) => (odd) => ({ call: "run", ids: [1, 2, 3], ...make(odd) });
const inSettings = (knob) => (odd) => ({
  call: "stream",
  ids: [1],
  n: 2,
  settings: { [knob]: odd },
});
const [lora] = Object.values(fixture("ask").adapters);
const adapt = (make) => (odd) => {
  const own = files({ config: lora.config, weights: bytes(lora.weights) });
  return { call: "adapt", as: "n", ...own, ...make(odd) };
};
// How each is sent, and the most of the oddities that are accepted: null, where anything may come.
const SENT = {
  model: [(odd) => ({ call: "run", ids: [1], model: odd }), 0],
  ids: [inRun((odd) => ({ ids: odd })), 1],
  "an id": [inRun((odd) => ({ ids: [1, odd] })), 1],
  record: [inRun((odd) => ({ record: odd })), 7],
  "a path": [inRun((odd) => ({ record: [odd] })), 0],
  edits: [inRun((odd) => ({ edits: odd })), null],
  "an edit": [inRun((odd) => ({ edits: { [HEADS]: odd } })), 0],
  "an edit's number": [inRun((odd) => ({ edits: { [HEADS]: Array(63).fill(odd) } })), 15],
  "an edit's scale": [inRun((odd) => ({ edits: { [HEADS]: { scale: odd } } })), 5],
  switches: [inRun((odd) => ({ switches: odd })), null],
  "a switch": [inRun((odd) => ({ switches: { mask: odd } })), 1],
  gelu: [inRun((odd) => ({ switches: { gelu: odd } })), 1],
  headsOff: [inRun((odd) => ({ switches: { headsOff: odd } })), null],
  "a head": [inRun((odd) => ({ switches: { headsOff: new Set([odd]) } })), 0],
  order: [inRun((odd) => ({ switches: { order: odd } })), 3],
  "a block": [inRun((odd) => ({ switches: { order: [odd] } })), 1],
  lastOnly: [inRun((odd) => ({ lastOnly: odd })), null],
  n: [(odd) => ({ call: "stream", ids: [1], n: odd }), 1],
  "a prompt": [(odd) => ({ call: "stream", ids: odd, n: 2 }), 1],
  settings: [(odd) => ({ call: "stream", ids: [1], n: 2, settings: odd }), null],
  temperature: [inSettings("temperature"), 5],
  topK: [inSettings("topK"), 4],
  topP: [inSettings("topP"), 2],
  seed: [inSettings("seed"), 3],
  eosId: [inSettings("eosId"), null],
  overflow: [inSettings("overflow"), 1],
  tape: [inSettings("tape"), null],
  config: [(odd) => ({ ...files(ODD), call: "load", config: odd }), 0],
  weights: [(odd) => ({ ...files(ODD), call: "load", weights: odd }), 0],
  "an adapted model": [adapt((odd) => ({ as: odd })), 5],
  "an adapter's config": [adapt((odd) => ({ config: odd })), 0],
  "an adapter's weights": [adapt((odd) => ({ weights: odd })), 0],
  "a strength": [(odd) => ({ call: "strengthen", strength: odd }), 0],
  "a download": [(odd) => ({ call: "download", name: odd }), 0],
};

test.each(Object.entries(SENT))("%s may be anything", async (_, [make, most]) => {
  const { ask, run } = await started();
  const before = await run();
  let accepted = 0;
  for (const odd of ODDITIES) {
    const { error } = await ask(make(odd));
    if (error === undefined) accepted++;
    else plain(error);
  }
  if (most !== null) expect(accepted).toBe(most);
  expect((await run()).result).toEqual(before.result);
});

test("what is no request is answered", async () => {
  const { host, run, strays } = await started();
  for (const odd of ODDITIES) host.receive(odd);
  for (const call of ODDITIES) if (typeof call !== "string") host.receive({ id: 0, call });
  host.receive({ id: 0, call: "cancel", target: 12345 });
  for (const { error } of strays) plain(error);
  expect(strays.length).toBeGreaterThan(50);
  expect((await run()).error).toBeUndefined();
});

test("only heads that are there can be switched off", async () => {
  const { run } = await started();
  const names = ["0.0", "1.2", "0.3", "2.0", "0.-1", "-1.0", "0.1e9", "0", "0.", "0.0.0", "0.99"];
  const errors = [];
  for (const head of names) errors.push((await run({ switches: { headsOff: [head] } })).error);
  expect(names.filter((_, i) => errors[i] === undefined)).toEqual(["0.0", "1.2"]);
});

test("ten million tokens are refused by their number", async () => {
  const { run, stream } = await started();
  const { error } = await run({ ids: new Float64Array(1e7) });
  expect(error).toContain("10000000 tokens are too many");
  const long = await stream({}, { ids: Array(1e7).fill(1) });
  expect(long.error).toContain("10000000 tokens and 2 new ones do not fit");
  expect((await stream({}, { n: 2 ** 53 })).error).toContain("0 or more");
  expect((await stream({}, { ids: Int32Array.of(1, 2) })).result.ids.length).toBe(2);
});

test("requests that cross are answered in their order", async () => {
  const { ask, run, stream } = await started();
  const load = () => ask({ call: "load", ...files(ODD) });
  const sent = [stream({ overflow: "crop" }, { n: 30 }), load(), run(), ask({ call: "unload" })];
  const answers = await Promise.all([...sent, run(), load(), run()]);
  const missing = 'there is no model "m": load it first';
  const errors = answers.map(({ error }) => error);
  expect(errors).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    missing,
    undefined,
    undefined,
  ]);
  expect(answers[0].result.ids.length).toBe(30);
});

describe.each(["plain", "wasm", "wasm-half", "wasm-int8", "wasm-int4"])(
  "where memory ends in %s",
  (backend) => {
    const real = { grow: WebAssembly.Memory.prototype.grow, Float32Array, ArrayBuffer };
    const scarce = (type, most) =>
      new Proxy(type, {
        construct(target, [length, ...rest], self) {
          if (typeof length === "number" && length > most)
            throw new RangeError("allocation failed");
          return Reflect.construct(target, [length, ...rest], self);
        },
      });
    const end = () => {
      WebAssembly.Memory.prototype.grow = () => {
        throw new RangeError("Unable to grow instance memory");
      };
      globalThis.Float32Array = scarce(real.Float32Array, 5000);
      globalThis.ArrayBuffer = scarce(real.ArrayBuffer, 1 << 20);
    };
    const enough = () => {
      WebAssembly.Memory.prototype.grow = real.grow;
      Object.assign(globalThis, { Float32Array: real.Float32Array, ArrayBuffer: real.ArrayBuffer });
    };

    test("there is a sentence, and the older model", async () => {
      const { ask, run, stream } = await started(LONG, backend);
      const before = await run();
      const tokens = { ids: Array(200).fill(1) };
      end();
      let answers;
      try {
        const loading = await ask({ call: "load", backend, ...files(LONG) });
        answers = [loading, await run(tokens), await stream({}, tokens)];
      } finally {
        enough();
      }
      const [loading, running, streaming] = answers.map(({ error }) => error);
      expect(loading).toContain("no room for 1 million parameters: choose a smaller model");
      expect(running).toContain("no memory left: use fewer tokens");
      expect(streaming).toContain("no memory left: use fewer tokens");
      expect((await run()).result).toEqual(before.result);
      expect((await run(tokens)).error).toBeUndefined();
    });
  },
);

test("passes of every length want no more memory than the longest", async () => {
  const { host, run } = await started(LONG);
  const held = () => host.models.get("m").backend.memory.buffer.byteLength;
  await run({ ids: Array(200).fill(1) });
  const longest = held();
  for (let n = 1; n <= 200; n++) await run({ ids: Array(n).fill(1), lastOnly: true });
  expect(held()).toBe(longest);
});

test("a second text wants no more memory than the first", async () => {
  const { host, stream } = await started(LONG);
  const { backend } = host.models.get("m");
  await stream();
  const first = backend.used;
  await stream();
  expect(backend.used).toBe(first);
});
