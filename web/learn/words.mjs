// How the page writes numbers, and what it says about a run.

import { fixed } from "../exhibits/dom.mjs";

/** @import { Side } from "./drive.mjs" */

/** @param {number} n */
export function count(n) {
  return Math.round(n).toLocaleString("en");
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
 * What the loss of a run means at this point.
 * @param {Side} side
 */
export function standing({ reports, floors, vocabSize, state, step }) {
  const last = reports.at(-1);
  if (!last) {
    if (state === "making") return "The text and the first, random weights are being prepared.";
    if (!vocabSize) return "Nothing has been learned yet.";
    const blind = fixed(Math.log(vocabSize), 2);
    return `Before the first step the model guesses blindly among ${count(vocabSize)} tokens, with a loss of about ${blind}.`;
  }
  const { loss } = last;
  const { unigram = Infinity, bigram = 0, truth = null } = floors ?? {};
  const begin = `After ${count(step)} steps the loss is ${lossText(loss)}.`;
  if (!(loss < unigram)) {
    return `${begin} Counting how frequent each token is would do better (${fixed(unigram, 2)}).`;
  }
  if (!(loss < bigram)) {
    return `${begin} The model knows which tokens are frequent, and is learning which follow which (${fixed(bigram, 2)}).`;
  }
  const pairs = `Counting pairs of neighbours reaches no more than ${fixed(bigram, 2)}, so the model uses tokens further back.`;
  if (truth === null) return `${begin} ${pairs}`;
  const above = loss - truth;
  if (above > 0.3) return `${begin} ${pairs}`;
  if (above > 0.02) {
    return `${begin} A reader who knows every rule has ${fixed(truth, 2)}, and the model is ${fixed(above, 2)} above this floor.`;
  }
  return `${begin} That is about the floor, the loss of a reader who knows every rule (${fixed(truth, 2)}).`;
}
