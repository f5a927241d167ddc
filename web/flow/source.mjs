// Where a matrix of the picture is in the model, and which tensors are before and after it.

import { sharedBy } from "./cells.mjs";

/** @import { Place } from "./place.mjs" */
/** Of a config, or of what is stored with passes. @typedef {{nHead: number, nEmbd: number,
 *   vocabSize: number, nInner?: number, nKvHead?: number, headSize?: number,
 *   llama?: {tied: boolean} | null}} Widths */

/**
 * `to`: which head of `output`; `untaped`: that tensor is another, as these outputs are turned or
 * multiplied first, or summed over heads; `once`: the bias is added once, for all heads.
 * @typedef {{module: string, rows: number[], columns: number[], input: string, output: string,
 *   to?: number, untaped?: boolean, once?: boolean}} Source
 */

/**
 * What a matrix makes of what: its module, the part of its weights, the tensors before and after.
 * @param {Place} place
 * @param {Widths} sizes
 * @returns {Source}
 */
export function sourceOf(place, sizes) {
  const { block, mlp, weight } = place;
  const { nEmbd: C, vocabSize: V, nInner: F = 4 * C } = sizes;
  const h = `transformer.h.${block}.`;
  const [all, units] = [
    [0, C],
    [0, F],
  ];
  if (weight === "wte") {
    return { module: tableOf(sizes), rows: [0, V], columns: all, input: "ln_f", output: "logits" };
  }
  if (!mlp) return sourceOfHead(place, sizes);
  const module = `${h}mlp.${weight}`;
  if (weight === "c_proj" || weight === "down_proj") {
    return { module, rows: all, columns: units, input: `${h}mlp.act`, output: `${h}mlp.out` };
  }
  const up = weight === "up_proj"; // scales what the gate lets through
  const output = `${h}mlp.${up ? "act" : "pre"}`;
  return { module, rows: units, columns: all, input: `${h}ln_2`, output, untaped: up };
}

/** The matrix that makes the logits. @param {Pick<Widths, "llama">} sizes */
export function tableOf({ llama }) {
  return llama?.tied === false ? "lm_head" : "transformer.wte";
}

/**
 * @param {Place} place
 * @param {Widths} sizes
 * @returns {Source}
 */
function sourceOfHead({ block, head = 0, weight = "q" }, sizes) {
  const { nHead, nEmbd: C, llama, nKvHead = nHead, headSize: D = C / nHead } = sizes;
  const h = `transformer.h.${block}.`;
  const attn = `${h}attn.`;
  const own = (/** @type {number} */ n) => [n * D, (n + 1) * D];
  if (weight === "c_proj" || weight === "o_proj") {
    const [input, output] = [`${attn}heads`, `${attn}out`];
    const module = attn + weight;
    return { module, rows: [0, C], columns: own(head), input, output, untaped: true, once: true };
  }
  const [input, output] = [`${h}ln_1`, attn + weight];
  if (!llama) {
    const third = C * ["q", "k", "v"].indexOf(weight);
    const rows = own(head).map((n) => third + n);
    return { module: `${attn}c_attn`, rows, columns: [0, C], input, output, to: head };
  }
  const to = weight === "q" ? head : sharedBy(head, nHead, nKvHead);
  const module = `${attn}${weight}_proj`;
  return { module, rows: own(to), columns: [0, C], input, output, to, untaped: weight !== "v" };
}
