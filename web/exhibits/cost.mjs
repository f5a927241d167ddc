// Chapter 18: what a step costs, on paper. Three limits, three bars of time; the longest binds, and
// more of what does not bind buys nothing.

import { Bars } from "./bars.mjs";
import { beside, choice, make } from "./dom.mjs";
import { Plot } from "./plot.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";
import { work } from "./work.mjs";

/** @import { Control } from "./switchboard.mjs" */
/** @import { Sizes } from "./work.mjs" */
/** @typedef {{peak: Record<string, number>, memory: number}} Device  FLOP/s by type; bytes/s */

const LIMITS = ["requests", "memory traffic", "arithmetic"];
/** @type {Record<string, number>} */
const BYTES = { float32: 4, tf32: 4, bfloat16: 2, float16: 2 };
const JOBS = { write: "write a token for each text", train: "train one step" };
const DOUBLE = Math.log10(2);
const MOST = 10; // doublings of the batch
const [FEWEST, MANY] = [0.1, 1e4]; // FLOP for each byte
const [SLOWEST, FASTEST] = [1e9, 1e17]; // FLOP/s
/** @type {[number, string][]} */
const UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
/** @type {[number, string][]} */
const PREFIXES = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/**
 * @param {number} value
 * @param {[number, string][]} units
 */
function short(value, units) {
  const [unit, name] = units.find(([least]) => value >= 0.9995 * least) ?? [1, ""];
  return `${Number((value / unit).toPrecision(3))} ${name}`;
}

/** @param {number} seconds */
function time(seconds) {
  if (!(seconds > 0)) return "no figure";
  return seconds < 1e-6 ? "<1 µs" : short(seconds, UNITS);
}

const ROOF =
  "The roof is what bytes/s (rising) and FLOP/s (flat) allow by the data sheet; no program quite " +
  "reaches it. The dots are 1, 2, 4 … 1,024 texts at once. Where requests bind, they hang below it.";

const whole = (/** @type {number} */ value) => Number(value.toPrecision(3)).toLocaleString("en");

/** @param {number} x @param {number} top @returns {[number, number][]} */
const upright = (x, top) => [
  [x, SLOWEST],
  [x, top],
];

/** @type {import("./exhibit.mjs").Kind} */
export function cost({ settings, state, say, sentence }) {
  const sizes = /** @type {Record<string, Sizes>} */ (settings.sizes);
  const devices = /** @type {Record<string, Device>} */ (settings.devices);
  const requests = /** @type {Record<string, [number, number]>} */ (settings.requests);
  const first = { size: "gpt2-xl", device: "T4", job: "write", type: "float16", ...settings.start };
  state.declare("size", first.size, { among: Object.keys(sizes) });
  state.declare("device", first.device, { among: Object.keys(devices) });
  state.declare("job", first.job, { among: Object.keys(JOBS) });
  state.declare("type", first.type, { among: Object.keys(BYTES) });
  state.declare("batch", 1, { min: 1, max: 1024, whole: true });
  state.declare("T", 256, { min: 16, max: 1024, whole: true });
  state.declare("wait", 5, { min: 0.1, max: 100 });
  state.declare("flops", 1, { min: 1, max: 16, whole: true });
  state.declare("bytes", 1, { min: 1, max: 16, whole: true });

  /** @param {number} B */
  const batch = (B) => state.set({ batch: B });
  const roof = new Plot({
    label: "FLOP/s against FLOP per byte; drag, or press arrow keys, to change the batch",
    x: {
      from: FEWEST,
      to: MANY,
      warp: Math.log10,
      name: "FLOP per byte",
      ticks: [0.1, 1, 10, 100, 1e3].map((n) => [n, n.toLocaleString("en")]),
    },
    y: {
      from: SLOWEST,
      to: FASTEST,
      warp: Math.log10,
      name: "FLOP/s",
      ticks: [1e11, 1e13, 1e15].map((n) => [n, short(n, PREFIXES).replace(" ", "")]),
    },
    height: 220,
    onPoint: (x) => {
      const wanted = Math.log10(FEWEST) + x * Math.log10(MANY / FEWEST);
      const away = batches.map((one) => Math.abs(Math.log10(one.intensity) - wanted));
      batch(2 ** away.indexOf(Math.min(...away)));
    },
    onStep: (x) => x && batch(state.get("batch") * 2 ** x),
  });
  const bars = new Bars({ label: "time of a step", rows: 3, write: time });
  const lines = make("pre", { class: "lines" });
  const names = Object.fromEntries(Object.keys(devices).map((name) => [name, name]));
  const device = choice(names, () => state.set({ device: device.value }));
  /** @type {(key: string, label: string, least: number, most: number, show: (value: number) => string) => Control} */
  const powers = (key, label, least, most, show) =>
    slider(key, label, { show, log: true, min: least * DOUBLE, max: most * DOUBLE, step: DOUBLE });
  const times = (/** @type {number} */ value) => `× ${value}`;
  const what = new Switchboard(
    state,
    [
      choose("job", "task", Object.entries(JOBS)),
      choose("size", "model", Object.keys(sizes)),
      choose("type", "number type", Object.keys(BYTES)),
      powers("batch", "texts at once, B", 0, MOST, String),
      powers("T", "tokens in each text, T", 4, 10, String),
    ],
    "workload",
  );
  const where = new Switchboard(
    state,
    [
      powers("flops", "its FLOP/s", 0, 4, times),
      powers("bytes", "its bytes/s", 0, 4, times),
      slider("wait", "time of a request (assumed)", {
        log: true,
        min: -1,
        max: 2,
        step: 0.05,
        show: (value) => time(value * 1e-6),
      }),
    ],
    "rates",
  );
  where.element.prepend(make("label", { class: "labelled" }, make("span", {}, "device"), device));

  /**
   * What the state asks for.
   * @param {number} B  texts
   */
  const read = (B = state.get("batch")) => {
    const of = (/** @type {string} */ key) => state.get(key);
    const chosen = sizes[of("size")];
    const T = Math.min(of("T"), chosen[4]);
    const chip = devices[of("device")];
    const done = work(chosen, of("job"), B, T, BYTES[of("type")], requests[of("job")]);
    const rates = {
      flops: (chip.peak[of("type")] ?? NaN) * of("flops"),
      bytes: chip.memory * of("bytes"),
      wait: of("wait") * 1e-6,
    };
    const seconds = [
      done.requests * rates.wait,
      done.bytes / rates.bytes,
      done.flops / rates.flops,
    ];
    const longest = Math.max(...seconds.map((one) => one || 0));
    const binds = seconds.indexOf(longest);
    const [intensity, reached] = [done.flops / done.bytes, done.flops / longest];
    const speed = done.tokens / longest;
    return { done, rates, seconds, longest, binds, speed, T, intensity, reached };
  };

  let now = read();
  let batches = [now]; // one text at once, two, four …
  /** @type {ReturnType<typeof read> | null} */
  let before = null; // the control that moves now
  let moved = "";
  let values = "";
  const keys = ["size", "device", "job", "type", "batch", "T", "wait", "flops", "bytes"];

  const tell = () => {
    const { rates, longest, binds, speed } = now;
    const bound = `Bound by ${LIMITS[binds]}: a step takes ${time(longest)} at least`;
    const most = `${bound}, so at most ${whole(speed)} tokens/s.`;
    const lacks = Number.isNaN(rates.flops)
      ? ` The data sheet of the ${state.get("device")} has no figure for ${state.get("type")}.`
      : "";
    if (!before) return most + lacks;
    const ratio = (/** @type {number} */ to, /** @type {number} */ from) =>
      Number((to / from).toPrecision(2));
    const more = ratio(rates.flops, before.rates.flops);
    const compared = [
      ...(more === 1 || Number.isNaN(more) ? [] : [`FLOP/s × ${more}`]),
      `tokens/s × ${ratio(speed, before.speed)}`,
    ];
    return `${most} Compared with before: ${compared.join(", ")}.${lacks}`;
  };

  /**
   * What arithmetic and traffic allow: both rates, and where they meet.
   * @param {typeof now.rates} rates
   */
  const roofOf = ({ flops, bytes }) => {
    const bend = (flops || Infinity) / bytes;
    const [left, right] = [FEWEST, MANY].map((x) => [x, Math.min(flops || Infinity, bytes * x)]);
    const corner = bend > FEWEST && bend < MANY ? [[bend, flops]] : [];
    return /** @type {[number, number][]} */ ([left, ...corner, right]);
  };

  const drawn = () => {
    const { rates, intensity, reached } = now;
    const was = before && roofOf(before.rates);
    const same = String(was) === String(roofOf(rates));
    batches = Array.from({ length: MOST + 1 }, (_, n) => read(2 ** n));
    const points = batches.map(
      (one) => /** @type {[number, number]} */ ([one.intensity, one.reached]),
    );
    const bend = rates.flops / rates.bytes;
    const below = /** @type {(x: number, name: string) => import("./plot.mjs").Curve} */ (
      (x, name) => ({ points: [[x, SLOWEST]], kind: "below", name })
    );
    const meet = bend > 10 && bend < MANY / 10; // with room for both names
    roof.set([
      { points: [[FEWEST, SLOWEST], ...roofOf(rates), [MANY, SLOWEST]], kind: "under" },
      ...(meet ? [{ points: upright(bend, rates.flops), kind: "bend" }] : []),
      below(1.2 * FEWEST, LIMITS[1]),
      ...(meet ? [below(MANY / 1.2, LIMITS[2])] : []),
      ...(was && !same ? [{ points: was, kind: "ghost" }] : []),
      { points: roofOf(rates), kind: "roof" },
      { points, kind: "level", dots: true },
      {
        points: [[intensity, reached]],
        kind: "now",
        dots: true,
        left: true,
        name: `B = ${state.get("batch")}`,
      },
    ]);
  };

  return {
    nodes: [
      sentence,
      bars.element,
      beside([lines, make("p", { class: "soft" }, ROOF)], roof.element),
      what.element,
      where.element,
    ],
    show: () => {
      const asked = keys.map((key) => `${key} ${state.get(key)}`);
      const changed = asked.filter((one) => !values.split("|").includes(one));
      const key = changed.map((one) => one.split(" ")[0]).join();
      if (values && key && key !== moved) before = now;
      [moved, values] = [key || moved, asked.join("|")];
      now = read();
      const full = Math.max(now.longest, before?.longest ?? 0);
      bars.set(
        LIMITS.map((name, id) => ({
          id,
          name: id === now.binds ? `${name} ◂\u00a0binds` : name,
          p: now.seconds[id] || 0,
          before: before ? before.seconds[id] || 0 : undefined,
          mark: id === now.binds ? "binds" : "",
        })),
        undefined,
        full,
      );
      drawn();
      const { done, rates, intensity } = now;
      const bend = rates.flops ? `; the roof bends at ${whole(rates.flops / rates.bytes)}` : "";
      // A training step peaks below the sum of all: its gradients come while activations go.
      const held = state.get("job") === "train" ? "at most in" : "must fit into";
      const kept = state.get("T") > now.T ? `   (its window ends at T = ${now.T})` : "";
      lines.textContent = [
        `${done.requests.toLocaleString("en")} requests × ${time(rates.wait)}`,
        `${short(done.bytes, PREFIXES)}B ÷ ${short(rates.bytes, PREFIXES)}B/s`,
        `${short(done.flops, PREFIXES)}FLOP ÷ ${short(rates.flops || 0, PREFIXES)}FLOP/s${kept}`,
        `${short(intensity, PREFIXES)}FLOP per byte${bend}`,
        `${short(done.held, PREFIXES)}B ${held} the device's memory at once`,
      ].join("\n");
      device.value = state.get("device");
      what.set();
      where.set();
      say(tell());
    },
    act: async (hand) => {
      await hand.to(device);
      const others = Object.keys(devices).filter((name) => name !== state.get("device"));
      state.set({ device: others.includes("L4") ? "L4" : others[0] });
    },
    table: () => ({
      caption: `${state.get("size")} on ${state.get("device")}, ${state.get("type")}, one step.`,
      columns: ["limit", "work", "rate", "seconds"],
      rows: [
        [LIMITS[0], `${now.done.requests}`, `${1 / now.rates.wait}`, `${now.seconds[0]}`],
        [LIMITS[1], `${now.done.bytes}`, `${now.rates.bytes}`, `${now.seconds[1]}`],
        [LIMITS[2], `${now.done.flops}`, `${now.rates.flops}`, `${now.seconds[2]}`],
      ],
    }),
  };
}
