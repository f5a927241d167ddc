// The model as exhibits ask it, with the engine in this thread.

import { runInThisContext } from "node:vm";
import { Engine } from "../client.mjs";
import { bundleScript } from "../dev/bundle.mjs";
import { model } from "../exhibits/page_model.mjs";
import { Host } from "../host.mjs";
import { inMemory } from "../load.mjs";

/** @returns {Promise<typeof model>}  with Crane World's model */
export async function pageModel() {
  runInThisContext(bundleScript("crane"));
  const port = {
    postMessage({ weights, ...request }) {
      host.receive({ ...request, weights: weights && inMemory(new Uint8Array(weights)) });
    },
  };
  const host = new Host((data) => port.onmessage({ data }));
  model.engine = new Engine(port);
  await model.ready();
  return model;
}
