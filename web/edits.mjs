// Edits of what a pass notes, as a page sends them to the engine.

import { isList, shown } from "./messages.mjs";

/** @import { Edit } from "./tape.mjs" */

/**
 * Edits that can be sent: numbers, {scale} to multiply by, or {set: [[index, value], …]}.
 * @param {Record<string, ArrayLike<number> | {scale?: number, set?: [number, number][]}>} edits
 * @returns {Record<string, Edit>}
 */
export function inPlace(edits) {
  return Object.fromEntries(
    Object.entries(edits).map(([path, edit]) => {
      if (isList(edit)) return [path, /** @type {ArrayLike<number>} */ (edit)];
      const { scale, set } = /** @type {{scale?: any, set?: any}} */ (edit ?? {});
      if (isList(set) && set.every(isList)) {
        return [path, (/** @type {Float32Array} */ values) => inCells(path, values, set)];
      }
      if (!Number.isFinite(scale)) {
        throw new Error(`the edit of ${shown(path)} must be numbers, {scale} or {set}`);
      }
      return [path, (/** @type {Float32Array} */ values) => values.map((value) => value * scale)];
    }),
  );
}

/**
 * @param {string} path
 * @param {Float32Array} values
 * @param {[number, number][]} set
 */
function inCells(path, values, set) {
  for (const [index, value] of set) {
    if (!(Number.isInteger(index) && index in values))
      throw new Error(`${path} has no number ${shown(index)}`);
    values[index] = value;
  }
}
