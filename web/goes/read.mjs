// A model of the reader's as a run that can go on: the way back from files.mjs.

import { readConfig } from "../config.mjs";
import { modelFromFiles } from "../exhibits/files.mjs";
import { inMemory, loadModel } from "../load.mjs";
import { PlainBackend } from "../plain.mjs";
import { places } from "../train/parameters.mjs";
import { MOST_TOKENS, unpackMerges } from "./vocabulary.mjs";

/** @import { Config } from "../config.mjs" */

const EPSILON = 1e-5; // of every model that is trained here

/** @param {File} file */
export async function openFile(file) {
  const files = await modelFromFiles([file]);
  return { name: files.name, ...(await openFiles(files)) };
}

/**
 * The sizes, the weights as a Trainer has them, the tokenizer, and the plan that the file was trained
 * by, if a page wrote it. Throws an Error that says in a sentence what is wrong.
 * @param {{config: string, weights: Blob | ArrayBuffer, merges?: string}} files
 * @returns {Promise<{config: Config, weights: Float32Array, merges: Uint8Array,
 *   plan: any}>}
 */
export async function openFiles({ config: text, weights: file, merges: packed }) {
  const { vocabSize, layerNormEpsilon: epsilon, llama } = readConfig(text);
  if (llama) throw new Error("this model is a Llama, and the page trains only GPT-2s");
  if (epsilon !== EPSILON) {
    throw new Error(
      `this model divides with ε = ${epsilon} in LayerNorm, and the page with ${EPSILON}`,
    );
  }
  if (packed === undefined) {
    throw new Error("this file has no tokenizer: write it with gpt2-edu export --page");
  }
  if (vocabSize > MOST_TOKENS) {
    const [own, most] = [vocabSize, MOST_TOKENS].map((n) => n.toLocaleString("en"));
    throw new Error(`this model has ${own} tokens, and the page trains with at most ${most}`);
  }
  const vocabulary = await unpackMerges(packed).catch(() => null);
  if (vocabulary?.tokens.length !== vocabSize - 1) {
    throw new Error(`the tokenizer in this file does not fit its ${vocabSize} tokens`);
  }
  const bytes = new Uint8Array(file instanceof Blob ? await file.arrayBuffer() : file);
  const { config, weights } = await loadModel(text, inMemory(bytes), () => new PlainBackend());
  const order = places(config);
  const all = new Float32Array(4 * Math.ceil(order[order.length - 1].end / 4));
  for (const { name, first } of order) {
    const [module, kind] = name.split(/\.(?=weight$|bias$)/);
    all.set(weights[module][/** @type {"weight" | "bias"} */ (kind)].data, first);
  }
  return { config, weights: all, merges: vocabulary.merges, plan: planIn(bytes) };
}

/**
 * What filesOf wrote into the header, or null.
 * @param {Uint8Array} bytes
 */
function planIn(bytes) {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  try {
    return JSON.parse(header.__metadata__["gpt2-edu.plan"]);
  } catch {
    return null;
  }
}
