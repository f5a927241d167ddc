// The one place where a backend is chosen.

import { shown } from "./messages.mjs";
import { PlainBackend } from "./plain.mjs";
import { numParameters } from "./shapes.mjs";
import { WasmBackend } from "./wasm.mjs";
import { WebGPUBackend } from "./webgpu.mjs";
import { startWhole } from "./whole.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Backend } from "./plain.mjs" */

/** @type {Map<string, () => Promise<Backend>>} */
const IN_WASM = new Map([
  ["auto", () => WasmBackend.start()],
  ["wasm", () => WasmBackend.start()],
  ["wasm-half", () => WasmBackend.start("float16")],
  ["wasm-int8", () => startWhole("int8")],
  ["wasm-int4", () => startWhole("int4")],
]);

const LARGE = 50e6; // parameters from which on memory counts, and a graphics device pays

/**
 * The best that runs here: WebAssembly, and plain JavaScript where that is missing; for a large
 * model WebGPU, where there is a real graphics device, or else weights as float16. These are kept
 * so with "wasm-half" and "webgpu-half"; in 8 or 4 bits, faster and not identical, with
 * "wasm-int8" and "wasm-int4". WebGPU computes GPT-2s only.
 * @param {"auto" | "plain" | "wasm" | "wasm-half" | "wasm-int8" | "wasm-int4" | "webgpu" |
 *   "webgpu-half"} [wanted]
 * @param {Config} [config]  the sizes of the model, for "auto"
 * @returns {Promise<Backend>}
 */
export async function pickBackend(wanted = "auto", config) {
  if (wanted === "plain") return new PlainBackend();
  const graphics = wanted === "webgpu" || wanted === "webgpu-half";
  if (graphics && config?.llama) {
    throw new Error("WebGPU computes only GPT-2s here: use WebAssembly");
  }
  const large = wanted === "auto" && config !== undefined && numParameters(config) > LARGE;
  if ((large && !config.llama) || graphics) {
    try {
      return await WebGPUBackend.start({ half: wanted === "webgpu-half", real: large });
    } catch (error) {
      if (!large) {
        throw new Error("this browser offers no graphics device: use WebAssembly", {
          cause: error,
        });
      }
    }
  }
  const start = IN_WASM.get(large ? "wasm-half" : wanted);
  if (!start) throw new Error(`there is no backend ${shown(wanted)}`);
  try {
    return await start();
  } catch (error) {
    if (wanted === "auto") return new PlainBackend();
    throw new Error("this browser does not run the WebAssembly kernel: use plain JavaScript", {
      cause: error,
    });
  }
}
