// Sends a host every request that nobody should send, {folder, long}, and prints each one's answer;
// after each a good request must have the answer that it had before. Then: memory that ends, memory
// beyond 2 GiB, and memory after passes of every length.

import { readFileSync, writeFileSync } from "node:fs";
import { pickBackend } from "../../web/backend.mjs";
import { Host } from "../../web/host.mjs";
import { inMemory, loadModel } from "../../web/load.mjs";

const { folder, long } = JSON.parse(readFileSync(0, "utf8"));
const files = (from) => ({
  config: readFileSync(`${from}/config.json`, "utf8"),
  weights: inMemory(readFileSync(`${from}/model.safetensors`)),
});
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
const good = async () => (await run()).result.logits.join();

const ODD = [
  null,
  true,
  0,
  -1,
  1.5,
  NaN,
  Infinity,
  2 ** 53,
  1e308,
  7n,
  "",
  "x",
  "5",
  "💥".repeat(999),
  "constructor",
];
ODD.push([], [1], ["x"], [[]], {}, { length: 3 }, new Set([1]), new Map(), new Date(0), /x/);
ODD.push(new ArrayBuffer(8), new DataView(new ArrayBuffer(12)), new BigInt64Array(3), undefined);
const circular = {};
circular.self = circular;
ODD.push(circular, JSON.parse("[".repeat(5000) + "]".repeat(5000)), Array(3), Array(1e5));
const H = "transformer.h.0.attn.heads"; // 3 heads, 3 tokens, 7 numbers

/** @type {Record<string, (odd: any) => object>} */
const SENT = {
  call: (odd) => ({ call: odd }),
  model: (odd) => ({ call: "run", ids: [1], model: odd }),
  "run ids": (odd) => ({ call: "run", ids: odd }),
  "run an id": (odd) => ({ call: "run", ids: [1, odd] }),
  record: (odd) => ({ call: "run", ids: [1], record: odd }),
  "record a path": (odd) => ({ call: "run", ids: [1], record: [odd] }),
  edits: (odd) => ({ call: "run", ids: [1], edits: odd }),
  "an edit": (odd) => ({ call: "run", ids: [1, 2, 3], edits: { [H]: odd } }),
  "an edit elsewhere": (odd) => ({
    call: "run",
    ids: [1],
    edits: { [`a ${typeof odd}`.slice(0, 5)]: { scale: 1 } },
  }),
  "an edit's number": (odd) => ({
    call: "run",
    ids: [1, 2, 3],
    edits: { [H]: Array(63).fill(odd) },
  }),
  "an edit's scale": (odd) => ({ call: "run", ids: [1], edits: { [H]: { scale: odd } } }),
  switches: (odd) => ({ call: "run", ids: [1], switches: odd }),
  "a switch": (odd) => ({ call: "run", ids: [1], switches: { mask: odd } }),
  gelu: (odd) => ({ call: "run", ids: [1], switches: { gelu: odd } }),
  headsOff: (odd) => ({ call: "run", ids: [1], switches: { headsOff: odd } }),
  order: (odd) => ({ call: "run", ids: [1], switches: { order: odd } }),
  "a block": (odd) => ({ call: "run", ids: [1], switches: { order: [odd] } }),
  "a head": (odd) => ({ call: "run", ids: [1], switches: { headsOff: new Set([odd]) } }),
  lastOnly: (odd) => ({ call: "run", ids: [1], lastOnly: odd }),
  "stream ids": (odd) => ({ call: "stream", ids: odd, n: 2 }),
  n: (odd) => ({ call: "stream", ids: [1], n: odd }),
  settings: (odd) => ({ call: "stream", ids: [1], n: 2, settings: odd }),
  config: (odd) => ({ ...files(folder), call: "load", config: odd }),
  weights: (odd) => ({ ...files(folder), call: "load", weights: odd }),
  backend: (odd) => ({ ...files(folder), call: "load", backend: odd }),
  unload: (odd) => ({ call: "unload", model: { odd } }),
  "a download": (odd) => ({ call: "download", name: odd }),
};
for (const knob of [
  "temperature",
  "topK",
  "topP",
  "seed",
  "eosId",
  "overflow",
  "switches",
  "tape",
]) {
  SENT[knob] = (odd) => ({ call: "stream", ids: [1], n: 2, settings: { [knob]: odd } });
}

await ask({ call: "load", ...files(folder) });
const before = await good();
const answers = [];
for (const [what, make] of Object.entries(SENT)) {
  for (const [i, odd] of ODD.entries()) {
    const request = make(odd);
    if (typeof request.call !== "string") {
      host.receive(request);
      answers.push({ what, i, ...strays.pop() });
      continue;
    }
    const { error } = await ask(request);
    answers.push({ what, i, error, refused: error !== undefined });
    if (what === "backend" && error === undefined) await ask({ call: "load", ...files(folder) });
  }
  answers.push({ what: `after ${what}`, alive: (await good()) === before });
}
for (const message of ODD) host.receive(message);
answers.push(
  ...strays.splice(0).map(({ error }) => ({ what: "no request", error, refused: true })),
);
host.receive({ id: 0, call: "cancel", target: 12345 });

const HEADS = [
  "0.0",
  "1.2",
  "0.3",
  "2.0",
  "0.-1",
  "-1.0",
  "0.1e9",
  "0",
  "0.",
  "0.0.0",
  "00.1",
  "0.99",
];
const heads = {};
for (const head of HEADS) heads[head] = (await run({ switches: { headsOff: [head] } })).error ?? "";
const knobs = {
  "n huge": (await stream({}, { n: 2 ** 53 })).error,
  "long prompt": (await stream({}, { ids: Array(1e7).fill(1) })).error,
  "long ids": (await run({ ids: new Float64Array(1e7) })).error,
  typed: (await stream({}, { ids: Int32Array.of(1, 2) })).result.ids.length,
};

// Requests that cross each other.
const crossed = await Promise.all([
  stream({ overflow: "crop" }, { n: 30 }),
  ask({ call: "load", ...files(folder) }),
  run(),
  ask({ call: "unload" }),
  run(),
  ask({ call: "load", ...files(folder) }),
  run(),
]);

// Where memory ends.
const memory = {};
const real = { grow: WebAssembly.Memory.prototype.grow, Float32Array, ArrayBuffer };
const scarce = (type, most) =>
  new Proxy(type, {
    construct(target, [length, ...rest], self) {
      if (typeof length === "number" && length > most)
        throw new RangeError("Array buffer allocation failed");
      return Reflect.construct(target, [length, ...rest], self);
    },
  });
const enough = () => {
  WebAssembly.Memory.prototype.grow = real.grow;
  Object.assign(globalThis, { Float32Array: real.Float32Array, ArrayBuffer: real.ArrayBuffer });
};
const end = () => {
  WebAssembly.Memory.prototype.grow = () => {
    throw new RangeError("WebAssembly.Memory.grow(): Unable to grow instance memory");
  };
  globalThis.Float32Array = scarce(real.Float32Array, 5000);
  globalThis.ArrayBuffer = scarce(real.ArrayBuffer, 1 << 20);
};
for (const backend of ["plain", "wasm", "wasm-half", "wasm-int8"]) {
  await ask({ call: "load", backend, ...files(long) });
  const whole = await good();
  const tokens = { ids: Array(200).fill(1) };
  end();
  const loading = (await ask({ call: "load", backend, ...files(long) })).error;
  const running = (await run(tokens)).error;
  const streaming = (await stream({}, tokens)).error;
  enough();
  memory[backend] = { loading, running, streaming, alive: (await good()) === whole };
  memory[backend].again = (await run(tokens)).error;
}

// Passes of every length want no more memory than the longest.
await ask({ call: "load", backend: "wasm", ...files(long) });
await run({ ids: Array(200).fill(1) });
const held = () => host.models.get("m").backend.memory.buffer.byteLength;
const longest = held();
for (let length = 1; length <= 200; length++)
  await run({ ids: Array(length).fill(1), lastOnly: true });

// Places beyond 2 GiB, where numbers of 32 bits are negative.
const far = {};
for (const format of ["wasm", "wasm-half", "wasm-int8"]) {
  const logits = [];
  for (const used of [16, 2 ** 31 - 4096]) {
    const { config, weights } = files(folder);
    const backend = await pickBackend(format);
    backend.used = used;
    const model = await loadModel(config, weights, () => backend);
    logits.push((await model.forward([1, 2, 3, 4, 5])).join());
  }
  far[format] = logits[0] === logits[1];
}
const grown = held() - longest;
writeFileSync(1, JSON.stringify({ answers, heads, knobs, crossed, memory, grown, far }));
