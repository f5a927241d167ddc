// A training run in a thread of its own.

import { makeData } from "../text/own.mjs";
import { Loop } from "./loop.mjs";

// Packed with all others, this module runs in pages, too; there it does nothing.
if (!("document" in globalThis)) {
  const loop = new Loop((message) => self.postMessage(message), makeData);
  self.onmessage = ({ data }) => loop.receive(data);
}
