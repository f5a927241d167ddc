// Where the rest of the picture comes from: a module here, on a page a script (packed_deeper.mjs).

/** @returns {Promise<import("./deep.mjs").Deep>} */
export async function deeper() {
  await import("./deep.mjs");
  return /** @type {any} */ (globalThis).gpt2Deep;
}
