// How long a run takes: said before it begins, and while it goes.

/** @import { Plan } from "./drive.mjs" */

// Measured with two workers on the page, whose writing, judging and painting take time, too
// (benchmarks/results/page_training… has the steps alone): a part for each token, and a part for its
// arithmetic.
const [PER_TOKEN, PER_FLOP] = [18e-6, 6.5e-12]; // seconds
const ONE = 1.7; // times as long with one worker
const TOKENS = { crane: 1024, sentences: 19 }; // of vocabularies
const PACE = "gpt2-edu training pace"; // in the browser's storage: times as long, here

/** Seconds on the desktop. @param {Plan} plan */
function expected({ model: { nLayer, nEmbd, T }, batch, settings: { steps }, data, workers }) {
  const vocabSize = data.kind === "text" ? data.vocabSize : TOKENS[data.kind];
  const parameters = 12 * nLayer * nEmbd ** 2 + vocabSize * nEmbd;
  const flops = 6 * parameters + 12 * nLayer * nEmbd * T;
  const perToken = (PER_TOKEN + PER_FLOP * flops) * (workers === 1 ? ONE : 1);
  return steps * batch * T * perToken;
}

/** How much slower this machine was than the desktop when it trained last, or null. */
export function pace() {
  try {
    return Number(localStorage[PACE]) || null;
  } catch {
    return null; // a page without storage
  }
}

/**
 * @param {Plan} plan
 * @returns {number}  at the pace of this machine, where it is known
 */
export function secondsOf(plan) {
  return expected(plan) * (pace() ?? 1);
}

/**
 * Remember the pace of a run.
 * @param {Plan} plan
 * @param {number} steps  that it made
 * @param {number} ms  that they took
 */
export function remember(plan, steps, ms) {
  if (!steps || !ms) return;
  const settings = { ...plan.settings, steps };
  try {
    localStorage[PACE] = (ms / 1000 / expected({ ...plan, settings })).toPrecision(3);
  } catch {
    // the next run begins with the desktop's pace
  }
}

/** @param {number} seconds */
export function about(seconds) {
  if (seconds < 45) return "less than a minute";
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `about ${Math.max(1, minutes)} minute${minutes > 1 ? "s" : ""}`;
  return `about ${Math.round(minutes / 60)} hours`;
}

/**
 * Before a run.
 * @param {number} seconds  0: nothing is said
 */
export function before(seconds) {
  if (!seconds) return "";
  if (pace()) return `This takes ${about(seconds)}, at the pace of the last run here.`;
  return `This takes ${about(seconds)} on a desktop computer. A phone may take several times as long.`;
}

/**
 * While it goes.
 * @param {import("./drive.mjs").Side} side
 */
export function left({ plan, reports, step, state }) {
  const [first, last] = [reports.at(-20) ?? reports[0], reports.at(-1)];
  if (!plan || !last || !["running", "paused"].includes(state)) return "";
  const steps = last.step - (first === last ? 0 : first.step);
  const ms = last.ms - (first === last ? 0 : first.ms);
  const seconds = ((plan.settings.steps - step) * ms) / steps / 1000;
  const says = about(seconds);
  return Number.isFinite(seconds) ? `${says[0].toUpperCase()}${says.slice(1)} left.` : "";
}
