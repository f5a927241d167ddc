// Models in the browser's own storage (OPFS): a folder gpt2-edu/<name> for each. Its
// model.safetensors grows while it is downloaded; config.json is written last, so a folder that
// has one is complete. Beside it stand its weights as the backends round them that a reader has chosen,
// in wasm-int4.safetensors, say; or these alone. Nobody but the pages of one site sees its storage.

/** @import { Source } from "./load.mjs" */

export const CONFIG = "config.json";
export const WEIGHTS = "model.safetensors";
const PIECE = 1 << 20; // bytes that are written at a time
const LONG_PIECE = 1 << 24; // and read

/**
 * What createSyncAccessHandle gives.
 * @typedef {{getSize: () => number, truncate: (size: number) => void, flush: () => void,
 *   close: () => void, read: (to: Uint8Array, options: {at: number}) => number,
 *   write: (from: Uint8Array, options: {at: number}) => number}} SyncFile
 */
/** @typedef {{name: string, bytes: number, complete: boolean, rounded: Record<string, number>}} Stored
 *   bytes: 0, if only rounded weights are there; rounded: the bytes by backend */

/**
 * What is stored, unfinished downloads too.
 * @returns {Promise<Stored[]>}
 */
export function list() {
  return inStorage(async () => {
    const found = [];
    for await (const [name, folder] of (await home()).entries()) {
      if (!(folder instanceof FileSystemDirectoryHandle)) continue;
      /** @type {Record<string, number>} */
      const { [CONFIG]: config = 0, [WEIGHTS]: weights = 0, ...others } = await sizes(folder);
      const rounded = Object.entries(others).map(([file, bytes]) => [file.split(".")[0], bytes]);
      const bytes = weights && weights + config;
      found.push({ name, bytes, complete: config > 0, rounded: Object.fromEntries(rounded) });
    }
    return found;
  });
}

/**
 * A complete model, as Engine.load takes it. No number of the weights is read yet.
 * @param {string} name
 * @returns {Promise<{config: string, weights?: Blob}>}
 */
export function open(name) {
  return inStorage(async () => {
    const folder = await (await home()).getDirectoryHandle(name);
    const config = await (await folder.getFileHandle(CONFIG)).getFile();
    const whole = await folder.getFileHandle(WEIGHTS).catch(() => null);
    return { config: await config.text(), weights: await whole?.getFile() };
  });
}

/**
 * Read the weights of a model that a backend has rounded, if they are stored; only in a worker. What
 * is read is there until the next piece is.
 * @template T
 * @param {string} name
 * @param {string} backend
 * @param {(source: Source) => Promise<T>} use
 */
export function readRounded(name, backend, use) {
  return inStorage(async () => {
    const folder = await (await home()).getDirectoryHandle(name);
    const handle = await folder.getFileHandle(fileOf(backend));
    const file = await sync(handle, { mode: "read-only" }); // other pages may read it, too
    const room = new Uint8Array(LONG_PIECE);
    try {
      return await use({
        size: file.getSize(),
        read: (start, end) => {
          const piece = room.subarray(0, end - start);
          return piece.subarray(0, file.read(piece, { at: start }));
        },
      });
    } finally {
      file.close();
    }
  });
}

/**
 * Store what readRounded reads. The first piece, with the header, is written last, so a file that is not
 * complete begins with zeros, and has no header.
 * @param {string} name
 * @param {string} backend
 * @param {Iterable<Uint8Array>} pieces
 */
export function storeRounded(name, backend, pieces) {
  return inStorage(async () => {
    const folder = await (await home()).getDirectoryHandle(name);
    const file = await lock(folder, fileOf(backend));
    try {
      file.truncate(0);
      const [first, ...others] = pieces;
      let at = first.length;
      for (const piece of others) {
        write(file, piece, at);
        at += piece.length;
      }
      file.flush();
      write(file, first, 0);
    } catch (error) {
      file.truncate(0);
      throw error;
    } finally {
      file.close();
    }
  });
}

/** @param {string} name */
export function remove(name) {
  return inStorage(async () => (await home()).removeEntry(name, { recursive: true }));
}

export async function removeAll() {
  for (const { name } of await list()) await remove(name);
}

/**
 * The weights of a model while they come; only in a worker. The file is locked until it is closed.
 */
export class Growing {
  /**
   * @param {FileSystemDirectoryHandle} folder
   * @param {SyncFile} file
   */
  constructor(folder, file) {
    this.folder = folder;
    this.file = file;
    this.written = file.getSize();
    this.waiting = new Uint8Array(PIECE);
    this.held = 0; // bytes that wait
  }

  /**
   * @param {string} name
   * @param {string} [backend]  that has rounded them
   */
  static open(name, backend) {
    return inStorage(async () => {
      const folder = await (await home()).getDirectoryHandle(name, { create: true });
      return new Growing(folder, await lock(folder, fileOf(backend)));
    });
  }

  get size() {
    return this.written + this.held;
  }

  /** What an earlier download has left, piece by piece. */
  *pieces() {
    const piece = new Uint8Array(Math.min(LONG_PIECE, this.written));
    for (let at = 0; at < this.written; at += LONG_PIECE) {
      yield piece.subarray(0, this.file.read(piece, { at }));
    }
  }

  /** @param {Uint8Array} bytes */
  append(bytes) {
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + PIECE - this.held);
      this.waiting.set(part, this.held);
      this.held += part.length;
      from += part.length;
      if (this.held === PIECE) this.write();
    }
  }

  write() {
    const piece = this.waiting.subarray(0, this.held);
    this.held = 0;
    try {
      write(this.file, piece, this.written);
      this.written += piece.length;
    } catch (error) {
      throw inWords(error);
    }
  }

  /**
   * Say that the weights are all there and right.
   * @param {string} config
   */
  finish(config) {
    this.write();
    this.file.flush();
    return inStorage(async () => {
      const file = await lock(this.folder, CONFIG);
      file.write(new TextEncoder().encode(config), { at: 0 });
      file.close();
    });
  }

  /** Forget what has come. */
  clear() {
    this.file.truncate(0);
    this.written = this.held = 0;
  }

  /** Keep what has come. */
  close() {
    try {
      this.write();
    } finally {
      this.file.close();
    }
  }
}

async function home() {
  if (!navigator.storage) throw new DOMException("there is none", "SecurityError");
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle("gpt2-edu", { create: true });
}

/**
 * @param {FileSystemDirectoryHandle} folder
 * @param {string} name
 * @returns {Promise<SyncFile>}
 */
async function lock(folder, name) {
  return sync(await folder.getFileHandle(name, { create: true }));
}

/**
 * @param {any} file  a handle
 * @param {{mode: string}} [options]  that not all browsers know
 * @returns {Promise<SyncFile>}
 */
const sync = (file, options) => file.createSyncAccessHandle(options);

/**
 * @param {SyncFile} file
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function write(file, bytes, at) {
  const count = file.write(bytes, { at }); // on a full disk 2³² - 8, or less
  if (count !== bytes.length) throw new DOMException("it is full", "QuotaExceededError");
}

/** @param {string} [backend]  that has rounded the weights */
export const fileOf = (backend = "model") => `${backend}.safetensors`;

/**
 * The bytes of each file that can be read.
 * @param {FileSystemDirectoryHandle} folder
 */
async function sizes(folder) {
  /** @type {Record<string, number>} */
  const found = {};
  for await (const [name, file] of folder.entries()) {
    if (!(file instanceof FileSystemFileHandle)) continue;
    found[name] = await file.getFile().then(
      ({ size }) => size,
      () => 0,
    );
  }
  return found;
}

/**
 * @template T
 * @param {() => Promise<T>} work
 */
async function inStorage(work) {
  try {
    return await work();
  } catch (error) {
    throw inWords(error);
  }
}

/** @param {unknown} error */
function inWords(error) {
  const { name, message } = /** @type {Error} */ (error);
  if (name === "Error") return /** @type {Error} */ (error); // it is in words
  if (name === "QuotaExceededError") {
    return new Error(
      "the browser's storage is full: delete a stored model or free space on this device, then " +
        "go on; what has come so far is kept",
    );
  }
  if (name === "NoModificationAllowedError") {
    return new Error("this model is being downloaded by another page: wait for it, or cancel it");
  }
  if (name === "NotFoundError") return new Error("this model is not stored here: download it");
  if (name === "SecurityError" || name === "NotAllowedError") {
    return new Error(
      "this page cannot store files (private windows and pages opened from a disk often cannot): " +
        "open it from its website in a normal window, or drop the model's two files on it",
    );
  }
  return new Error(`the browser's storage failed (${message}): reload the page and try again`);
}
