// What the page's model has read and what it says, as strips and bars show it.

import { withGhosts } from "./bars.mjs";
import { senseAfter } from "./crane_world.mjs";
import { model } from "./page_model.mjs";

/** @param {number[]} ids */
export function pieces(ids) {
  return model.names(ids).map((name, i) => ({ name, id: ids[i] }));
}

/**
 * The likeliest tokens after a text, a crane's deeds in the colour of their sense.
 * @param {string} text
 * @param {Float64Array} now  the probability of each token
 * @param {Float64Array} [before]
 * @param {number} [n]  how many tokens
 */
export function nextAfter(text, now, before, n = 6) {
  return withGhosts(now, before, n, (id) => model.show(id), senseAfter(text));
}
