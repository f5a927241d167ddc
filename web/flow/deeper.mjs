// Where the rest of the picture comes from: modules here, on a page scripts (packed_deeper.mjs).

/**
 * @param {Record<string, any>} settings  that say what the page has beside the picture
 * @returns {Promise<import("./deep.mjs").Deep>}
 */
export async function deeper({ tensors, giver }) {
  await import("./deep.mjs");
  if (tensors || giver !== undefined) await import("./beside.mjs");
  return /** @type {any} */ (globalThis).gpt2Deep;
}

/** What draws the picture in space. */
export async function space() {
  await import("../space/all.mjs");
  return /** @type {any} */ (globalThis).gpt2Space.Space;
}
