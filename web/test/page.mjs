// The model as exhibits ask it, with the engine in this thread.

import { runInThisContext } from "node:vm";
import { bundleScript } from "../dev/bundle.mjs";
import { model } from "../exhibits/page_model.mjs";
import { startEngine } from "./engine.mjs";

/** @returns {Promise<typeof model>}  with Crane World's model */
export async function pageModel() {
  runInThisContext(bundleScript("crane"));
  model.engine = startEngine();
  await model.ready();
  return model;
}
