// Numbers and sentences of the fits.

import { fixed } from "../exhibits/dom.mjs";
import { count } from "../learn/words.mjs";
import { biggest, runsOf } from "./cells.mjs";
import { predicted } from "./fit.mjs";

/** @import { Fit, Form, Run } from "./fit.mjs" */
/** @import { Cell } from "./cells.mjs" */
/** @typedef {{low: number, high: number}} Interval */

const SAME = 0.005; // nats, from the floor

/** How far above or below. @param {number} value  percent */
export function besides(value) {
  return `${fixed(Math.abs(value), 1)} % ${value < 0 ? "below" : "above"}`;
}

/** 335,712 → "336k" @param {number} value */
export function short(value) {
  const [unit, by] = value >= 1e6 ? ["M", 1e6] : value >= 1e3 ? ["k", 1e3] : ["", 1];
  return `${Number((value / by).toPrecision(value / by < 10 ? 2 : 3))}${unit}`;
}

/** @param {number} d */
export function tokens(d) {
  return d >= 1e6 ? `${Number((d / 1e6).toPrecision(3))} million tokens` : `${count(d)} tokens`;
}

/** @param {Cell} cell */
export function named({ n, d }) {
  return `${count(n)} parameters, ${tokens(d)}`;
}

/** A loss or E. @param {number} value */
export const nats = (value) => fixed(value, 3);

/** Of a loss and what a form says of it, in percent. @param {number} loss @param {number} said */
export function residual(loss, said) {
  return 100 * (loss / said - 1);
}

/** @param {number} value  percent */
export const signed = (value) =>
  `${value < 0 ? "" : "+"}${fixed(value, Math.abs(value) < 9.95 ? 1 : 0)}`;

/**
 * How far losses lie from a fit: the mean of the errors of their logarithms, as a share.
 * @param {Form} fit
 * @param {Run[]} runs
 */
export function typical(fit, runs) {
  const off = runs.map(({ n, d, loss }) => Math.abs(Math.log(loss / predicted(fit, n, d))));
  return Math.expm1(off.reduce((sum, one) => sum + one, 0) / off.length);
}

/**
 * What the fit to the cells that are left says.
 * @param {Fit} fit
 * @param {{kept: Cell[], cells: Cell[], floor: number, known: boolean, interval: Interval | null}} of
 */
export function told(fit, { kept, cells, floor, known, interval }) {
  const runs = runsOf(kept);
  const away = fit.E - floor;
  const side = away > 0 ? "above" : "below";
  const beside =
    Math.abs(away) < SAME
      ? `within ${SAME} of the true floor of ${nats(floor)}`
      : `${nats(Math.abs(away))} ${side} the true floor of ${nats(floor)}`;
  const within = interval
    ? ` In 95 % of resamplings of the runs it is ${nats(interval.low)} to ${nats(interval.high)}.`
    : "";
  const begin = known
    ? `With E held at the true floor of ${nats(floor)}, `
    : `E = ${nats(fit.E)} from ${runs.length} runs, ${beside}.${within} `;
  const miss = `${known ? "the" : "The"} ${runs.length} runs lie ${fixed(100 * typical(fit, runs), 1)} % from the surface on average.`;
  return `${begin}${miss} ${largest(fit, kept, cells)}`;
}

/**
 * The run of most compute: predicted, if it was taken away.
 * @param {Fit} fit
 * @param {Cell[]} kept
 * @param {Cell[]} cells
 */
function largest(fit, kept, cells) {
  const most = biggest(cells);
  const said = predicted(fit, most.n, most.d);
  const which = `The largest run (circled, ${named(most)})`;
  if (kept.includes(most))
    return `${which} came out at ${nats(most.loss)}, and the surface says ${nats(said)}.`;
  const near = biggest(kept);
  const times = (most.n * most.d) / (near.n * near.d);
  const more =
    times >= 1.05
      ? `, at ${Number(times.toPrecision(2))} times the compute of any that was fitted`
      : "";
  return `${which} is predicted at ${nats(said)}${more}. It came out at ${nats(most.loss)}, ${besides(residual(most.loss, said))}.`;
}
