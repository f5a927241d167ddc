// A browser's own storage in memory, as far as storage.mjs asks it.

const missing = () => new DOMException("there is none", "NotFoundError");

class StoredFile {
  bytes = new Uint8Array(0);

  getFile = async () => new File([this.bytes], "stored");

  createSyncAccessHandle = async () => ({
    getSize: () => this.bytes.length,
    flush() {},
    close() {},
    truncate: (size) => {
      const kept = this.bytes.subarray(0, size);
      this.bytes = new Uint8Array(size);
      this.bytes.set(kept);
    },
    read: (to, { at }) => {
      const found = this.bytes.subarray(at, at + to.length);
      to.set(found);
      return found.length;
    },
    write: (from, { at }) => {
      const before = this.bytes;
      this.bytes = new Uint8Array(Math.max(before.length, at + from.length));
      this.bytes.set(before);
      this.bytes.set(from, at);
      return from.length;
    },
  });
}

class StoredFolder {
  held = new Map();

  entries = () => this.held.entries();
  getFileHandle = async (name, options) => this.get(name, StoredFile, options);
  getDirectoryHandle = async (name, options) => this.get(name, StoredFolder, options);

  get(name, Kind, { create = false } = {}) {
    if (!this.held.has(name) && !create) throw missing();
    if (!this.held.has(name)) this.held.set(name, new Kind());
    return this.held.get(name);
  }

  async removeEntry(name) {
    if (!this.held.delete(name)) throw missing();
  }
}

/** An empty storage, in place of the one before; its root. */
export function emptyStorage() {
  const root = new StoredFolder();
  globalThis.FileSystemFileHandle = StoredFile;
  globalThis.FileSystemDirectoryHandle = StoredFolder;
  const value = { getDirectory: async () => root };
  Object.defineProperty(navigator, "storage", { value, configurable: true });
  return root;
}
