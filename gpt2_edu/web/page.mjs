// Where a page begins: the engine in a worker, and the files that come with the site.
//
// All modules also exist packed into one script (make web), because a page that was opened from a
// disk may load scripts, but neither modules nor files. There `packed` is the function around them
// all, so that a worker can be started from its text.

import { Engine } from "./client.mjs";
import { Tokenizer } from "./tokenizer.mjs";

export { nextProbabilities } from "./sampling.mjs";
export { END_OF_TEXT } from "./tokenizer.mjs";

/** @typedef {Record<string, string>} Files  each compressed with gzip, in base64 */

const script = globalThis.document?.currentScript;
const HERE = script instanceof HTMLScriptElement ? script.src : "";

/** A worker with the engine. Each has its own models; one is enough for a page. */
export function startEngine() {
  if (typeof packed !== "function") {
    return new Engine(new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" }));
  }
  const code = new Blob([`(${packed})()`], { type: "text/javascript" });
  return new Engine(new Worker(URL.createObjectURL(code)));
}

/** @type {Map<string, Promise<Files>>} */
const asked = new Map();

/**
 * The files of a model or tokenizer of the site, from a script beside this one. It is loaded when
 * it is first asked for.
 * @param {string} name
 * @returns {Promise<Files>}
 */
function bundle(name) {
  /** @returns {Files | undefined} */
  const there = () => /** @type {any} */ (globalThis).gpt2Files?.[name];
  const load = () =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(`files/${name}.js`, HERE || document.baseURI).href;
      script.onload = () => {
        const files = there();
        if (files) resolve(files);
        else script.onerror?.("");
      };
      script.onerror = () => {
        asked.delete(name); // so that it can be tried again
        reject(
          new Error(
            `the files of "${name}" did not come: is the site complete, the network there?`,
          ),
        );
      };
      document.head.append(script);
    });
  const known = there();
  if (known) return Promise.resolve(known);
  if (!asked.has(name)) asked.set(name, load());
  return /** @type {Promise<Files>} */ (asked.get(name));
}

/** @param {string} text  base64 of bytes compressed with gzip */
async function unpack(text) {
  const response = await fetch(`data:application/gzip;base64,${text}`);
  const stream = /** @type {ReadableStream} */ (response.body);
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * The config and the weights of a model that comes with the site: "crane".
 * @param {string} name
 */
export async function bundledModel(name) {
  const files = await bundle(name);
  const config = new TextDecoder().decode(await unpack(files["config.json"]));
  return { config, weights: await unpack(files["model.safetensors"]) };
}

/** @type {Map<string, Promise<Tokenizer>>} */
const tokenizers = new Map();

/**
 * The tokenizer "crane" or "gpt2".
 * @param {string} name
 * @returns {Promise<Tokenizer>}
 */
export function loadTokenizer(name) {
  const load = async () => {
    const files = await bundle(name);
    const bytes = await unpack(files.merges);
    return Tokenizer.fromMerges(new Uint8Array(bytes, 0, 256), new Uint16Array(bytes.slice(256)));
  };
  const found = tokenizers.get(name) ?? load();
  tokenizers.set(name, found);
  found.catch(() => tokenizers.delete(name));
  return found;
}
