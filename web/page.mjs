// Where a page begins: the engine in a worker, and the files that come with the site.
//
// All modules also exist packed into one script (npm run build), because a page that was opened from
// a disk may load scripts, but neither modules nor files. There `packed` is the function around them
// all, so that a worker can be started from its text.

import { Engine } from "./client.mjs";
import { fromMerges } from "./tokenizer.mjs";

export { END_OF_TEXT } from "./tokenizer.mjs";

const LARGEST_MERGES = 256 + 4 * (2 ** 16 - 257); // bytes of 65,536 tokens; ids have 16 bits

/**
 * The config as text, weights in base64, merges compressed with gzip in base64.
 * @typedef {Record<string, string>} Files
 */

const loaded = /** @type {HTMLScriptElement?} */ (globalThis.document?.currentScript);
const HERE = loaded?.src ?? globalThis.document?.baseURI;

/** A worker with the engine. Each has its own models; one is enough for a page. */
export function startEngine() {
  if (typeof packed !== "function") {
    const worker = new URL(/* @vite-ignore */ "./worker.mjs", import.meta.url);
    return new Engine(new Worker(worker, { type: "module" }));
  }
  const code = new Blob([`(${packed})()`], { type: "text/javascript" });
  return new Engine(new Worker(URL.createObjectURL(code)));
}

/** @type {Map<string, Promise<any>>} */
const asked = new Map();

/**
 * What was loaded is not loaded again; what failed is.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} load
 * @returns {Promise<T>}
 */
function once(what, load) {
  const answer = asked.get(what) ?? load();
  asked.set(what, answer);
  answer.catch(() => asked.delete(what));
  return answer;
}

/**
 * The files of a model or tokenizer of the site, or of a story of either, from a script beside
 * this one: read as JSON where pages may read files, which keeps the page free for longer.
 * @param {string} name
 * @returns {Promise<Files>}
 */
export function bundle(name) {
  const all = /** @type {any} */ (globalThis);
  const files = (all.gpt2Files ??= {});
  const path = `files/${name}.js`;
  const begin = `.${name} = `;
  return once(begin, async () => {
    if (!files[name] && HERE.startsWith("http")) {
      const text = await fetch(beside(path))
        .then((answer) => answer.text())
        .catch(() => "");
      const [, json] = text.split(begin);
      if (json) files[name] = JSON.parse(json.slice(0, -2));
    }
    return script(path, () => files[name]);
  });
}

/**
 * The address of a file beside this script.
 * @param {string} path
 */
export const beside = (path) => new URL(path, HERE).href;

/**
 * What a script beside this one brings.
 * @template T
 * @param {string} path
 * @param {() => T | undefined} there
 * @returns {Promise<T>}
 */
export function script(path, there) {
  return once(path, async () => {
    if (!there()) {
      const script = document.createElement("script");
      script.src = beside(path);
      await new Promise((settled) => {
        script.onload = script.onerror = settled;
        document.head.append(script);
      });
    }
    const found = there();
    if (found) return found;
    throw new Error(`${path} did not come: is the site complete, the network there?`);
  });
}

/**
 * @param {string} text  bytes in base64
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
async function fromBase64(text) {
  const { fromBase64 } = /** @type {any} */ (Uint8Array); // not in every browser, but quick
  if (fromBase64) return fromBase64.call(Uint8Array, text);
  return new Uint8Array(await (await fetch(`data:;base64,${text}`)).arrayBuffer());
}

/**
 * The config and the weights of a model that comes with the site: "crane".
 * @param {string} name
 */
export async function bundledModel(name) {
  const files = await bundle(name);
  const weights = await fromBase64(files["model.safetensors"]);
  return { config: files["config.json"], weights: weights.buffer };
}

/**
 * An adapter that comes with the site: "crane_ask".
 * @param {string} name
 */
export async function bundledAdapter(name) {
  const files = await bundle(name);
  const weights = await fromBase64(files["adapter_model.safetensors"]);
  return { config: files["adapter_config.json"], weights: weights.buffer };
}

/**
 * The tokenizer "crane" or "gpt2".
 * @param {string} name
 */
export function loadTokenizer(name) {
  return once(name, async () => unpackTokenizer((await bundle(name)).merges));
}

/**
 * Merges may come from a file of the reader's, and gzip makes little of much: what unpacks to more
 * than any tokenizer is refused.
 * @param {string} merges  compressed, in base64
 */
export async function unpackTokenizer(merges) {
  const packed = new Blob([await fromBase64(merges)]);
  const unpacked = packed.stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = unpacked.getReader();
  const bytes = new Uint8Array(LARGEST_MERGES);
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    if (length + value.length > LARGEST_MERGES) {
      await reader.cancel();
      throw new Error("these merges are more than a tokenizer's");
    }
    bytes.set(value, length);
    length += value.length;
  }
  return fromMerges(bytes.subarray(0, 256), new Uint16Array(bytes.slice(256, length).buffer));
}
