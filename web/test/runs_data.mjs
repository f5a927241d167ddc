// Small data for the tests of runs: every token is followed by three times itself and one, or by the
// end of the text.

import { randomNumbers } from "../sampling.mjs";

const [V, EOT] = [17, 16];
const after = (/** @type {number} */ id) => (3 * id + 1) % EOT;

/**
 * @param {number} seed
 * @param {number} B
 * @param {number} T
 */
function rows(seed, B, T) {
  const random = randomNumbers(seed);
  const [ids, targets] = [new Int32Array(B * T), new Int32Array(B * T)];
  for (let i = 0; i < B * T; i++) {
    ids[i] = i % T ? targets[i - 1] : EOT;
    targets[i] = i % T ? after(ids[i]) : Math.floor(EOT * random());
  }
  return { ids, targets };
}

/** @returns {import("../runs/run.mjs").Data} */
export function smallData() {
  const isRight = (/** @type {string} */ text) =>
    text.split(" ").every((n, i, all) => !i || Number(n) === after(Number(all[i - 1])));
  return {
    vocabSize: V,
    eot: EOT,
    merges: Uint8Array.from({ length: 256 }, (_, byte) => byte),
    rows: (seed, step, B, T) => rows(2 ** 32 * (seed + 1) + step, B, T),
    held: (T) => rows(1, 4, T),
    floors: () => ({ unigram: Math.log(EOT), bigram: Math.log(EOT) / 7, truth: null }),
    prompt: [EOT],
    show: { ids: [EOT, 0, 1, 4], tokens: ["", "0", "1", "4"] },
    decode: (ids) => ids.join(" "),
    judge: (text) => ({ kind: isRight(text) ? "story" : null, failsAt: 0, read: 0, expected: [] }),
    note: "",
  };
}

/** @returns {import("../runs/run.mjs").Plan} */
export function smallPlan(changes = {}) {
  return {
    version: 1,
    name: "a small model",
    seed: 3,
    model: { nLayer: 2, nHead: 2, nEmbd: 12, T: 7 },
    batch: 5,
    std: 0.1,
    settings: {
      steps: 300,
      lr: 0.01,
      minLr: 0.001,
      warmupSteps: 5,
      weightDecay: 0.01,
      beta1: 0.9,
      beta2: 0.98,
      gradClip: 1,
    },
    switches: {},
    workers: 1,
    data: { kind: "crane" },
    ...changes,
  };
}
