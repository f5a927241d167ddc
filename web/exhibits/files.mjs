// A model among the files that a reader drops on the page or chooses: config.json and one
// *.safetensors in the same folder, or one file of `gpt2-edu export --page`, which has its config
// and its tokenizer in its header. The weights stay where they are: a Blob is a way to read them.

/** @typedef {{path: string, file: File}} Found  path: within what was dropped */
/** @typedef {{name: string, config: string, weights: Blob, merges?: string}} Files
 *   merges: of its own tokenizer, compressed, in base64 */

const MOST = 1000; // files that a folder of one model stays far below
const OTHER_WEIGHTS = /\.(bin|pt|pth|ckpt|h5|msgpack|onnx|gguf|npz|pkl)$/i;
const SHARD = /-\d{5}-of-\d{5}\.safetensors$|\.safetensors\.index\.json$/i;
const PASSED_OVER = /(^|\/)(\.[^/]*|optimizer\.safetensors)$/i; // of a system, of a checkpoint of ours
const LONGEST_HEADER = 1_000_000; // bytes
const SUCH = "a folder with config.json and model.safetensors, such as gpt2-edu export writes.";

/**
 * From an <input type="file">, with `multiple` or `webkitdirectory`.
 * @param {Iterable<File>} files
 * @returns {Promise<Files>}
 */
export function modelFromFiles(files) {
  return pick(Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file })));
}

/**
 * From a drop; call it in the event's listener, for what was dropped is gone after it.
 * @param {DataTransfer} transfer
 * @returns {Promise<Files>}
 */
export async function modelFromDrop(transfer) {
  const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry());
  /** @type {Found[]} */
  const found = [];
  for (const entry of entries) if (entry) await collect(entry, found);
  return pick(found);
}

/**
 * All files of an entry, at any depth.
 * @param {FileSystemEntry} entry
 * @param {Found[]} found
 */
async function collect(entry, found) {
  if (found.length >= MOST) {
    throw new Error(`That is more than ${MOST} files: choose ${SUCH}`);
  }
  const path = entry.fullPath.slice(1);
  if (entry.isFile) {
    const fileEntry = /** @type {FileSystemFileEntry} */ (entry);
    /** @type {Promise<File>} */
    const file = new Promise((resolve, reject) => fileEntry.file(resolve, reject));
    found.push({ path, file: await file.catch(() => unreadable(path)) });
    return;
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)).catch(
      () => unreadable(path),
    );
    if (!some.length) return; // they come in batches
    for (const inner of some) await collect(inner, found);
  }
}

/**
 * @param {Found[]} everything
 * @returns {Promise<Files>}
 */
async function pick(everything) {
  const found = everything.filter(({ path }) => !PASSED_OVER.test(path));
  const shard = found.find(({ path }) => SHARD.test(path));
  if (shard) {
    throw new Error(
      `${shard.path} is one of several files of weights: save the model as one file, as ` +
        'save_pretrained(folder, max_shard_size="100GB") does.',
    );
  }
  const models = found.filter(({ path }) => /\.safetensors$/i.test(path));
  if (models.length > 1) {
    const names = models.slice(0, 4).map(({ path }) => path);
    const rest = models.length > 4 ? " …" : "";
    throw new Error(`There are several models: ${names.join(", ")}${rest}; choose one of them.`);
  }
  if (!models.length) throw new Error(noWeights(found));
  const [{ path, file: weights }] = models;
  const own = await inHeader(weights).catch(() => unreadable(path));
  if (own) return { name: weights.name.replace(/\.safetensors$/i, ""), weights, ...own };
  const slash = path.lastIndexOf("/") + 1;
  const wanted = `${path.slice(0, slash)}config.json`;
  const config = found.find((other) => other.path === wanted);
  if (!config) {
    throw new Error(
      `${path} lacks its config.json, which tells how many heads the model has: choose both ` +
        "files, or the folder with them.",
    );
  }
  const start = config.file.slice(0, 2_000_000); // more is no config.json, and readConfig says so
  const name = slash ? path.slice(0, slash - 1) : weights.name.replace(/\.safetensors$/i, "");
  return { name, config: await start.text().catch(() => unreadable(wanted)), weights };
}

/**
 * What `gpt2-edu export --page` writes into the header of the weights; null in other files.
 * @param {File} weights
 * @returns {Promise<{config: string, merges?: string} | null>}
 */
async function inHeader(weights) {
  const start = new DataView(await weights.slice(0, 8).arrayBuffer());
  const length = start.byteLength < 8 ? Infinity : Number(start.getBigUint64(0, true));
  if (length > LONGEST_HEADER) return null; // the engine says what is wrong with it
  const text = await weights.slice(8, 8 + length).text();
  try {
    const metadata = JSON.parse(text).__metadata__ ?? {};
    const [config, merges] = ["config", "merges"].map((name) => metadata[`gpt2-edu.${name}`]);
    return typeof config === "string" ? { config, merges } : null;
  } catch {
    return null;
  }
}

/** @param {Found[]} found */
function noWeights(found) {
  const other = found.find(({ path }) => OTHER_WEIGHTS.test(path));
  if (other) {
    return (
      `${other.path} holds weights in a form that a page cannot read: write the model as ` +
      "model.safetensors, with gpt2-edu export or save_pretrained of transformers."
    );
  }
  if (found.some(({ path }) => /(^|\/)config\.json$/.test(path))) {
    return "config.json has come without its model.safetensors: choose both files, or their folder.";
  }
  return `There is no model in this: choose ${SUCH}`;
}

/**
 * @param {string} path
 * @returns {never}
 */
function unreadable(path) {
  throw new Error(`${path} cannot be read: is it still there, and are you allowed to read it?`);
}
