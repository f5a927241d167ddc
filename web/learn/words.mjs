// How the page writes numbers, and what it says about a run.

import { fixed, grouped } from "../exhibits/dom.mjs";

/** @import { Side } from "./drive.mjs" */

/** @param {number} n */
export function count(n) {
  return grouped(Math.round(n));
}

/** @param {number} ms  as minutes and seconds */
export function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** @param {number} share */
export function percent(share) {
  return `${Math.round(100 * share)} %`;
}

/** @param {number} rate  with two digits */
export function rateText(rate) {
  return String(Number(rate.toPrecision(2)));
}

/** @param {number} date  milliseconds */
export function when(date) {
  const then = new Date(date);
  const time = then.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
  const sameDay = then.toDateString() === new Date().toDateString();
  const day = then.toLocaleDateString("en", { day: "numeric", month: "long" });
  return `${sameDay ? "today" : day}, ${time}`;
}

/** @param {number} loss */
export function lossText(loss) {
  return Number.isFinite(loss) ? fixed(loss, loss < 100 ? 2 : 0) : "not a number";
}

/**
 * How many of some stories were right.
 * @param {{right: number, of: number, step: number}} counted
 */
export function rightOf({ right, of, step }) {
  return `Of ${of} stories after ${count(step)} steps, ${right} were right.`;
}

/**
 * What has come of a run, in a sentence.
 * @param {Side} side
 */
export function result({ step, reports, marks, counted, plan }) {
  const twenty = counted.at(-1);
  if (twenty?.step === step) return rightOf(twenty);
  const held = plan?.data.kind === "text" ? marks.at(-1)?.held : undefined;
  const aside = held === undefined ? "" : `, and ${lossText(held)} on the text set aside`;
  return `After ${count(step)} steps the loss is ${lossText(reports.at(-1)?.loss ?? NaN)}${aside}.`;
}

/**
 * Two runs beside each other.
 * @param {Side} first
 * @param {Side} second
 * @param {string} name  what the second does otherwise
 */
export function both(first, second, name) {
  const [one, other] = [first, second].map(({ reports, step }) => {
    return `a loss of ${lossText(reports.at(-1)?.loss ?? NaN)} after ${count(step)} steps`;
  });
  return `The first run has ${one}, the second (${name}) ${other}.`;
}

/**
 * The training loss about a step.
 * @param {Side["reports"]} reports
 * @param {number} step
 */
function lossAt(reports, step) {
  const found = reports.findIndex((report) => report.step >= step);
  const i = found < 0 ? reports.length - 1 : found;
  return mean(reports.slice(Math.max(0, i - 2), i + 3).map(({ loss }) => loss));
}

const mean = (/** @type {number[]} */ all) => all.reduce((sum, one) => sum + one, 0) / all.length;

const RISE = 0.05; // nats, from which on a loss has risen
const FAR = 0.7; // nats above the loss of training

/**
 * How one sees that a run learns its text by heart, or "".
 * @param {Pick<Side, "marks" | "reports">} side
 */
export function overfitting({ marks, reports }) {
  const best = marks.reduce((least, one) => (one.held < least.held ? one : least));
  const last = marks[marks.length - 1];
  const [then, now] = [best, last].map(({ step }) => lossAt(reports, step));
  if (last.held - best.held > RISE && now < then) {
    return `Since step ${count(best.step)} that has risen from ${fixed(best.held, 2)} while the loss of training fell`;
  }
  return last.held - now > FAR ? "That is far higher" : "";
}

/**
 * What the loss of a run means at this point.
 * @param {Side} side
 */
export function standing(side) {
  const { reports, marks, floors, vocabSize, state, step, plan } = side;
  const last = reports.at(-1);
  if (!last) {
    if (state === "making") return "The text and the first, random weights are being prepared.";
    if (!vocabSize) return "Nothing has been learned yet.";
    const blind = fixed(Math.log(vocabSize), 2);
    return `Before the first step the model guesses blindly among ${count(vocabSize)} tokens, with a loss of about ${blind}.`;
  }
  const { loss } = last;
  const { unigram = Infinity, bigram = 0, truth = null } = floors ?? {};
  const kind = plan?.data.kind;
  const held = marks.at(-1)?.held;
  const aside = kind === "text" ? "the text set aside" : "new stories";
  const heldOut =
    held === undefined || kind === "sentences" ? "" : ` It is ${lossText(held)} on ${aside}.`;
  const begin = `After ${count(step)} steps the loss is ${lossText(loss)}.${heldOut}`;
  const rises = heldOut && overfitting(side);
  if (rises) {
    return `${begin} ${rises}, so the model is learning its text by heart. This is called overfitting.`;
  }
  if (!(loss < unigram)) {
    return `${begin} Counting how frequent each token is would do better (${fixed(unigram, 2)}).`;
  }
  if (!(loss < bigram)) {
    return `${begin} The model knows which tokens are frequent, and is learning which follow which (${fixed(bigram, 2)}).`;
  }
  const half = Math.round(step / 2);
  const then = lossAt(reports, half);
  const pairs =
    then < bigram
      ? `At step ${count(half)} it was ${lossText(then)}, and counting pairs of neighbours reaches ${fixed(bigram, 2)}.`
      : `Counting pairs of neighbours reaches no more than ${fixed(bigram, 2)}, so the model uses tokens further back.`;
  if (truth === null) return `${begin} ${pairs}`;
  const above = loss - truth;
  if (above > 0.3) return `${begin} ${pairs}`;
  if (above > 0.02) {
    return `${begin} A reader who knows every rule has ${fixed(truth, 2)}, and the model is ${fixed(above, 2)} above this floor.`;
  }
  return `${begin} That is about the floor, the loss of a reader who knows every rule (${fixed(truth, 2)}).`;
}
