// What a forward pass can be asked for.

import { isList, shown } from "./messages.mjs";

/** @import { Config } from "./config.mjs" */
/** @import { Switches } from "./model.mjs" */

/**
 * @param {ArrayLike<number>} ids
 * @param {number} start
 * @param {number} room  for tokens, with those before `start`
 * @param {Config} config
 */
export function checkIds(ids, start, room, { vocabSize: V }) {
  if (!isList(ids) || ids.length === 0) {
    throw new Error("there are no tokens: start from at least one");
  }
  if (start + ids.length > room) {
    throw new Error(`${start + ids.length} tokens are too many: there is room for ${room}`);
  }
  for (let i = 0; i < ids.length; i++) {
    if (!(Number.isInteger(ids[i]) && ids[i] >= 0 && ids[i] < V)) {
      throw new Error(`the id ${shown(ids[i])} is outside the vocabulary 0 … ${V - 1}`);
    }
  }
}

/**
 * @param {Switches} switches
 * @param {Config} config
 */
export function checkSwitches(switches, { nLayer, nHead }) {
  if (switches === null || typeof switches !== "object") {
    throw new Error(`switches must be an object, not ${shown(switches)}`);
  }
  const { headsOff = [], order = [], ...others } = switches;
  if (!(headsOff instanceof Set) && !isList(headsOff)) {
    throw new Error(`headsOff must be a set of heads like "0.1", not ${shown(headsOff)}`);
  }
  for (const head of headsOff) {
    const known = typeof head === "string" && /^\d+\.\d+$/.test(head);
    const [n, h] = known ? head.split(".").map(Number) : [nLayer];
    if (n >= nLayer || h >= nHead) throw new Error(`there is no head ${shown(head)}`);
  }
  const blocks = new Set(Array(nLayer).keys());
  if (!isList(order) || !Array.from(order).every((n) => blocks.delete(n))) {
    throw new Error(`there is no order ${shown(order)}`);
  }
  for (const [name, on] of Object.entries(others)) {
    const parts = ["mask", "positions", "scale", "layerNorm"].includes(name) ? [true, false] : [];
    if (![...parts, ...(name === "gelu" ? [undefined, "tanh", "erf"] : [])].includes(on)) {
      throw new Error(`no switch ${shown(name)} can be set to ${shown(on)}`);
    }
  }
}
