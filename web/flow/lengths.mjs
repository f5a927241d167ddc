// How long a block's vectors are, and where what it adds points.

import { lengthOf, rowOf } from "./cells.mjs";

/**
 * The lengths of the followed token's vectors in a block.
 * @param {import("./pass.mjs").Pass} pass
 * @param {number} block
 * @param {number} at
 */
export function lengthsOf({ tensor, tokens }, block, at) {
  const h = `transformer.h.${block}.`;
  const of = (/** @type {string} */ path) => {
    const noted = /** @type {any} */ (tensor)(path);
    return rowOf(noted, at, noted.values.length / tokens.length);
  };
  const before = block ? of(`transformer.h.${block - 1}.resid_post`) : of("embd");
  const [attention, middle, mlp, after] = ["attn.out", "resid_mid", "mlp.out", "resid_post"].map(
    (name) => of(h + name),
  );
  return {
    before: lengthOf(before),
    attention: lengthOf(attention),
    middle: lengthOf(middle),
    mlp: lengthOf(mlp),
    after: lengthOf(after),
    streams: [before, middle],
  };
}

/**
 * Where a vector points that is added, by the lengths before, of itself, and after.
 * @param {number[]} lengths
 */
export function wayOf([before, added, after]) {
  const along = (after ** 2 - before ** 2 - added ** 2) / (2 * before * added); // the cosine
  const most = Math.abs(along) > 0.3 && Math.abs(along) < 0.7 ? "partly" : "mostly";
  return `${most} ${Math.abs(along) <= 0.3 ? "sideways" : along > 0 ? "along it" : "against it"}`;
}
