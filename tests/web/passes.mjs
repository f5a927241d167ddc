// Runs a model as a test asks, in node (run_model.mjs) or in a page.
// {backend, chunks: [[ids]], cached, edits: {path: {scale}}, switches, lastOnly, record}

import { pickBackend } from "../../web/backend.mjs";
import { loadModel } from "../../web/load.mjs";
import { KVCache } from "../../web/model.mjs";
import { Tape } from "../../web/tape.mjs";

/** The answer as JSON: {passes: [{logits, noted}]} or {error}. */
export async function passes(request, config, weights, pick = pickBackend) {
  try {
    const model = await loadModel(config, weights, () => pick(request.backend ?? "plain"));
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
    const found = [];
    for (const ids of request.chunks) {
      const { lastOnly } = request;
      const logits = await model.forward(ids, { cache, tape, switches, lastOnly });
      const noted = tape ? [...tape.noted.values()] : [];
      found.push({
        logits: [...logits],
        noted: noted.map((n) => ({ ...n, values: texts(n.values) })),
      });
    }
    return JSON.stringify({ passes: found });
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
}

/** JSON has no infinity. */
function texts(values) {
  return Array.from(values, (value) => (Number.isFinite(value) ? value : String(value)));
}
