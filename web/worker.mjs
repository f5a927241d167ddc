// The engine in a thread of its own.

import { Host } from "./host.mjs";
import { inMemory } from "./load.mjs";

// Packed with all others, this module is met in pages, too; there it does nothing.
if (!("document" in globalThis)) {
  const host = new Host((answer) => self.postMessage(answer));
  self.onmessage = ({ data }) => {
    const { weights, ...request } = data ?? {};
    host.receive(weights ? { ...request, weights: source(weights) } : request);
  };
}

/**
 * Bytes in memory, or a file that is read piece by piece.
 * @param {Blob | ArrayBuffer} weights
 */
function source(weights) {
  if (!(weights instanceof Blob)) return inMemory(new Uint8Array(weights));
  const read = async (/** @type {number} */ start, /** @type {number} */ end) =>
    new Uint8Array(await weights.slice(start, end).arrayBuffer().catch(gone));
  return { size: weights.size, read };
}

/** @returns {never} */
function gone() {
  throw new Error("the file of weights is not there any more, or has changed: choose it again");
}
