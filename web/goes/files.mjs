// What a run leaves in the reader's hands: files that every exhibit takes, which are one file to save,
// and a folder for transformers.

import { packMerges, ranks, tokenizerJson, unpackMerges } from "./vocabulary.mjs";
import { configText, safetensors } from "./write.mjs";
import { zip } from "./zip.mjs";

/** @import { Config } from "../config.mjs" */

/**
 * @typedef {{name: string, config: string, weights: ArrayBuffer, merges: string}} Files  as
 *   exhibits/page_model.mjs takes them; `weights` is a whole file, with the rest in its header
 */

/**
 * Throws an Error for a model that other programs would compute otherwise.
 * @param {{plan: {name: string, std: number, data: object, switches: Record<string, boolean>},
 *   step: number, config: Config, weights: Float32Array, merges: Uint8Array}} run
 *   merges: 256 bytes, then two ids for each merge
 * @returns {Promise<Files>}
 */
export async function filesOf({ plan, step, config, weights, merges }) {
  const off = Object.keys(plan.switches).filter((name) => plan.switches[name] === false);
  if (off.length) {
    throw new Error(`without ${off.join(" and ")} it is no GPT-2: it stays on this page`);
  }
  const text = configText(config, plan.std);
  const packed = await packMerges(merges);
  const told = { ...plan, step, data: { ...plan.data, text: undefined } }; // the reader's text stays
  const file = safetensors(config, weights, {
    "gpt2-edu.config": text,
    "gpt2-edu.merges": packed,
    "gpt2-edu.plan": JSON.stringify(told),
  });
  const name = `${plan.name}, ${step.toLocaleString("en")} steps`;
  return { name, config: text, weights: file.buffer, merges: packed };
}

/**
 * One file, which GPT2.from_pretrained opens, and every exhibit.
 * @param {Files} files
 */
export function download({ name, weights }) {
  return new File([weights], `${plain(name)}.safetensors`);
}

/**
 * A folder that transformers opens with its tokenizer, and gpt2_edu too, packed.
 * @param {Files} files
 */
export async function folderOf({ name, config, weights, merges }) {
  const vocabulary = await unpackMerges(merges);
  const texts = Object.entries({
    "config.json": config,
    "tokenizer.json": tokenizerJson(vocabulary),
    "tokenizer.tiktoken": ranks(vocabulary),
  });
  const folder = plain(name);
  const packed = await zip({
    [`${folder}/model.safetensors`]: new Uint8Array(weights),
    ...Object.fromEntries(
      texts.map(([file, text]) => [`${folder}/${file}`, new TextEncoder().encode(text)]),
    ),
  });
  return new File([packed], `${folder}.zip`);
}

/**
 * A name that every disk takes.
 * @param {string} name
 */
function plain(name) {
  const words = name
    .toLowerCase()
    .replaceAll(",", "")
    .match(/[\p{L}\p{N}]+/gu) ?? ["model"];
  return words.join("-").slice(0, 80);
}
