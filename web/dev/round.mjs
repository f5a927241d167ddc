// A model's weights as a page stores them when a backend has rounded them, for a site that has them
// ready: node round.mjs FOLDER BACKEND FILE

import { openSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import { pickBackend } from "../backend.mjs";
import { loadModel } from "../load.mjs";
import { toFile } from "../rounded.mjs";

const [folder, backend, file] = process.argv.slice(2);
const path = `${folder}/model.safetensors`;
const [from, to] = [openSync(path), openSync(file, "w")];
const read = (start, end) => {
  const bytes = new Uint8Array(end - start);
  readSync(from, bytes, 0, bytes.length, start);
  return bytes;
};
const config = readFileSync(`${folder}/config.json`, "utf8");
const weights = { size: statSync(path).size, read };
for (const piece of toFile(await loadModel(config, weights, () => pickBackend(backend)))) {
  writeFileSync(to, piece);
}
