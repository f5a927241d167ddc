// Whether a browser has the memory for a run, before anything is started.

import { numParameters } from "../shapes.mjs";
import { bytesOf } from "../train/bytes.mjs";
import { configOf } from "./run.mjs";

/** @import { Plan } from "./run.mjs" */

const GB = 2 ** 30;
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
 * Why a plan cannot be run, or "".
 * @param {Plan} plan
 * @param {number} [memory]  of the device in GB, where the browser says it
 */
export function refuse(plan, memory = /** @type {any} */ (navigator).deviceMemory ?? 4) {
  const { batch, workers, data, model } = plan;
  if (batch < workers) return "Two workers need a batch of at least two rows.";
  try {
    const config = configOf(plan, mostTokens(data));
    const parameters = numParameters(config);
    const bytes = bytesOf(config, { T: model.T }) + 4 * COPIES * parameters; // of each worker
    const most = Math.min(GB, (memory / 4) * GB);
    if (bytes <= most) return "";
    const [takes, there] = [bytes, most].map((n) => ((workers * n) / GB).toPrecision(2));
    return (
      `This model has ${parameters.toLocaleString("en")} parameters. To train it takes about ` +
      `${takes} GB in the page, and there is ${there} GB: choose fewer blocks, a smaller width, or a ` +
      "shorter window."
    );
  } catch (error) {
    return /** @type {Error} */ (error).message; // of sizes that no model can have
  }
}
