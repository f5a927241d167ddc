// A block to scale: its weights and the vectors of all tokens in one scale, so that one sees how an MLP
// widens a vector by four, what part of it a head has, and how few the tokens are beside all that.

import { nothing, svg } from "lit/html.js";
import { grouped } from "../exhibits/dom.mjs";
import { imageOf } from "./matrix.mjs";
import { Thumbs } from "./thumbs.mjs";
import { sides } from "./tiles.mjs";

/** @import { View } from "./scenes.mjs" */
/** @import { Tile } from "./tiles.mjs" */
/** @import { Noted } from "../tape.mjs" */
/** @import { model as PageModel } from "../exhibits/page_model.mjs" */

const MOST = 512; // rows and columns of a picture
const SIDE = 100; // px of a vector at most
const THIN = 3; // px of a matrix, which is one number thick
const GAP = 8; // px

export class Solids extends Thumbs {
  /**
   * @param {typeof PageModel} model
   * @param {() => void} repaint
   * @param {SVGElement} picture
   * @param {Thumbs} small  whose images stand there until the larger ones come
   */
  constructor(model, repaint, picture, small) {
    super(model, repaint, picture, MOST);
    this.small = small;
    this.block = -1;
    /** @type {WeakMap<Noted, Map<string, string>>} */
    this.vectors = new WeakMap();
  }

  /**
   * @override
   * @param {import("./thumbs.mjs").Piece} piece
   * @param {Record<string, string>} inks
   */
  image(piece, inks) {
    const own = super.image(piece, inks);
    const small = this.small.images.get(piece.name + [inks[piece.role], inks.minus]);
    return own === nothing && small ? small : own;
  }

  /** @override  those of the whole are not its own */
  made() {}

  /**
   * The vectors of all tokens as a picture; a head's numbers follow those of the head before.
   * @param {Noted} noted
   * @param {string[]} inks
   * @param {boolean} upright  the tokens stand beside each other
   * @returns {string}
   */
  pictureOf(noted, inks, upright) {
    const known = this.vectors.get(noted) ?? new Map();
    this.vectors.set(noted, known);
    const key = `${inks}${upright}`;
    if (!known.has(key)) {
      const { values, length } = rowsOf(noted);
      known.set(key, imageOf(values, length, inks, !upright));
    }
    return known.get(key);
  }

  /**
   * @param {View} view
   * @param {{y: number, left: number[], room: number, wide: boolean, high?: number}} where  `left`: px
   *   of attention and of the MLP, which on a phone is below it; `room`: px of either, `high`: of a plate
   */
  scale(view, { y: top, left: [x, mx], room, wide, high = SIDE }) {
    const { pass, place, colour, sizes } = view;
    const { config } = this.model.loaded ?? {};
    const n = Number(place.block);
    const h = `transformer.h.${n}.`;
    const noted = VECTORS.map((path) => /** @type {Noted} */ (pass.tensor?.(h + path)));
    if (!config || sizes.llama || noted.some((one) => !one)) return { body: nothing, height: 0 };
    if (n !== this.block) this.of = null; // the weights of another block
    this.block = n;
    const { nEmbd: C, nHead, nInner: F = 4 * C } = config;
    const T = pass.tokens.length;
    const most = Math.max(4 * C, F) * (wide ? 2 : 1); // where there is room, the MLP's lie side by side
    const each = Math.min(SIDE / C, high / (C + 2 * T), (room - 6 * GAP) / (most + 3 * T)); // px of a number
    const [side, deep, long] = [C * each, T * each, F * each];
    const part = side / nHead;
    const y = top + deep; // what stands reaches up so far
    const ink = (/** @type {string} */ role) => [colour(role), colour("minus")];
    /** Vectors that lie: their numbers go to the right. @type {(nth: number, role: string, x: number, y: number, width: number) => unknown} */
    const lying = (nth, role, x, y, width) =>
      svg`<g class="vectors" transform="matrix(1 0 -1 1 ${x + deep} ${y - deep})"><rect width=${width} height=${deep}></rect>
        <image href=${this.pictureOf(noted[nth], ink(role), false)} width=${width} height=${deep} preserveAspectRatio="none"></image></g>`;
    /** Vectors that stand: their numbers go down. @type {(nth: number, role: string, x: number, y: number) => unknown} */
    const upright = (nth, role, x, y) =>
      svg`<g class="vectors" transform="matrix(-1 1 0 1 ${x + deep} ${y - deep})"><rect width=${deep} height=${side}></rect>
        <image href=${this.pictureOf(noted[nth], ink(role), true)} width=${deep} height=${side} preserveAspectRatio="none"></image></g>`;
    const [wx, out] = [x + deep + GAP, y + side + GAP + deep]; // of the weights, and of what they make
    const ox = wx + 3 * side + deep + 2 * GAP; // of the matrix back into the stream
    const my = wide ? y : out + deep + 40; // of the MLP, which on a phone is below it
    const fx = mx + deep + GAP;
    const [px, py] = wide ? [fx + long + deep + 2 * GAP, my] : [fx, my + side + deep + 2 * GAP];
    /** @type {(name: string, x: number, y: number, width: number) => Tile} */
    const tile = (name, x, y, width) => ({
      module: `h.${n}.${name}`,
      label: "",
      block: n,
      x,
      y,
      width,
      height: side,
    });
    const tiles = [
      tile("attn.c_attn", wx, y, 3 * side),
      tile("attn.c_proj", ox, y, side),
      tile("mlp.c_fc", fx, my, long),
      tile("mlp.c_proj", px, py, long),
    ];
    const plates = tiles.map((one) => {
      const verb = one.module.includes("mlp") ? "think" : "gather";
      return svg`<g class="brick" data-when="block ${n}: ${verb}">${sides(one, THIN)}<rect class="tile" x=${one.x} y=${one.y} width=${one.width} height=${one.height}></rect></g>`;
    });
    // Each head has its part of q, k and v, and of what goes back.
    const heads = Array.from({ length: nHead }, (_, head) => {
      const along = [0, 1, 2].map(
        (third) => `M${wx + third * side + head * part + 0.5} ${y - 5}h${part - 1}`,
      );
      return svg`<path class="cap h${head % 4}" data-of="${n}.${head}" d="${along.join("")}M${ox - 4} ${y + head * part + 0.5}v${part - 1}"></path>`;
    });
    const name = (/** @type {string} */ told, /** @type {number} */ x, /** @type {number} */ y) =>
      svg`<text class="axis" x=${x} y=${y}>${told}</text>`;
    const told = [
      `One scale: a vector is ${grouped(C)} numbers high,`,
      `a head has ${C / nHead} of them, in its colour.`,
      "Plates are weights, the same for every",
      "text; beside them stand and lie",
      `the vectors of ${T} ${T > 1 ? "tokens" : "token"}.`,
    ];
    const size = (/** @type {number} */ a, /** @type {number} */ b) =>
      `${grouped(a)} × ${grouped(b)}`;
    return {
      height: py + side + (wide ? 2 * deep + GAP : 22) - top,
      body: svg`${plates}${this.fields(tiles, view, () => {})}${heads}
        ${upright(0, "plain", x, y)}${lying(1, "q", wx, out, side)}${lying(2, "k", wx + side, out, side)}${lying(3, "v", wx + 2 * side, out, side)}
        ${upright(4, "v", ox - deep - GAP - 4, y)}${lying(5, "plain", ox, out, side)}
        ${upright(6, "plain", mx, my)}${lying(7, "plain", fx, my + side + deep + GAP, long)}${upright(8, "plain", px + long + GAP, py)}
        ${name(`c_attn ${size(C, 3 * C)}`, wx, y - 12)}${name(wide ? `c_proj ${size(C, C)}` : "c_proj", ox, y - 12)}
        ${name(`c_fc ${size(C, F)}`, fx, my - 8)}${name(`c_proj ${size(F, C)}`, px, wide ? py - 8 : py + side + 16)}
        ${wide && mx - ox - side > 260 ? told.map((line, i) => name(line, ox + side + 20, y + 8 + 18 * i)) : nothing}`,
    };
  }
}

const VECTORS = "ln_1 attn.q attn.k attn.v attn.heads attn.out ln_2 mlp.act mlp.out".split(" ");

/** Those of all heads, token by token. @param {Noted} noted */
function rowsOf({ values, shape }) {
  const [T, D] = shape.slice(-2);
  const H = shape.length > 3 ? shape[1] : 1;
  const rows = new Float32Array(values.length);
  for (let h = 0; h < H; h++) {
    for (let t = 0; t < T; t++) {
      const from = (h * T + t) * D;
      rows.set(values.subarray(from, from + D), (t * H + h) * D);
    }
  }
  return { values: rows, length: H * D };
}
