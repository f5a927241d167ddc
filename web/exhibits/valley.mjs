// Chapter 14: a steep and a flat direction, and one learning rate for both. No rate is right for
// plain descent. AdamW's step suits the valley that lies along the axes; it can be turned.

import { CURVES, LIMIT, START, STEPS, WILD, descend, turned } from "./descent.mjs";
import { fixed, make } from "./dom.mjs";
import { Plot } from "./plot.mjs";
import { Switchboard, choose, flag, slider } from "./switchboard.mjs";

/** @import { Pair, Step } from "./descent.mjs" */

const NAMES = /** @type {Record<string, string>} */ ({
  plain: "The plain step",
  momentum: "Momentum",
  adamw: "AdamW",
});
const FAR = 3; // where a start may be
const [RIGHT, UP] = [2.6, 1.7]; // of the map
const QUIET = 250; // milliseconds
const HOME = 0.05; // so near to 0 it has arrived in a direction
const LEVELS = [0.02, 0.2, 1, 3, 7, 13]; // of the loss, whose lines are drawn

/** @type {import("./exhibit.mjs").Kind} */
export function valley({ settings, state, say }) {
  state.declare("method", "adamw", { among: Object.keys(NAMES) });
  state.declare("rate", settings.rate ?? 0.1, { min: 0.001, max: 2 });
  state.declare("turn", 0, { min: 0, max: 45 });
  state.declare("steep", START[0], { min: -FAR, max: FAR });
  state.declare("flat", START[1], { min: -FAR, max: FAR });
  for (const name of ["schedule", "clip", "wild"]) state.declare(name, false);
  const plane = new Plot({
    label: "the path from above, with lines of equal loss; the arrow keys move the start",
    x: {
      from: -RIGHT,
      to: RIGHT,
      name: "second number",
      ticks: [-2, -1, 0, 1, 2].map((n) => [n, fixed(n, 0)]),
    },
    y: {
      from: -UP,
      to: UP,
      name: "first number",
      ticks: [-1, 0, 1].map((n) => [n, fixed(n, 0)]),
    },
    height: 260,
    onPoint: (x, y) => begin([UP * (2 * y - 1), RIGHT * (2 * x - 1)]),
    onStep: (x, y) => begin([path[0].at[0] + y / 10, path[0].at[1] + x / 10]),
  });
  /** @param {Pair} at  where the path is to begin: the two numbers */
  const begin = (at) => {
    const [steep, flat] = turned(at, -state.get("turn")).map((value) => Number(value.toFixed(2)));
    state.set({ steep, flat });
  };
  const curve = new Plot({
    label: "the loss against the step",
    x: { from: 0, to: STEPS, name: "step", ticks: [0, 50, 100].map((n) => [n, String(n)]) },
    y: {
      from: 1e-5,
      to: 1e3,
      warp: Math.log10,
      name: "loss",
      ticks: [
        [1e-4, "10⁻⁴"],
        [1e-2, "10⁻²"],
        [1, "1"],
        [100, "100"],
      ],
    },
    height: 260,
  });
  const controls = new Switchboard(state, [
    slider("rate", "learning rate", {
      log: true,
      min: -3,
      max: Math.log10(2),
      step: 0.01,
      show: precise,
    }),
    choose("method", "step", [
      ["plain", "plain"],
      ["momentum", "momentum"],
      ["adamw", "AdamW"],
    ]),
    slider("turn", "turn the valley by", {
      max: 45,
      step: 1,
      show: (degrees) => `${fixed(degrees, 0)}°`,
    }),
    flag("schedule", "warm-up and cosine"),
    flag("wild", `a wild batch at step ${WILD.step}`),
    flag("clip", `clip gradients to ${LIMIT}`),
  ]);
  /** @param {Pair} at  → right and up */
  const seen = ([first, second]) => /** @type {Pair} */ ([second, first]);
  const levels = (/** @type {number} */ turn) =>
    LEVELS.map((level) => ({
      points: Array.from({ length: 61 }, (_, i) => {
        const [steep, flat] = CURVES.map((c) => Math.sqrt((2 * level) / c));
        const way = (i * Math.PI) / 30;
        return seen(turned([steep * Math.sin(way), flat * Math.cos(way)], turn));
      }),
      kind: "level",
    }));
  /** @type {Step[]} */
  let path = [];
  let shownAt = 0; // milliseconds: while a slider moves, the path is not redrawn each time

  const read = () => {
    const [method, rate, turn] = state.all("method", "rate", "turn");
    const [schedule, clip, wild] = state.all("schedule", "clip", "wild");
    const start = /** @type {Pair} */ (state.all("steep", "flat"));
    return { method, rate, turn, schedule, clip, wild, start };
  };

  const helped = () => state.get("schedule") || state.get("clip");

  const sentence = () => {
    const { method, rate } = read();
    const who = `${NAMES[method]} at rate ${precise(rate)}`;
    const end = path[path.length - 1];
    const [steep, flat] = end.along;
    if (path.length <= STEPS) {
      const at = Math.round(steep).toLocaleString("en").replace("-", "−");
      return `${who} leaps out. After ${path.length - 1} steps it is at ${at} in the steep direction.`;
    }
    const home = end.along.map((value) => Math.abs(value) < HOME);
    const where = `the steep direction is at ${fixed(steep, 2)}, the flat one at ${fixed(flat, 2)}`;
    const said =
      home[0] && home[1]
        ? "Both are home."
        : home[0]
          ? "The flat one is not home yet."
          : home[1]
            ? "The steep one is not home."
            : "Neither is home.";
    const most = ` Above rate ${precise(2 / CURVES[0])} the steep one leaps out.`;
    const near = rate > 0.7 * (2 / CURVES[0]); // the answer, for who has come near it
    const bound = method === "plain" && near && !home.every(Boolean) && !helped() ? most : "";
    const [calm, ...after] = path.slice(WILD.step - 1).map((one) => one.along[1]);
    const thrown = Math.min(...after);
    const wild = state.get("wild")
      ? ` The wild batch threw the flat one from ${fixed(calm, 2)} to ${fixed(thrown, 2)}.`
      : "";
    return `${who}. After ${STEPS} steps ${where}. ${said}${wild}${bound}`;
  };

  return {
    nodes: [
      make("p", { class: "soft" }, "Click where the path should begin, or drag the start."),
      make("div", { class: "sides valleys" }, plane.element, curve.element),
      controls.element,
    ],
    show: () => {
      const run = read();
      path = descend(run);
      const plain = { ...run, method: "plain", schedule: false, clip: false, wild: false };
      const ghost = descend(plain);
      const differs = run.method !== "plain" || run.schedule || run.clip || run.wild;
      const grows = performance.now() - shownAt > QUIET;
      shownAt = performance.now();
      const seenAll = (/** @type {Step[]} */ steps) => steps.map(({ at }) => seen(at));
      const losses = (/** @type {Step[]} */ steps) =>
        steps.map((one, i) => /** @type {[number, number]} */ ([i, Math.max(one.loss, 1e-9)]));
      plane.set([
        ...levels(run.turn),
        ...(differs ? [{ points: seenAll(ghost), kind: "ghost" }] : []),
        { points: seenAll(path), kind: "now", dots: true, grows },
        { points: [seen(path[0].at)], kind: "now", dots: true, name: "start" },
        { points: [[0, 0]], kind: "goal", dots: true },
        { points: [[0.1, -0.8]], name: "home" },
      ]);
      curve.set([
        ...(differs ? [{ points: losses(ghost), kind: "ghost", name: "plain" }] : []),
        { points: losses(path), kind: "now", grows },
      ]);
      controls.set();
      say(sentence());
    },
    act: async (hand) => {
      state.set({ method: "adamw", rate: 0.1, turn: 0 });
      await hand.press(hand.find(".choice button"));
      await hand.slide("learning rate", Math.log10(0.19), 800);
      await hand.press(hand.find(".choice button", 2));
      await hand.slide("turn the valley by", 45);
    },
    table: () => ({
      caption: `The path. The loss at the start is ${fixed(path[0]?.loss ?? 0, 2)}.`,
      columns: ["step", "rate", "steep", "flat", "loss"],
      rows: path
        .map(({ along: [steep, flat], loss, rate }, i) => [
          String(i),
          fixed(rate, 4),
          steep,
          flat,
          loss,
        ])
        .filter((_, i) => i % 10 === 0 || i === path.length - 1),
    }),
  };
}

/** @param {number} rate */
function precise(rate) {
  return String(Number(rate.toPrecision(3)));
}
