// Runs in the browser's storage, one in each slot, and the lock of the page that trains there. A worker
// of a page that was opened from a disk has no storage, so this is the page's part.

/** @import { Saved } from "./run.mjs" */

const DATABASE = "gpt2-edu-runs"; // not exhibits/own.mjs's: a new version there would block old tabs
const STORE = "runs";
const PATIENCE = 500; // milliseconds

const DENIED =
  "This browser does not store the run: if you close the page, the model is gone. Save it as a file " +
  "in time.";
const OTHER =
  "The stored run is damaged, or of another version of this page, and cannot be continued: begin a " +
  "new one.";
const BUSY = "This run is going on in another tab: look there, or stop it there first.";

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} act
 * @returns {Promise<T>}  once it is on the disk
 */
async function inStore(mode, act) {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  /** @type {IDBDatabase} */
  const database = await new Promise((resolve, reject) => {
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    const transaction = database.transaction(STORE, mode);
    const request = act(transaction.objectStore(STORE));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? request.error);
    });
    return request.result;
  } finally {
    database.close();
  }
}

/**
 * The run in a slot. Throws an Error if it cannot be continued.
 * @param {number} slot
 * @returns {Promise<Saved | null>}  null, too, where the browser stores nothing
 */
export async function stored(slot) {
  const record = await inStore("readonly", (store) => store.get(slot)).catch(() => null);
  if (!record) return null;
  const { numbers, ...saved } = record;
  const bytes = saved.version === 1 && (await numbers.arrayBuffer().catch(() => null));
  if (!bytes) throw new Error(OTHER);
  const all = new Float32Array(bytes);
  const part = (/** @type {number} */ i) =>
    all.slice((i * all.length) / 3, ((i + 1) * all.length) / 3);
  return { ...saved, state: { ...saved.state, weights: part(0), m: part(1), v: part(2) } };
}

/**
 * Store a run: completely, or not at all. Its numbers are stored as a file: a browser copies that in a
 * fifth of the time, in which the page cannot do anything else.
 * @param {number} slot
 * @param {Saved} saved
 * @param {number | null} before  the step of the run that is stored there
 * @returns {Promise<string>}  "", or why it could not be stored
 */
export async function write(slot, saved, before) {
  const { weights, m, v, ...state } = saved.state;
  try {
    const numbers = new Blob(/** @type {BlobPart[]} */ ([weights, m, v]));
    await inStore("readwrite", (store) => store.put({ ...saved, state, numbers }, slot));
    return "";
  } catch (error) {
    if (/** @type {Error} */ (error)?.name !== "QuotaExceededError") return DENIED;
    const from = before === null ? "lose it" : `return to step ${before.toLocaleString("en")}`;
    return (
      `The browser's storage is full: training continues, but a reload would ${from}. Save the ` +
      "model as a file, or delete a stored one on the page Open the model."
    );
  }
}

/** @param {number} slot */
export function drop(slot) {
  return inStore("readwrite", (store) => store.delete(slot)).catch(() => {});
}

/**
 * Try the storage, before a run relies on it.
 * @returns {Promise<string>}  "", or that nothing can be stored
 */
export async function available() {
  try {
    await inStore("readwrite", (store) => {
      store.put(new Uint8Array(1), "trial");
      return store.delete("trial");
    });
    return "";
  } catch {
    return DENIED;
  }
}

/**
 * Lock a slot for this page. Throws an Error if another tab has it; a page that is being left has it for
 * a moment.
 * @param {number} slot
 * @returns {Promise<() => void>}  what releases it
 */
export function hold(slot) {
  return new Promise((resolve, reject) => {
    const free = () => resolve(() => {}); // without locks there is no storage to share, either
    if (!navigator.locks) return free();
    const signal = AbortSignal.timeout(PATIENCE);
    const held = () => new Promise((release) => resolve(() => release(undefined)));
    navigator.locks.request(`${DATABASE} ${slot}`, { signal }, held).catch(() => {
      if (signal.aborted) reject(new Error(BUSY));
      else free();
    });
  });
}
