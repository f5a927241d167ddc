// A run as the page sees it, and its curves.

import { Side } from "../learn/drive.mjs";

/** @import { Choice } from "./settings.mjs" */
/**
 * Means of the texts since the point before; `texts` counts them, `n` all up to here. `nats` is the loss
 * on true stories above the floor. What was not measured is lacking.
 * @typedef {{n: number, texts: number, reward?: number, right?: number, entropy?: number,
 *   divergence?: number, length?: number, alike?: number, nats?: number, plots?: number[]}} Point
 * @typedef {{choice: Pick<Choice, "kind" | "word" | "rein">, points: Point[]}} Curves  of a run that
 *   is over
 * @typedef {{text: string, right: boolean, ended: boolean, failsAt: number | null, reward: number,
 *   advantage: number}} Marked  a text
 * @typedef {{step: number, texts: Marked[], nats: number}} Newest
 */

const SMOOTH = 128; // texts, of which a point of a curve is the mean

export class Learner extends Side {
  get judged() {
    return false; // every text is marked as it is
  }

  /** @returns {Newest | null} */
  get newest() {
    return /** @type {any} */ (this.marks.at(-1) ?? null);
  }

  /** In their order; the loss on true stories is measured less often. @returns {Point[]} */
  get points() {
    const group = this.plan?.batch ?? 0;
    const reports = /** @type {(Point & {step: number})[]} */ (
      /** @type {unknown} */ (this.reports)
    );
    const marks = /** @type {Newest[]} */ (/** @type {unknown} */ (this.marks));
    const all = [
      ...reports.map((report) => ({ ...report, n: report.step * group })),
      ...marks.map(({ step, nats }) => ({ n: step * group, texts: group, nats })),
    ];
    return all.sort((a, b) => a.n - b.n);
  }
}

/** @typedef {Exclude<keyof Point, "n" | "texts" | "plots">} Measure */

/**
 * A mean over the last texts before each point, or those at its beginning.
 * @param {Point[]} points
 * @param {(point: Point) => number | undefined} measure
 * @returns {[number, number][]}  n and the mean; where nothing was measured no point
 */
export function smoothed(points, measure) {
  const found = points.flatMap((point) => {
    const value = measure(point);
    return value === undefined ? [] : [{ n: point.n, texts: point.texts, value }];
  });
  return found.map(({ n }, i) => {
    let [texts, sum] = [0, 0];
    for (let j = i; j >= 0 && texts < SMOOTH; j--) {
      texts += found[j].texts;
      sum += found[j].texts * found[j].value;
    }
    return [n, sum / texts];
  });
}

/**
 * @param {Point[]} points
 * @param {(point: Point) => number | undefined} measure
 * @returns {{first: number, last: number} | null}  means of the first texts and of the last
 */
export function ends(points, measure) {
  const last = smoothed(points, measure).at(-1);
  if (!last) return null;
  const first = smoothed([...points].reverse(), measure).at(-1) ?? last;
  return { first: first[1], last: last[1] };
}
