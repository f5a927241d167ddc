// What the tests read: fixtures that Python wrote, and files of the package.

import { readFileSync } from "node:fs";
import { bytes } from "./cases.mjs";

export const fixture = (name) =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8"));

const assets = new URL("../../gpt2_edu/assets/", import.meta.url);
export const asset = (path, encoding) => readFileSync(new URL(path, assets), encoding);

export const CRANE = {
  config: asset("crane/config.json", "utf8"),
  weights: new Uint8Array(asset("crane/model.safetensors")),
};
const { config, weights } = fixture("model");
export const ODD = { config, weights: bytes(weights) };
