// What the packed script holds (make web): for a page, what it needs of the engine, as `gpt2`; and
// in a worker, which runs the same script, the engine itself.

import "./worker.mjs";

export { Engine } from "./client.mjs";
export { readConfig } from "./config.mjs";
export { modelFromDrop, modelFromFiles } from "./files.mjs";
export { PUBLISHED, describe } from "./hub.mjs";
export { SUPERSEDED } from "./messages.mjs";
export * from "./page.mjs";
export { list, open, remove } from "./storage.mjs";
