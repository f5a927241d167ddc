// Runs a model as a test asks: {folder, …} on standard input, the answer on standard output.

import { readFileSync, writeFileSync } from "node:fs";
import { inMemory } from "../../web/load.mjs";
import { passes } from "./passes.mjs";

const request = JSON.parse(readFileSync(0, "utf8"));
const config = readFileSync(`${request.folder}/config.json`, "utf8");
const weights = inMemory(readFileSync(`${request.folder}/model.safetensors`));
writeFileSync(1, await passes(request, config, weights));
