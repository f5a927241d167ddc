// Loads one checkpoint after the other under the same name, {cases: [{config, weights}], ids}; the
// first is whole. Prints for each of the others its logits or its error, the milliseconds that it
// took, and, where it was refused, whether the model from before still answers as it did.

import { readFileSync, writeFileSync } from "node:fs";
import { Host } from "../../web/host.mjs";
import { inMemory } from "../../web/load.mjs";

const { cases, ids } = JSON.parse(readFileSync(0, "utf8"));
const waiting = new Map();
let last = 0;
const host = new Host((answer) => {
  if (answer.progress === undefined) waiting.get(answer.id)(answer);
});
const ask = (request) =>
  new Promise((resolve) => {
    waiting.set(++last, resolve);
    host.receive({ id: last, model: "m", ...request });
  });
const load = ({ config, weights }) =>
  ask({ call: "load", config, weights: inMemory(new Uint8Array(Buffer.from(weights, "base64"))) });
const run = async () => (await ask({ call: "run", ids })).result.logits.join();

const [whole, ...others] = cases;
const loaded = await load(whole);
if (loaded.error) throw new Error(loaded.error);
const before = await run();
const answers = [];
for (const other of others) {
  const started = performance.now();
  const { error } = await load(other);
  const milliseconds = Math.round(performance.now() - started);
  if (error === undefined) {
    const { result, error } = await ask({ call: "run", ids });
    answers.push({ milliseconds, error, logits: result && [...result.logits] });
    await load(whole);
  } else answers.push({ milliseconds, error, kept: (await run()) === before });
}
writeFileSync(1, JSON.stringify(answers));
