// The engine in a thread of its own.

import { Host } from "./host.mjs";

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
  const blob = weights instanceof Blob ? weights : new Blob([weights]);
  const read = async (/** @type {number} */ start, /** @type {number} */ end) =>
    new Uint8Array(await blob.slice(start, end).arrayBuffer().catch(gone));
  return { size: blob.size, read };
}

/** @returns {never} */
function gone() {
  throw new Error("the file of weights is not there any more, or has changed: choose it again");
}
