// Goes on with a model from a file, {path, steps, ids, prompts, out}: trains it, and saves it as one file
// and as a folder, packed. Prints where they are, and the logits behind each prompt.

import { readFileSync, writeFileSync } from "node:fs";
import { modelFromFiles } from "../../web/exhibits/files.mjs";
import { download, filesOf, folderOf } from "../../web/goes/files.mjs";
import { openFiles } from "../../web/goes/read.mjs";
import { simdArithmetic } from "../../web/train/simd.mjs";
import { Trainer } from "../../web/train/trainer.mjs";

const { path, steps, ids, prompts, out } = JSON.parse(readFileSync(0, "utf8"));
const { config, weights, merges } = await openFiles(
  await modelFromFiles([new File([readFileSync(path)], "mine.safetensors")]),
);
const settings = { lr: 0.01, warmupSteps: 2 };
const trainer = await Trainer.start(config, simdArithmetic, { settings });
trainer.regions.weights.data.set(weights);
for (let i = 0; i < steps; i++) trainer.step(ids.slice(0, -1), ids.slice(1));
const plan = { name: "Mein Modell", std: 0.1, switches: {}, data: {} };
const state = trainer.state();
const files = await filesOf({ plan, step: state.step, config, weights: state.weights, merges });
const saved = [download(files), await folderOf(files)];
for (const file of saved) writeFileSync(`${out}/${file.name}`, await file.bytes());
const logits = [];
for (const prompt of prompts) logits.push([...(await trainer.model.forward(prompt))]);
writeFileSync(1, JSON.stringify({ names: saved.map((file) => file.name), logits }));
