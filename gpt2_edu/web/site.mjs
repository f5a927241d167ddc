// What the packed script holds: the engine as `gpt2`, and the elements that pages use.

import "./console/console.mjs";

export * from "./page.mjs";
export { Engine } from "./client.mjs";
