// Runs a model as a test asks: a JSON request on standard input, the answer on standard output.
// {folder, backend, chunks: [[ids]], edits: {path: {head, value}}, switches, lastOnly, record}

import { readFileSync, writeFileSync } from "node:fs";
import { pickBackend } from "../../gpt2_edu/web/backend.mjs";
import { inMemory, loadModel } from "../../gpt2_edu/web/load.mjs";
import { KVCache } from "../../gpt2_edu/web/model.mjs";
import { Tape } from "../../gpt2_edu/web/tape.mjs";

const request = JSON.parse(readFileSync(0, "utf8"));
try {
  const model = await loadModel(
    readFileSync(`${request.folder}/config.json`, "utf8"),
    inMemory(readFileSync(`${request.folder}/model.safetensors`)),
    () => pickBackend(request.backend ?? "plain"),
  );
  const edits = Object.fromEntries(
    Object.entries(request.edits ?? {}).map(([path, { scale }]) => [
      path,
      (values) => values.map((value) => value * scale),
    ]),
  );
  const switches = { ...request.switches };
  if (switches.headsOff) switches.headsOff = new Set(switches.headsOff);
  const cache = request.cached ? new KVCache(model.config, model.backend) : undefined;
  const tape = request.record ? new Tape(edits) : undefined;
  const passes = [];
  for (const ids of request.chunks) {
    const logits = await model.forward(ids, { cache, tape, switches, lastOnly: request.lastOnly });
    const noted = tape ? [...tape.noted.values()] : [];
    passes.push({
      logits: [...logits],
      noted: noted.map((n) => ({ ...n, values: texts(n.values) })),
    });
  }
  answer({ passes });
} catch (error) {
  answer({ error: error.message });
}

/** JSON has no infinity. */
function texts(values) {
  return Array.from(values, (value) => (Number.isFinite(value) ? value : String(value)));
}

function answer(value) {
  writeFileSync(1, JSON.stringify(value));
}
