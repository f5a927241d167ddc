// On a page the rest of the picture is a script of its own.

import { script } from "../page.mjs";

/** @returns {Promise<typeof import("./deep.mjs")>} */
export const deeper = () => script("deep.js", () => /** @type {any} */ (globalThis).gpt2Deep);
