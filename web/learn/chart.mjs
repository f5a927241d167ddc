// The loss against the step, and what simpler models reach: one run, or two.

import { fixed } from "../exhibits/dom.mjs";
import { Plot } from "../exhibits/plot.mjs";
import { count, lossText } from "./words.mjs";

/** @import { Side } from "./drive.mjs" */
/** @typedef {[number, number]} Point */

const MOST = 300; // points of a curve
const PHONE = 440; // pixels, below which everything is drawn larger
const NAME = 0.13; // of the width, which the number at a curve's end takes
const warp = (/** @type {number} */ step) => Math.log10(1 + step / 10);

/**
 * At most so many points, each the mean of what lies near it.
 * @param {Point[]} points
 * @param {number} end  the last step of the axis
 */
export function thinned(points, end) {
  /** @type {Map<number, {x: number, sum: number, many: number}>} */
  const bins = new Map();
  for (const [x, y] of points) {
    const bin = Math.floor((MOST * warp(x)) / warp(end));
    const held = bins.get(bin) ?? { x, sum: 0, many: 0 };
    bins.set(bin, { x, sum: held.sum + y, many: held.many + 1 });
  }
  return [...bins.values()].map(({ x, sum, many }) => /** @type {Point} */ ([x, sum / many]));
}

export class Chart {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.drawn = "";
    /** @type {Plot | null} */
    this.plot = null;
  }

  /**
   * The axes, which change with the plan and the place.
   * @param {number} end
   * @param {number} top
   */
  axes(end, top) {
    const phone = this.place.clientWidth < PHONE;
    const asked = `${end} ${top} ${phone}`;
    if (asked === this.drawn && this.plot) return this.plot;
    this.drawn = asked;
    const steps = [0, 10, 100, 1000, 10_000, 100_000].filter((n) => n <= end / 2).concat(end);
    const [width, height] = phone ? [360, 260] : [600, 330];
    this.plot = new Plot({
      label: "loss against step",
      x: { from: 0, to: end, warp, name: "step", ticks: steps.map((n) => [n, count(n)]) },
      y: {
        from: 0,
        to: top,
        name: "loss",
        ticks: Array.from({ length: Math.floor(top) + 1 }, (_, n) => [n, String(n)]),
      },
      width,
      height,
    });
    this.place.replaceChildren(this.plot.element);
    return this.plot;
  }

  /**
   * @param {Side[]} sides
   * @param {number} steps  of the run that would be begun
   * @param {{points: Point[], floors: import("./drive.mjs").Floors} | null} before  a stored run
   *   that shows what to expect, while there is none
   */
  set(sides, steps, before) {
    const [first] = sides;
    const end = first.plan?.settings.steps ?? (Number.isFinite(steps) ? Math.max(10, steps) : 10);
    const top = Math.ceil(Math.log(first.vocabSize || 1024) + 0.3);
    const floors = before?.floors ?? first.floors;
    const level = (/** @type {number} */ y, /** @type {string} */ name, at = 1) => ({
      points: /** @type {Point[]} */ ([
        [0, y],
        [end, y],
      ]),
      kind: "floor",
      name: `${name} ${fixed(y, 2)}`,
      at,
    });
    const lines = floors
      ? [
          level(floors.unigram, "knows frequencies"),
          level(floors.bigram, "knows pairs"),
          ...(floors.truth === null ? [] : [level(floors.truth, "knows the grammar", 0)]),
        ]
      : [];
    const runs = sides.flatMap((side, nth) => {
      const now = nth ? "second" : "now";
      const seen = side.reports
        .filter(({ loss }) => Number.isFinite(loss))
        .map(({ step, loss }) => /** @type {Point} */ ([step, loss]));
      const points = thinned(seen, end);
      const held = side.marks.map(({ step, held }) => /** @type {Point} */ ([step, held]));
      const last = points.at(-1);
      const name = lossText(side.reports.at(-1)?.loss ?? NaN); // as the bar has it
      const above = (/** @type {Point} */ [x], /** @type {Point[]} */ all) => {
        const near = all.filter(([other]) => warp(x) - warp(other) < NAME * warp(end));
        return /** @type {Point} */ ([x, Math.max(...near.map(([, y]) => y))]);
      };
      return [
        ...(last ? [{ points, kind: now }] : []),
        ...thinned(held, end).map((dot) => ({ points: [dot], kind: `${now} held`, dots: true })),
        ...(last ? [{ points: [last], kind: now, dots: true }] : []),
        ...(last ? [{ points: [above(last, [...points, ...held])], kind: now, name }] : []),
      ];
    });
    const ghost = before
      ? [{ points: before.points, kind: "ghost", name: "a stored run", at: 6 }]
      : [];
    this.axes(end, top).set([...lines, ...ghost, ...runs]);
  }
}
