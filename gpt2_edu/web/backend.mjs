// The one place where a backend is chosen.

import { PlainBackend } from "./plain.mjs";
import { WasmBackend } from "./wasm.mjs";

/** @import { Backend } from "./plain.mjs" */

/**
 * The fastest that runs here: WebAssembly, and plain JavaScript where that is missing. With
 * "wasm-half" weights are kept as float16.
 * @param {"auto" | "plain" | "wasm" | "wasm-half"} [wanted]
 * @returns {Promise<Backend>}
 */
export async function pickBackend(wanted = "auto") {
  if (wanted === "plain") return new PlainBackend();
  try {
    return await WasmBackend.start(wanted === "wasm-half");
  } catch (error) {
    if (wanted === "auto") return new PlainBackend();
    throw new Error("this browser does not run the WebAssembly kernel: use plain JavaScript", {
      cause: error,
    });
  }
}
