// How the numbers of attention's heads stand: apart while each works, side by side before and after.

/** @import { KV, Tensor } from "./memory.mjs" */
/** @import { Backend } from "./plain.mjs" */

/**
 * Columns of (T, …), head by head: (H, T, D).
 * @param {Backend} backend
 * @param {Tensor} x
 * @param {number} first  column
 * @param {number} H
 * @param {number} D
 */
export function splitHeads(backend, x, first, H, D) {
  const [T, width] = x.shape;
  const out = backend.make([H, T, D]);
  backend.move(x, out, [H, T, D], [first, D, width], [0, T * D, D, 1]);
  return out;
}

/**
 * (H, T, D) → (T, H · D): the heads' columns side by side again.
 * @param {Backend} backend
 * @param {Tensor} heads
 */
export function mergeHeads(backend, heads) {
  const [H, T, D] = heads.shape;
  const out = backend.make([T, H * D]);
  backend.move(heads, out, [H, T, D], [0, T * D, D], [0, D, H * D, 1]);
  return out;
}

/**
 * Put new keys and values (H, T, D) behind those that are there.
 * @param {Backend} backend
 * @param {KV} kept
 * @param {Tensor} k
 * @param {Tensor} v
 * @param {number} start
 */
export function writeKV(backend, kept, k, v, start) {
  const [, T, D] = k.shape;
  const room = kept.k.shape[1];
  backend.move(k, kept.k, k.shape, [0, T * D, D], [start * D, room * D, D, 1]);
  backend.move(v, kept.v, v.shape, [0, T * D, D], [start, D * room, 1, room]);
}
