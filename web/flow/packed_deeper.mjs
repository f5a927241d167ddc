// On a page the rest of the picture is scripts of their own.

import { script } from "../page.mjs";

/**
 * @param {Record<string, any>} settings  that say what the page has beside the picture
 * @returns {Promise<import("./deep.mjs").Deep>}
 */
export async function deeper({ tensors, giver }) {
  const all = /** @type {any} */ (globalThis);
  const deep = script("deep.js", () => all.gpt2Deep);
  if (tensors || giver !== undefined) await script("beside.js", () => all.gpt2Beside);
  return deep;
}

/** What draws the picture in space. */
export async function space() {
  return script("space.js", () => /** @type {any} */ (globalThis).gpt2Space?.Space);
}
