// What a run costs, and whether a browser can afford it, before anything is started.

import { numParameters } from "../config.mjs";
import { bytesOf } from "../train/bytes.mjs";
import { configOf } from "./run.mjs";

/** @import { Plan } from "./run.mjs" */

const GB = 2 ** 30;
const SPEED = 25e9; // operations in a second, of a worker on a common processor
const COPIES = 6; // of all parameters, in the two states that a run may return to

/**
 * The most tokens that a vocabulary can have; how many it has is known once it is made.
 * @param {Plan["data"]} data
 */
function mostTokens(data) {
  if (data.kind === "text") return data.unit === "merges" ? data.vocabSize : 256 + 1024 + 1;
  return data.kind === "crane" ? 1024 : 300;
}

/**
 * About what a run takes. Throws an Error for sizes that no model can have.
 * @param {Plan} plan
 */
export function estimate(plan) {
  const { batch, workers, settings, data } = plan;
  const { T, nLayer: N, nEmbd: C } = plan.model;
  const config = configOf(plan, mostTokens(data));
  const parameters = numParameters(config);
  const bytes = workers * (bytesOf(config, { T }) + 4 * COPIES * parameters);
  const operations = 6 * batch * T * (12 * N * C * C + config.vocabSize * C + 2 * N * T * C);
  const minutes = (settings.steps * operations) / SPEED / workers / 60;
  return { parameters, bytes, minutes };
}

/**
 * Why a plan cannot be run, or "".
 * @param {Plan} plan
 * @param {number} [memory]  of the device in GB, where the browser says it
 */
export function refuse(plan, memory = /** @type {any} */ (navigator).deviceMemory ?? 4) {
  if (plan.batch < plan.workers) return "Two workers need a batch of at least two rows.";
  try {
    const { parameters, bytes } = estimate(plan);
    const most = plan.workers * Math.min(GB, (memory / 4) * GB);
    if (bytes <= most) return "";
    return (
      `This model has ${parameters.toLocaleString("en")} parameters. To train it takes about ` +
      `${(bytes / GB).toPrecision(2)} GB in the page, and there is ${(most / GB).toPrecision(2)} GB: ` +
      "choose fewer blocks, a smaller width, or a shorter window."
    );
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}
