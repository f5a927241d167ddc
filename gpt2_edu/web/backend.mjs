// The one place where a backend is chosen.

import { PlainBackend } from "./plain.mjs";
import { WasmBackend } from "./wasm.mjs";

/** @import { Backend } from "./plain.mjs" */

/**
 * The fastest that runs here: WebAssembly, and plain JavaScript where that is missing.
 * @param {"auto" | "plain" | "wasm"} [wanted]
 * @returns {Promise<Backend>}
 */
export async function pickBackend(wanted = "auto") {
  if (wanted === "plain") return new PlainBackend();
  try {
    return await WasmBackend.start();
  } catch (error) {
    if (wanted === "auto") return new PlainBackend();
    throw new Error("this browser does not run the WebAssembly kernel: use plain JavaScript", {
      cause: error,
    });
  }
}
