// Places in the picture of the whole, as its address names them: "" is the model, "1" its block 1,
// "1.0" a head, "1.0.6.3" the score of query 6 and key 3, "1.0.6.3.16" its sixteenth product;
// "1.mlp" is the MLP, "1.mlp.17" a unit of it. "1.0.q.6" is the matrix that makes q of token 6,
// "1.0.q.6.17" its output 17, "1.0.q.6.17.5" a product of that; "1.mlp.c_fc.6" is the MLP's first.
// "wte.6.483" is the last matrix, which makes the logit of token 483; "ln_f.6" the LayerNorm before it.
// "1.ln_1.6" is LayerNorm ln_1 for token 6, "1.ln_1.6.17" with number 17 spelled out. Matrices of a
// Llama have its names: "1.0.o_proj.6", "1.mlp.gate_proj.6".

import { quoted } from "../exhibits/dom.mjs";

/** The steps of a head. */
export const STEPS = ["score", "scale", "mask", "share", "mix"];

/** @typedef {{block?: number, head?: number, query?: number, key?: number,
 *   number?: number, mlp?: boolean, unit?: number, weight?: string, token?: number,
 *   output?: number, norm?: string}} Place */
/** @typedef {{nLayer: number, nHead: number, T: number, D: number, units: number, V: number,
 *   C?: number, llama?: unknown}} Sizes  C: if it is not nHead · D */
/** Behind the last block: their place has a block more. */
const END = { ln_f: "norm", wte: "weight" };

export const NORMS = ["ln_1", "ln_2"];
const GPT2 = { head: ["q", "k", "v", "c_proj"], mlp: ["c_fc", "c_proj"] };
const LLAMA = { head: ["q", "k", "v", "o_proj"], mlp: ["gate_proj", "up_proj", "down_proj"] };
const BACK = ["c_proj", "o_proj", "down_proj"]; // into the stream

/** The matrices of a head and of an MLP, by name. @param {{llama?: unknown}} sizes */
export const matricesOf = ({ llama }) => (llama ? LLAMA : GPT2);

/**
 * How many numbers go into a matrix, and how many come out.
 * @param {Place} place
 * @param {{nHead: number, D: number, units: number, V: number, C?: number}} sizes
 */
export function sizeOf({ mlp, weight = "" }, { nHead, D, units, V, C = nHead * D }) {
  if (weight === "wte") return { inputs: C, outputs: V };
  if (BACK.includes(weight)) return { inputs: mlp ? units : D, outputs: C };
  return { inputs: C, outputs: mlp ? units : D };
}

/**
 * @param {string} text
 * @param {Sizes} sizes
 * @returns {Place}  as deep as it makes sense
 */
export function placeOf(text, sizes) {
  const { nLayer, nHead, T, D, units, V, C = nHead * D } = sizes;
  const parts = text.split(".");
  const number = (/** @type {number} */ i, /** @type {number} */ below) => {
    const value = Number(parts[i] || NaN);
    return Number.isInteger(value) && value >= 0 && value < below ? value : undefined;
  };
  const end = /** @type {"ln_f" | "wte"} */ (parts[0]);
  if (Object.hasOwn(END, end)) {
    const token = number(1, T);
    const output = number(2, token === undefined ? 0 : end === "wte" ? V : C);
    const at = output === undefined || end !== "wte" ? undefined : number(3, C);
    return { block: nLayer, [END[end]]: end, token, output, number: at };
  }
  const block = number(0, nLayer);
  if (block === undefined) return {};
  if (NORMS.includes(parts[1])) {
    const token = number(2, T);
    return { block, norm: parts[1], token, output: number(3, token === undefined ? 0 : C) };
  }
  const mlp = parts[1] === "mlp";
  const head = mlp ? undefined : number(1, nHead);
  if (!mlp && head === undefined) return { block };
  const around = mlp ? { block, mlp } : { block, head };
  const weight = parts[2];
  if (matricesOf(sizes)[mlp ? "mlp" : "head"].includes(weight)) {
    const { inputs, outputs } = sizeOf({ mlp, weight }, sizes);
    const token = number(3, T);
    const output = number(4, token === undefined ? 0 : outputs);
    return {
      ...around,
      weight,
      token,
      output,
      number: output === undefined ? output : number(5, inputs),
    };
  }
  if (mlp) return { block, mlp, unit: number(2, units) };
  const query = number(2, T);
  const key = number(3, query === undefined ? 0 : query + 1);
  if (query === undefined || key === undefined) return { block, head };
  return { block, head, query, key, number: number(4, D) };
}

/**
 * @param {Place} place
 * @returns {string}
 */
export function addressOf(place) {
  const { block, head, query, key, number, mlp, unit, weight, token, output, norm } = place;
  const of = [token, output];
  const inner = weight ? [weight, ...of] : norm ? of : mlp ? [unit] : [query, key];
  const parts = isEnd(place)
    ? [norm ?? weight, ...of, number]
    : [block, mlp ? "mlp" : (norm ?? head), ...inner, number];
  return parts.filter((part) => part !== undefined).join(".");
}

/** Behind the last block. @param {Place} place */
function isEnd({ norm = "", weight = "" }) {
  return norm in END || weight in END;
}

/**
 * How deep a place is: 0 the model, 1 a block, 2 a head or an MLP, 3 a matrix or a unit, 4 one sum
 * of products.
 * @param {Place} place
 */
export function levelOf({ block, head, query, number, mlp, unit, weight, norm }) {
  if (block === undefined) return 0;
  if (query !== undefined || number !== undefined) return 4;
  if (unit !== undefined || weight) return 3;
  return head !== undefined || mlp || norm ? 2 : 1;
}

/**
 * The place around a place.
 * @param {Place} place
 * @returns {Place}
 */
export function outOf({ number, ...place }) {
  const { block, head, query, mlp, unit, weight, norm } = place;
  if (number !== undefined) return place;
  if (isEnd(place)) return {};
  const part = mlp ? { block, mlp } : { block, head };
  if (query !== undefined || unit !== undefined || weight) return part;
  return head !== undefined || mlp || norm ? { block } : {};
}

/**
 * The way from the model to a place, for the line above the picture.
 * @param {Place} place
 * @param {string[]} tokens
 * @returns {{name: string, place: Place}[]}
 */
export function wayTo(place, tokens) {
  const { block, head, query = 0, key = 0, number, unit, weight, token, output, mlp, norm } = place;
  if (block === undefined) return [{ name: "model", place }];
  const of = token === undefined ? "" : `, ${quoted(tokens[token])}`;
  const chosen = output === undefined ? "" : `, ${norm ? "number" : "output"} ${output}`;
  const names = [
    `block ${block}`,
    mlp ? "MLP" : norm ? norm + of + chosen : `head ${block}.${head}`,
    weight ? weight + of + chosen : `unit ${unit}`,
    `score ${quoted(tokens[query])} → ${quoted(tokens[key])}`,
  ];
  const name = number === undefined ? names[levelOf(place) - 1] : `number ${number}`;
  return [...wayTo(outOf(place), tokens), { name, place }];
}
