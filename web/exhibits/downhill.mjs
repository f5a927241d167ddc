// Chapter 2: what training is. One number is nudged downhill on the loss, then two; with the second,
// the model can tell the marsh from the city.

import { Bars } from "./bars.mjs";
import { fixed, make } from "./dom.mjs";
import { contour, lowest, measure, pAte, walk } from "./nudges.mjs";
import { Plot } from "./plot.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

/** @import { Count, Pair } from "./nudges.mjs" */

const REACH = 3; // of the two numbers, up and down
const STEPS = 100;
const LEVELS = [0.6, 0.7, 0.9, 1.2, 1.6, 2.1, 2.7]; // of the loss, whose lines are drawn
const MOST = 2.1; // of the loss that the curve shows
const ARRIVED = 0.002; // above the lowest loss

/** @type {import("./exhibit.mjs").Kind} */
export function downhill({ settings, state, say }) {
  const counts = /** @type {Count[]} */ (settings.counts);
  const start = /** @type {Pair} */ (settings.start);
  const places = /** @type {string[]} */ (settings.places);
  state.declare("numbers", "one", { among: ["one", "two"] });
  state.declare("steps", 0, { min: 0, max: STEPS, whole: true });
  state.declare("rate", settings.rate, { min: 0.1, max: 30 });
  state.declare("a", start[0], { min: -REACH, max: REACH });
  state.declare("b", start[1], { min: -REACH, max: REACH });

  const both = () => state.get("numbers") === "two";
  const ticks = /** @type {[number, string][]} */ (
    [-2, 0, 2].map((value) => [value, fixed(value, 0)])
  );
  const axis = { from: -REACH, to: REACH, ticks };
  /** @param {Pair} at  where the path is to begin */
  const begin = (at) => {
    const [a, b] = at.map((value) => Number(value.toFixed(2)));
    state.set(both() ? { a, b, steps: 0 } : { a, steps: 0 });
  };
  const free = {
    height: 250,
    onPoint: (/** @type {number} */ x, /** @type {number} */ y) =>
      begin([REACH * (2 * x - 1), REACH * (2 * y - 1)]),
    onStep: (/** @type {number} */ right, /** @type {number} */ up) =>
      begin([path[0][0] + 0.1 * right, path[0][1] + 0.1 * up]),
  };
  const curve = new Plot({
    label: "the loss against the first number; arrow keys move the start",
    x: { ...axis, name: "first number" },
    y: { from: 0.4, to: MOST, name: "loss", ticks: [0.5, 1, 1.5, 2].map((y) => [y, String(y)]) },
    ...free,
  });
  const map = new Plot({
    label: "lines of equal loss over both numbers, and the path; arrow keys move the start",
    x: { ...axis, name: "first number" },
    y: { ...axis, name: "second number" },
    ...free,
  });
  const bars = new Bars({ label: "probability of ␣ate", rows: places.length });
  const controls = new Switchboard(state, [
    choose("numbers", "adjustable numbers", ["one", "two"]),
    slider("steps", "steps", { max: STEPS, step: 1, decimals: 0 }),
    slider("rate", "learning rate", { log: true, min: -1, max: 1.4, step: 0.01 }),
  ]);
  const plots = make("div", {});
  const homes = { one: lowest(counts, false), two: lowest(counts, true) };
  const line = Array.from({ length: 121 }, (_, i) => REACH * (i / 60 - 1));
  const rings = LEVELS.map((level) => ({ points: contour(counts, level), kind: "level" }));
  const flat = /** @type {Pair[]} */ (
    line.map((a) => [a, measure(counts, [a, 0]).loss]) // with the second number at 0
  );
  /** @type {Pair[]} */
  let path = [];

  const read = () => ({
    start: /** @type {Pair} */ ([state.get("a"), both() ? state.get("b") : 0]),
    steps: state.get("steps"),
    rate: state.get("rate"),
    both: both(),
  });

  /** A piece of the slope where the model is. @param {Pair} at */
  const tangent = (at) => {
    const { loss, slope } = measure(counts, at);
    const reach = 0.7 / Math.hypot(1, slope[0]);
    return /** @type {Pair[]} */ ([-reach, reach].map((by) => [at[0] + by, loss + by * slope[0]]));
  };

  const sentence = () => {
    const { steps, rate } = read();
    const at = path[path.length - 1];
    const { loss, slope } = measure(counts, at);
    const least = measure(counts, homes[both() ? "two" : "one"]).loss;
    const who = both()
      ? `The numbers are ${fixed(at[0], 2)} and ${fixed(at[1], 2)}`
      : `The number is ${fixed(at[0], 2)}`;
    const where = `${who}, and the loss is ${fixed(loss)}`;
    if (loss - least < ARRIVED) {
      return both()
        ? `${where}, as low as it gets. In the marsh ␣ate has probability ${fixed(pAte(at, 1), 2)}, in the city ${fixed(pAte(at, -1), 2)}. The second number tells the places apart.`
        : `${where}, as low as one number gets. ␣ate has probability ${fixed(pAte(at, 1), 2)} everywhere. Give the model a second number.`;
    }
    const before = steps ? measure(counts, path[steps - 1]).loss : Infinity;
    if (loss > before)
      return `${where}. The last step went too far, and the loss rose: the rate is too high.`;
    const rates = Number(rate.toPrecision(2));
    const next = walk(counts, { ...read(), start: at, steps: 1 })[1].map((one) => fixed(one, 2));
    if (both()) {
      return `${where}. The slopes are ${fixed(slope[0])} and ${fixed(slope[1])}. The next step subtracts ${rates} times the slopes and leads to ${next[0]} and ${next[1]}.`;
    }
    const way = slope[0] > 0 ? "up" : "down";
    const factor = slope[0] < 0 ? `(${fixed(slope[0])})` : fixed(slope[0]);
    return `${where}. To the right it goes ${way}, with slope ${fixed(slope[0])}. The next step leads to ${fixed(at[0], 2)} − ${rates} · ${factor} = ${next[0]}.`;
  };

  return {
    nodes: [
      make(
        "p",
        { class: "soft" },
        "Move the slider, or click in the picture to choose another start.",
      ),
      controls.element,
      make("div", { class: "sides valleys" }, plots, bars.element),
    ],
    show: () => {
      const run = read();
      path = walk(counts, run);
      const at = path[path.length - 1];
      const home = homes[run.both ? "two" : "one"];
      const shown = run.both ? map : curve;
      if (plots.firstChild !== shown.element) plots.replaceChildren(shown.element);
      const lossAt = (/** @type {Pair} */ one) =>
        /** @type {Pair} */ ([one[0], measure(counts, one).loss]);
      if (run.both) {
        map.set([
          ...rings,
          { points: [home], kind: "goal", dots: true },
          { points: path, kind: "now", dots: true, name: "now" },
        ]);
      } else {
        curve.set([
          { points: flat },
          { points: [lossAt(home)], kind: "goal", dots: true },
          { points: tangent(at), kind: "ghost" },
          { points: path.map(lossAt), kind: "now", dots: true, name: "now" },
        ]);
      }
      const before = path[0];
      bars.set(
        counts.map(({ place }, id) => ({
          id,
          name: places[id],
          p: pAte(at, place),
          before: run.steps ? pAte(before, place) : undefined,
          mark: "bird",
        })),
      );
      controls.set();
      say(sentence());
    },
    act: async (hand) => {
      state.set({ numbers: "one", steps: 0, rate: settings.rate, a: start[0], b: start[1] });
      await hand.slide("steps", 40);
      await hand.press(hand.find(".choice button", 1));
      await hand.slide("steps", STEPS);
    },
    table: () => ({
      caption: "The path, every tenth step",
      columns: ["step", "first number", "second number", "loss"],
      rows: path
        .map((at, i) => [String(i), ...at, measure(counts, at).loss])
        .filter((_, i) => i % 10 === 0 || i === path.length - 1),
    }),
  };
}
