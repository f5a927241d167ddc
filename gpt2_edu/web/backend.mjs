// The one place where a backend is chosen.

import { PlainBackend } from "./plain.mjs";
import { WasmBackend } from "./wasm.mjs";

/** @import { Backend } from "./plain.mjs" */

/** @type {Record<string, import("./wasm.mjs").Format>} */
const FORMATS = { auto: "float32", wasm: "float32", "wasm-half": "float16", "wasm-int8": "int8" };

/**
 * The fastest that runs here: WebAssembly, and plain JavaScript where that is missing. Weights are
 * kept as float16 with "wasm-half"; as int8, faster and not identical, with "wasm-int8".
 * @param {"auto" | "plain" | "wasm" | "wasm-half" | "wasm-int8"} [wanted]
 * @returns {Promise<Backend>}
 */
export async function pickBackend(wanted = "auto") {
  if (wanted === "plain") return new PlainBackend();
  try {
    return await WasmBackend.start(FORMATS[wanted]);
  } catch (error) {
    if (wanted === "auto") return new PlainBackend();
    throw new Error("this browser does not run the WebAssembly kernel: use plain JavaScript", {
      cause: error,
    });
  }
}
