// Places in the picture of the whole, as its address names them: "" is the model, "1" its block 1,
// "1.0" a head, "1.0.6.3" the score of query 6 and key 3, "1.0.6.3.16" its sixteenth product;
// "1.mlp" is the MLP, "1.mlp.17" a unit of it.

/** @typedef {{block?: number, head?: number, query?: number, key?: number,
 *   number?: number, mlp?: boolean, unit?: number}} Place */

/**
 * @param {string} text
 * @param {{nLayer: number, nHead: number, T: number, D: number, units: number}} sizes
 * @returns {Place}  as deep as it makes sense
 */
export function placeOf(text, { nLayer, nHead, T, D, units }) {
  const parts = text.split(".");
  const number = (/** @type {number} */ i, /** @type {number} */ below) => {
    const value = Number(parts[i] || NaN);
    return Number.isInteger(value) && value >= 0 && value < below ? value : undefined;
  };
  const block = number(0, nLayer);
  if (block === undefined) return {};
  if (parts[1] === "mlp") return { block, mlp: true, unit: number(2, units) };
  const head = number(1, nHead);
  if (head === undefined) return { block };
  const query = number(2, T);
  const key = number(3, query === undefined ? 0 : query + 1);
  if (query === undefined || key === undefined) return { block, head };
  return { block, head, query, key, number: number(4, D) };
}

/**
 * @param {Place} place
 * @returns {string}
 */
export function addressOf({ block, head, query, key, number, mlp, unit }) {
  const parts = mlp ? [block, "mlp", unit] : [block, head, query, key, number];
  return parts.filter((part) => part !== undefined).join(".");
}

/**
 * How deep a place is: 0 the model, 1 a block, 2 a head or an MLP, 3 a unit, 4 one score.
 * @param {Place} place
 */
export function levelOf({ block, head, query, mlp, unit }) {
  if (block === undefined) return 0;
  if (query !== undefined) return 4;
  if (unit !== undefined) return 3;
  return head !== undefined || mlp ? 2 : 1;
}

/**
 * The place around a place.
 * @param {Place} place
 * @returns {Place}
 */
export function outOf({ block, head, query, key, number, mlp, unit }) {
  if (number !== undefined) return { block, head, query, key };
  if (query !== undefined) return { block, head };
  if (unit !== undefined) return { block, mlp };
  return head !== undefined || mlp ? { block } : {};
}

/**
 * The way from the model to a place, for the line above the picture.
 * @param {Place} place
 * @param {string[]} tokens
 * @returns {{name: string, place: Place}[]}
 */
export function wayTo(place, tokens) {
  const { block, head, query = 0, key = 0, number, unit } = place;
  if (block === undefined) return [{ name: "model", place }];
  const names = [
    `block ${block}`,
    place.mlp ? "MLP" : `head ${block}.${head}`,
    `unit ${unit}`,
    `score ${tokens[query]} → ${tokens[key]}`,
  ];
  const name = number === undefined ? names[levelOf(place) - 1] : `number ${number}`;
  return [...wayTo(outOf(place), tokens), { name, place }];
}
