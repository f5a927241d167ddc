// OpenAI's GPT-2 from the Hugging Face hub, or rounded from the pages' own site, into the browser's
// storage, when a reader asks for it.
//
// The weights are checked by their SHA-256 while they come. A download that stops, for whatever
// reason, keeps what it has, and the next one asks for the rest only.

// By its path, because nothing resolves the names of packages in a worker.
import { sha256 } from "./node_modules/@noble/hashes/sha2.js";
import { bytesToHex } from "./node_modules/@noble/hashes/utils.js";
import { CONFIG, Growing, WEIGHTS, fileOf, list, remove } from "./storage.mjs";

/** @typedef {ReturnType<typeof sha256.create>} Hash */

/**
 * Two files on a hub: `bytes` are those of the weights; a commit never changes. Or weights as a backend
 * rounds them, in the parts that a folder of the pages' own site has: their names, and the bytes of each.
 * @typedef {{title: string, repo: string, commit: string, bytes: number, endpoint: string,
 *   sha256: Record<string, string>, folder?: string, backend?: string, config?: string,
 *   parts?: Record<string, number>}} Published
 */

/** @type {Record<string, Published>} */
export const PUBLISHED = {
  gpt2: {
    title: "GPT-2 (124M) by OpenAI",
    repo: "openai-community/gpt2",
    commit: "607a30d783dfa663caf39e06633721c8d4cfcd7e",
    bytes: 548105171,
    endpoint: "https://huggingface.co",
    sha256: {
      [CONFIG]: "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
      [WEIGHTS]: "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    },
  },
};

/**
 * What a click would fetch, for the page to say before it.
 * @param {Published} published
 */
export function describe({ title, repo, bytes, endpoint, folder }) {
  const from = folder ? "this site" : `${endpoint}/${repo}`;
  return `${title}: ${Math.round(bytes / 1e6)} MB from ${from}, kept in this browser until you delete it`;
}

const PAUSES = [1000, 2000, 4000, 8000]; // milliseconds before each new try
const AGAIN = "try again, and it goes on from there";

/** What the hub did, and what the reader can do. */
class Refused extends Error {
  /**
   * @param {Published} published
   * @param {string} what
   * @param {string} remedy
   * @param {boolean} [passing]  by itself, so that it is tried again
   */
  constructor({ endpoint, repo, commit, folder }, what, remedy, passing = true) {
    const page = `${endpoint}/${repo}/tree/${commit}`;
    const other = folder
      ? "fetch all of it"
      : `download ${CONFIG} and ${WEIGHTS} yourself from ${page} and drop them here`;
    super(`${new URL(endpoint).host} ${what}: ${remedy}, or ${other}`);
    this.passing = passing;
  }
}

/**
 * @typedef {object} Settings
 * @property {Published} published
 * @property {number[]} [pauses]
 * @property {AbortSignal} signal
 * @property {(bytes: number) => void} progress  of the weights: how many are there
 */

/**
 * Fetch a model unless it is there. Throws an Error that says in a sentence what is wrong and what
 * to do, or the reason of the signal.
 * @param {string} name  of its folder in the storage
 * @param {Settings} settings
 */
export async function download(name, settings) {
  const { published, signal, progress } = settings;
  if ((await list()).some((stored) => stored.name === name && stored.complete)) return;
  const config = published.config ?? (await patiently(settings, () => fetchConfig(settings)));
  const file = await Growing.open(name, published.backend);
  try {
    const hash = sha256.create();
    let hashed = 0;
    for (const piece of file.pieces()) {
      hash.update(piece);
      progress((hashed += piece.length));
      await pause(0, signal);
    }
    await patiently(
      settings,
      () => fetchRest(settings, file, hash),
      () => file.size,
    );
    if (bytesToHex(hash.digest()) !== published.sha256[fileOf(published.backend)]) {
      file.clear();
      throw another(published);
    }
    await file.finish(config);
  } finally {
    file.close();
    if (!file.size) await remove(name).catch(() => {}); // it fails if another page has begun
  }
}

/** @param {Settings} settings */
async function fetchConfig({ published, signal }) {
  const hash = sha256.create();
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body(published, CONFIG, 0, signal)) {
    hash.update(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  if (bytesToHex(hash.digest()) !== published.sha256[CONFIG]) throw another(published);
  return text;
}

/**
 * @param {Settings} settings
 * @param {Growing} file
 * @param {Hash} hash  of what the file holds
 */
async function fetchRest({ published, signal, progress }, file, hash) {
  const { bytes, parts = { [WEIGHTS]: bytes } } = published;
  let end = 0;
  for (const [name, length] of Object.entries(parts)) {
    const start = end;
    end += length;
    if (file.size >= end) continue;
    for await (const chunk of body(published, name, file.size - start, signal)) {
      const part = chunk.subarray(0, end - file.size);
      hash.update(part);
      file.append(part);
      progress(file.size);
      if (file.size === end) break;
    }
    if (file.size < end) {
      throw new Refused(published, `sent only ${file.size} of ${bytes} bytes`, AGAIN);
    }
  }
}

/**
 * The bytes of a published file from `start` on. Of the headers only Content-Type is read: a
 * browser hides most of them from pages of other sites.
 * @param {Published} published
 * @param {string} filename
 * @param {number} start
 * @param {AbortSignal} signal
 */
async function* body(published, filename, start, signal) {
  const { endpoint, repo, commit, folder = `${endpoint}/${repo}/resolve/${commit}/` } = published;
  const response = await fetch(folder + filename, {
    headers: start ? { Range: `bytes=${start}-` } : {},
    signal,
    cache: "no-store", // one copy is enough
    referrerPolicy: "no-referrer",
  }).catch(() => {
    const what = "could not be reached from this page";
    throw new Refused(published, what, "check the connection and try again");
  });
  const { status } = response;
  if (status !== 200 && status !== 206) {
    const what = `answered HTTP ${status} for ${filename}`;
    throw new Refused(published, what, "try again later", status >= 500 || status === 429);
  }
  if (response.headers.get("Content-Type")?.includes("text/html")) {
    const what = `sent a web page in place of ${filename}, as networks with a sign-in page do`;
    throw new Refused(published, what, "sign in to the network and try again", false);
  }
  let skip = status === 200 ? start : 0; // a hub that ignores Range sends all of the file
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw new Refused(published, `broke off in ${filename}`, AGAIN);
      });
      if (done) return;
      if (value.length > skip) yield value.subarray(skip);
      skip = Math.max(0, skip - value.length);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Try again after growing pauses what may pass, and with new patience whenever more has arrived.
 * @template T
 * @param {Settings} settings
 * @param {() => Promise<T>} attempt
 * @param {() => number} [arrived]  bytes
 */
async function patiently({ pauses = PAUSES, signal }, attempt, arrived = () => 0) {
  let had = arrived();
  for (let failures = 0; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (arrived() > had) failures = 0;
      had = arrived();
      const passing = error instanceof Refused && error.passing;
      if (!passing || failures >= pauses.length) throw error;
      await pause(pauses[failures], signal);
    }
  }
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    setTimeout(resolve, milliseconds);
  });
}

/** @param {Published} published */
function another(published) {
  const what = "sent another file than the published one (its SHA-256 differs); it was deleted";
  return new Refused(published, what, "try again", false);
}
