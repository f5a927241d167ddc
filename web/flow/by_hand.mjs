// A number that the reader sets by hand: a share of attention, a number of q, k or v, of a unit, of
// what an MLP adds. Everything that follows from it is computed.

import { svg } from "lit/html.js";
import { fixed, make, quoted } from "../exhibits/dom.mjs";
import { sharedBy } from "./cells.mjs";
import { vectorOf } from "./parts.mjs";
import { wayThrough } from "./way.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Place } from "./place.mjs" */
/** `path` is within the blocks, "1.attn.weights"; `index`: the head if there are any, the token, the
 * number. @typedef {{path: string, index: number[], value: number}} Cell */
/** @typedef {import("./source.mjs").Widths & {nLayer: number}} Sizes */

const WRITTEN =
  /^(\d+)\.(attn\.(?:weights|q|k|v)|mlp\.(?:pre|act|out)):(\d+(?:\.\d+)+)=(-?[\d.]+)$/;
const MOST = 20; // numbers
/** The tensor that a matrix makes. @type {Record<string, string>} */
const MADE = {
  "attn.q": "attn.q",
  "attn.k": "attn.k",
  "attn.v": "attn.v",
  "mlp.c_fc": "mlp.pre",
  "mlp.gate_proj": "mlp.pre",
  "mlp.c_proj": "mlp.out",
  "mlp.down_proj": "mlp.out",
};

/**
 * The number that a place is about, if it can be set.
 * @param {Place} place
 * @param {number} at  the token that is followed
 * @param {import("./source.mjs").Widths} sizes
 * @returns {{path: string, index: number[]} | null}
 */
export function cellOf(
  { block, head = 0, query, key = 0, unit, weight, token = 0, output, mlp, norm },
  at,
  { llama, nHead, nKvHead = nHead },
) {
  if (query !== undefined) return { path: `${block}.attn.weights`, index: [head, query, key] };
  if (unit !== undefined) return { path: `${block}.mlp.act`, index: [at, unit] };
  if (output === undefined || norm || weight === "wte") return null;
  const name = MADE[`${mlp ? "mlp" : "attn"}.${weight}`];
  if (mlp) return name ? { path: `${block}.${name}`, index: [token, output] } : null;
  if (!name || (llama && weight !== "v")) return null; // q and k are turned before they are noted
  const own = weight === "q" ? head : sharedBy(head, nHead, nKvHead);
  return { path: `${block}.${name}`, index: [own, token, output] };
}

/**
 * As the address has it: "1.attn.weights:0.6.3=0.5".
 * @param {Cell} cell
 */
export function written({ path, index, value }) {
  return `${path}:${index.join(".")}=${value}`;
}

/**
 * @param {string} text
 * @param {Sizes} sizes
 * @param {number} T  tokens
 * @returns {Cell | null}  null: there is no such number
 */
export function readCell(text, sizes, T) {
  const { nLayer, nHead, nKvHead = nHead } = sizes;
  const [, block, name, where, value] = text.match(WRITTEN) ?? [];
  if (!name) return null;
  const index = where.split(".").map(Number);
  const heads = /attn\.[kv]$/.test(name) ? nKvHead : nHead;
  const shape = [...(name.startsWith("attn") ? [heads] : []), T, widthOf(name, sizes, T)];
  const fits = index.length === shape.length && index.every((i, axis) => i < shape[axis]);
  const later = name === "attn.weights" && index[2] > index[1];
  if (!fits || later || Number(block) >= nLayer || !Number.isFinite(Number(value))) return null;
  return { path: `${block}.${name}`, index, value: Number(value) };
}

/**
 * The length of a row of a tensor.
 * @param {string} path
 * @param {Sizes} sizes
 * @param {number} T
 */
function widthOf(path, { nHead, nEmbd: C, nInner: F = 4 * C, headSize: D = C / nHead }, T) {
  return { weights: T, out: C, pre: F, act: F }[path.split(".").at(-1) ?? ""] ?? D;
}

/**
 * What the engine is asked for.
 * @param {Cell[]} cells
 * @param {Sizes} sizes
 * @param {number} T
 */
export function editsOf(cells, sizes, T) {
  /** @type {Record<string, {set: [number, number][]}>} */
  const edits = {};
  for (const { path, index, value } of cells) {
    const width = widthOf(path, sizes, T);
    const [head, t, n] = index.length > 2 ? index : [0, ...index];
    const { set } = (edits[`transformer.h.${path}`] ??= { set: [] });
    set.push([(head * T + t) * width + n, value]);
  }
  return edits;
}

/**
 * @param {Pass | null | undefined} pass
 * @param {{path: string, index: number[]}} cell
 * @returns {{value: number, row: Float32Array} | null}  the number, and those beside it
 */
function valueOf(pass, { path, index }) {
  const noted = pass?.tensor?.(`transformer.h.${path}`);
  if (!noted) return null;
  const [head, t, n] = index.length > 2 ? index : [0, ...index];
  const row = vectorOf(noted, t, head);
  return { value: row[n], row };
}

/**
 * @param {{path: string, index: number[]}} cell
 * @param {string[]} tokens
 */
function nameOf({ path, index }, tokens) {
  const [block, , name] = path.split(".");
  const n = index[index.length - 1];
  const token = quoted(tokens[index[index.length - 2]]);
  if (name === "weights")
    return `what ${token} takes from ${quoted(tokens[n])} in head ${block}.${index[0]}`;
  if (index.length > 2) return `number ${n} of ${name} of ${token} in head ${block}.${index[0]}`;
  if (name === "out") return `number ${n} of what MLP ${block} adds at ${token}`;
  return `${name} of unit ${n} of MLP ${block} at ${token}`;
}

export class Hand {
  /**
   * @param {State} state
   * @param {Sizes} sizes
   */
  constructor(state, sizes) {
    this.state = state;
    this.sizes = sizes;
    /** @type {{path: string, index: number[]} | null} */
    this.cell = null; // that the slider sets
    this.name = make("span");
    this.value = make("output");
    this.slider = make("input", { type: "range", step: "0.01", oninput: () => this.move() });
    this.label = make(
      "label",
      { class: "slider" },
      make("span", {}, this.name, " ", this.value),
      this.slider,
    );
    const back = () => state.set({ set: state.get("set").slice(0, -1) });
    this.undo = make("button", { type: "button", onclick: back }, "undo");
    this.element = make("div", { class: "flow-hand" }, this.label, this.undo);
  }

  move() {
    const { cell, state } = this;
    if (!cell) return;
    const own = written({ ...cell, value: 0 }).slice(0, -1);
    const others = state.get("set").filter((/** @type {string} */ one) => !one.startsWith(own));
    state.set({ bug: "", set: [...others, own + Number(this.slider.value)] });
  }

  /**
   * The numbers that are set, as far as a text of so many tokens has them.
   * @param {number} T
   */
  cells(T) {
    const all = this.state.get("set").slice(-MOST);
    return /** @type {Cell[]} */ (
      all.map((/** @type {string} */ one) => readCell(one, this.sizes, T)).filter(Boolean)
    );
  }

  /**
   * @param {Pass} pass  that is shown
   * @param {Place} place
   * @param {number} at
   */
  set(pass, place, at) {
    const { slider } = this;
    this.cell = pass.tensor && cellOf(place, at, this.sizes);
    const now = this.cell && valueOf(pass, this.cell);
    this.label.hidden = !now;
    this.undo.hidden = !this.cells(pass.ids.length).length;
    this.element.hidden = this.label.hidden && this.undo.hidden;
    if (!this.cell || !now) return;
    const share = this.cell.path.endsWith("weights");
    const reach = Math.ceil(2 * Math.max(1, ...now.row.map(Math.abs)));
    const name = `set ${nameOf(this.cell, pass.tokens)}`;
    this.name.textContent = `${name}:`;
    slider.setAttribute("aria-label", name);
    this.value.textContent = fixed(now.value, 2);
    if (document.activeElement === slider) return; // its range stays while it is held
    [slider.min, slider.max] = share ? ["0", "1"] : [String(-reach), String(reach)];
    slider.value = String(now.value);
  }

  /**
   * What was set, and what came of it.
   * @param {Pass} pass
   */
  says(pass) {
    const cells = this.cells(pass.ids.length);
    const last = cells.at(-1);
    const { base } = pass;
    if (!last || !base) return "";
    const was = valueOf(base, last);
    const more = cells.length > 1 ? `, and ${cells.length - 1} more` : "";
    const [old, now] = [base.next[0], pass.next[0]];
    const p = (/** @type {Pass} */ of, /** @type {number} */ id) => fixed(of.shares?.[id] ?? 0, 2);
    const then =
      old.id === now.id
        ? `${quoted(now.name)} had ${p(base, now.id)}, now it has ${p(pass, now.id)}`
        : `instead of ${quoted(old.name)} (${p(base, old.id)}, now ${p(pass, old.id)}) comes ${quoted(now.name)} (${p(pass, now.id)})`;
    const sum = last.path.endsWith("weights") ? rowSum(pass, last) : "";
    return `By hand, ${nameOf(last, pass.tokens)} is ${fixed(last.value, 2)} instead of ${fixed(was?.value ?? 0, 2)}${more}${sum}: ${then}.`;
  }
}

/**
 * The other shares stay as they were.
 * @param {Pass} pass
 * @param {Cell} cell
 */
function rowSum(pass, cell) {
  const sum = valueOf(pass, cell)?.row.reduce((all, share) => all + share, 0) ?? 1;
  return ` (the shares sum to ${fixed(sum, 2)} now)`;
}

/**
 * Where numbers are set by hand, in the whole.
 * @param {{path: string, index: number[]}[]} cells
 * @param {import("./layout.mjs").Layout} layout
 * @param {boolean} llama
 */
export function handsOf(cells, layout, llama) {
  const way = wayThrough(layout.nLayer, llama);
  return cells.map(({ path, index }) => {
    const depth = way.find((one) => one.path === `transformer.h.${path}`)?.depth ?? 0;
    const [x, y] = layout.point(depth, layout.lane(index[index.length - 2]), -12);
    return svg`<text class="by-hand" x=${x} y=${y} text-anchor="middle">✎<title>set by hand</title></text>`;
  });
}
