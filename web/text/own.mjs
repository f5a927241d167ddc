// What a run learns from: one door to all kinds of data.

import { craneData } from "./crane.mjs";

/** @import { Data, Plan } from "../runs/run.mjs" */

/**
 * The data of a plan. The same arguments give the same data.
 * @param {Plan} plan
 * @param {{grammar?: any, merges?: Uint8Array, progress?: (share: number) => void}} given  grammar:
 *   the file crane_grammar; merges: of an own text, if they are known from before
 * @returns {Data}
 */
export function makeData({ data }, { grammar }) {
  if (data.kind === "crane") return craneData(grammar);
  throw new Error(`unknown data ${data.kind}`);
}
