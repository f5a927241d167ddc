// On a page the rest of the picture is a script of its own.

import { script } from "../page.mjs";

/** @returns {Promise<import("./deep.mjs").Deep>} */
export const deeper = () => script("deep.js", () => /** @type {any} */ (globalThis).gpt2Deep);
