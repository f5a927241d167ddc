// The model that the reader has chosen, kept in the browser from page to page: GPT-2 by its name and
// its arithmetic, for it is stored already, another with its weights. Nobody but this site sees it.

import { storedGpt2 } from "./published.mjs";

/** @import { Files } from "./page_model.mjs" */

const DATABASE = "gpt2-edu";
const STORE = "models";
const KEY = "own";

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} act
 * @returns {Promise<T>}
 */
export async function inStore(mode, act) {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await done(opening);
  try {
    return await done(act(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

/**
 * The model that was kept, or null; null too where the browser keeps nothing.
 * @returns {Promise<Files | null>}
 */
export function kept() {
  return inStore("readonly", (store) => store.get(KEY))
    .then(async (files) => {
      if (!files?.stored) return files ?? null;
      return { ...(await storedGpt2()), backend: files.backend };
    })
    .catch(() => null);
}

/** Whether one was kept; false where the browser keeps nothing. */
export function owns() {
  return inStore("readonly", (store) => store.count(KEY)).then(Boolean, () => false);
}

/**
 * Keep it for other pages; false where the browser keeps nothing.
 * @param {Files} files
 * @param {string} backend  that computes it
 */
export function keep(files, backend) {
  const { stored } = files;
  const kept = stored ? { stored, backend } : files;
  return inStore("readwrite", (store) => store.put(kept, KEY)).then(
    () => true,
    () => false,
  );
}

export function forget() {
  return inStore("readwrite", (store) => store.delete(KEY)).catch(() => {});
}
