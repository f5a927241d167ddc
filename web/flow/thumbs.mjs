// What is in the matrices below the whole: their weights as pictures, and where a click on one leads.

import { nothing, svg } from "lit/html.js";
import { grouped } from "../exhibits/dom.mjs";
import { press } from "./cells.mjs";
import { imageOf } from "./matrix.mjs";
import { tableOf } from "./source.mjs";

/** @import { Box } from "./layout.mjs" */
/** @import { Place } from "./place.mjs" */
/** @import { View } from "./scenes.mjs" */
/** @import { Tile } from "./tiles.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */

const MOST = 128; // rows and columns below the whole
const SHARP = 2; // for each px of its longer side
const NARROWEST = 4; // px of a head's part that can be met

/**
 * A matrix of the picture, or a third of c_attn. `heads`: which way they lie in it; `many`: how many.
 * @typedef {{box: Box, module: string, name: string, rows: number[], columns: number[], role: string,
 *   turned?: boolean, heads?: "x" | "y", many?: number, place: (head: number) => Place | null}} Piece
 */

/**
 * @param {Tile} tile
 * @param {import("./source.mjs").Widths & {blockSize: number, nLayer: number}} sizes
 * @returns {Piece[]}
 */
export function piecesOf({ module, block, ...box }, sizes) {
  const { nEmbd: C, vocabSize: V, blockSize: S, nLayer, nHead } = sizes;
  const { nInner: F = 4 * C, nKvHead = nHead, headSize: D = C / nHead } = sizes;
  const path = module === "lm_head" ? module : `transformer.${module}`;
  const all = { box, module: path, name: module, role: "plain" };
  const [one, units] = [C, F].map((n) => [0, n]);
  const weight = module.slice(module.lastIndexOf(".") + 1);
  if (block === undefined) {
    const last = path === tableOf(sizes); // the others are looked up
    const place = () => (last ? { block: nLayer, weight: "wte" } : null);
    return [{ ...all, rows: [0, module === "wpe" ? S : V], columns: one, place }];
  }
  if (module.includes(".mlp.")) {
    const place = () => ({ block, mlp: true, weight });
    if (weight !== "c_proj" && weight !== "down_proj")
      return [{ ...all, rows: units, columns: one, place }];
    return [{ ...all, rows: one, columns: units, turned: true, place }];
  }
  /** @type {(weight: string, each?: number) => (head: number) => Place} */
  const own =
    (weight, each = 1) =>
    (head) => ({ block, head: head * each, weight });
  const place = own(weight);
  if (weight === "c_proj" || weight === "o_proj") {
    const columns = [0, nHead * D];
    return [{ ...all, rows: one, columns, role: "v", heads: "y", many: nHead, place }];
  }
  if (weight !== "c_attn") {
    const [role, many] = [weight[0], weight === "q_proj" ? nHead : nKvHead];
    const place = own(role, nHead / many); // of heads that share it, the first
    return [{ ...all, rows: [0, many * D], columns: one, role, heads: "x", many, place }];
  }
  const width = box.width / 3;
  return ["q", "k", "v"].map((role, i) => ({
    ...all,
    name: `${module}, ${role}`,
    box: { ...box, x: box.x + i * width, width },
    rows: [i * C, (i + 1) * C],
    columns: one,
    role,
    heads: "x",
    many: nHead,
    place: own(role),
  }));
}

export class Thumbs {
  /**
   * @param {typeof PageModel} model
   * @param {() => void} repaint
   * @param {SVGElement} picture
   * @param {number} [most]  rows and columns of a picture: of a larger matrix so many, evenly spread
   */
  constructor(model, repaint, picture, most = MOST) {
    this.most = most;
    this.picture = picture;
    this.model = model;
    this.repaint = repaint;
    /** @type {Map<string, {weight: Float32Array, inputs: number}>} */
    this.weights = new Map();
    /** @type {Map<string, string>} */
    this.images = new Map();
    /** @type {Map<string, () => string>} */
    this.due = new Map(); // images that are to be made
    this.makes = false;
    /** @type {Piece[]} */
    this.pieces = []; // that are drawn
    /** @type {unknown} */
    this.of = null; // the model that they are of
  }

  /**
   * @param {Tile[]} tiles
   * @returns {Promise<boolean>}  whether other weights have come; what failed is asked for again
   */
  async fetch(tiles) {
    const { model } = this;
    const loaded = await model.ready().catch(() => null);
    if (!loaded || this.of === loaded) return false;
    this.of = loaded;
    this.weights.clear();
    const pieces = tiles.flatMap((tile) => piecesOf(tile, loaded.config));
    for (const { module, name, rows, columns, box } of pieces) {
      const most = Math.ceil(Math.min(this.most, SHARP * Math.max(box.width, box.height)));
      const part = await model.part({ module, rows, columns, most }).catch(() => null);
      if (!part) this.of = null;
      if (!part || this.of !== loaded) return false;
      this.weights.set(name, { weight: part.weight, inputs: Math.min(most, columns[1]) });
    }
    this.images.clear();
    return true;
  }

  /**
   * The image of a piece; what is not made yet comes later.
   * @param {Piece} piece
   * @param {Record<string, string>} inks  by role
   */
  image({ name, role, turned }, inks) {
    const known = this.weights.get(name);
    if (!known) return nothing;
    const both = [inks[role], inks.minus];
    const key = name + both;
    const image = this.images.get(key);
    if (image) return image;
    this.due.set(name, () => {
      const made = imageOf(known.weight, known.inputs, both, turned);
      this.images.set(key, made);
      return made;
    });
    return nothing;
  }

  /** One image after the other once their places are there: all in one task would hold up a page. */
  async make() {
    if (this.makes) return;
    for (this.makes = true; this.due.size;) {
      await new Promise((done) => setTimeout(done));
      const [[name, make]] = this.due;
      const made = make();
      this.picture.querySelector(`[data-weights="${name}"]`)?.setAttribute("href", made);
      this.due.delete(name);
    }
    this.makes = false;
    this.made();
  }

  /** With images, those in few pixels are not needed. */
  made() {
    this.picture.classList.toggle("sharp", this.images.size > 0);
  }

  /**
   * @param {Tile[]} tiles
   * @param {View} view
   * @param {() => void} looked  what a click on a table does that is only looked up
   */
  draw(tiles, view, looked) {
    const { pass, at, go } = view;
    const { model } = this;
    if (pass.only) {
      const { x, y, deep } = /** @type {Tile} */ (tiles.find(({ block }) => block === 0));
      if (deep) return nothing; // it is said below folded blocks
      return svg`<text class="part" x=${x} y=${y + 96}>Each box is as large as its matrix; no weights are kept with this pass.</text>`;
    }
    if (!model.coming) return nothing; // nobody is near
    const config = model.loaded?.config;
    if (!config) {
      model.ready().then(this.repaint, () => {});
      return nothing;
    }
    const { nLayer } = config;
    const table = tableOf(config).replace("transformer.", "");
    const last = /** @type {Tile} */ (tiles.find(({ module }) => module === table));
    const norm = () => go({ block: nLayer, norm: "ln_f", token: at });
    const [dx, dy] = last.deep ? [0, 31] : [52, 13];
    const norms = config.llama ? "norm" : "LayerNorm";
    const before = svg`<text class="letter opens plain" role="button" tabindex="0" x=${last.x + dx} y=${last.y + last.height + dy}
      aria-label="ln_f, the last ${norms}: open it" @click=${norm}
      @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, norm)}>${norms} ▸<title>ln_f</title></text>`;
    return [this.fields(tiles, view, looked), before];
  }

  /**
   * Their images, and on these what can be pressed.
   * @param {Tile[]} tiles
   * @param {Pick<View, "at" | "go" | "colour">} view
   * @param {() => void} looked
   */
  fields(tiles, { at, go, colour }, looked) {
    const { config } = /** @type {any} */ (this.model.loaded);
    const pieces = (this.pieces = tiles.flatMap((tile) => piecesOf(tile, config)));
    this.fetch(tiles).then((other) => other && this.repaint());
    const roles = new Set(["minus", ...pieces.map(({ role }) => role)]);
    const inks = Object.fromEntries(Array.from(roles, (role) => [role, colour(role)]));
    return pieces.map((piece, nth) => {
      const { box, name, rows, columns, heads, many: parts = 1 } = piece;
      const long = (heads === "x" ? box.width : box.height) / parts;
      const many = long >= NARROWEST ? parts : 1;
      const [inputs, outputs] = [columns, rows].map(([a, b]) => b - a);
      const own = heads === "x" ? [inputs, outputs / many] : [inputs / many, outputs];
      const size = own.map(grouped).join(" × ");
      const shown = this.weights.has(name)
        ? svg`<image href=${this.image(piece, inks)} data-weights=${name} x=${box.x} y=${box.y} width=${box.width} height=${box.height} preserveAspectRatio="none"></image>`
        : nothing;
      const fields = Array.from({ length: many }, (_, head) => {
        const to = piece.place(head);
        const open = () => (to ? go({ ...to, token: at }) : looked());
        const part = { ...box };
        if (many > 1 && heads === "x") [part.x, part.width] = [box.x + head * long, long];
        if (many > 1 && heads === "y") [part.y, part.height] = [box.y + head * long, long];
        const of = heads ? `${to?.block}.${head}` : nothing;
        const told = `${name}${many > 1 ? ` of head ${to?.block}.${head}` : ""}: ${size} weights`;
        return svg`<rect class="tile-part" role="button" data-rove="tiles" tabindex=${nth + head ? -1 : 0} data-of=${of}
          aria-label="${told}: open them" x=${part.x} y=${part.y} width=${part.width} height=${part.height}
          @click=${open} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, open)}><title>${told}; click to open</title></rect>`;
      });
      return svg`${shown}${fields}`;
    });
  }
}
