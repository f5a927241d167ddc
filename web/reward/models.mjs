// What a run begins with: a novice, which comes with the book and writes few right stories; the book's
// model; or the one that a reader has trained on the page Train one here.

import { keptRun, runs } from "../learn/start.mjs";
import { bundle, bundledModel } from "../page.mjs";

/** @import { Plan } from "../learn/drive.mjs" */
/** @typedef {{name: string, weights: Float32Array, merges: Uint8Array, model: Plan["model"]}} Begun */

export const BEGIN = { novice: "a novice", crane: "the book’s model", kept: "the one you trained" };

/**
 * The novice, or the book's.
 * @param {"novice" | "crane"} which
 * @returns {Promise<Begun>}
 */
export async function shipped(which) {
  const { merges: packed } = await bundle(which);
  const files = { ...(await bundledModel(which)), merges: packed };
  const { config, weights, merges } = await (await runs()).openFiles(files);
  const { nLayer, nHead, nEmbd, blockSize: T } = config;
  return { name: BEGIN[which], weights, merges, model: { nLayer, nHead, nEmbd, T } };
}

/**
 * The reader's own, if it has learned Crane World's stories.
 * @returns {Promise<Begun | null>}
 */
export async function kept() {
  const { saved } = await keptRun();
  if (!saved || saved.plan.data.kind !== "crane" || Object.keys(saved.plan.switches).length) {
    return null;
  }
  const { plan, merges, state } = saved;
  return { name: BEGIN.kept, weights: state.weights, merges, model: plan.model };
}
