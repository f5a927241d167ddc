// The engine in this thread, behind its messages.

import { Engine } from "../client.mjs";
import { Host } from "../host.mjs";
import { inMemory } from "../load.mjs";

/** Weights are sent as bytes, as a page sends them. */
export function startEngine() {
  const port = {
    postMessage({ weights, ...request }) {
      host.receive({ ...request, weights: weights && inMemory(new Uint8Array(weights)) });
    },
  };
  const host = new Host((data) => port.onmessage({ data }));
  return new Engine(port);
}
