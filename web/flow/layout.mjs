// Where everything stands in the picture of the whole. Depth is the way through the model, lanes are
// tokens. Where there is room, depth runs to the right and lanes lie below each other; on a phone the
// picture is turned: depth runs down, and all blocks of the book's model stand in one screen.

import { BAND } from "./tiles.mjs";

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

export const WIDE = 640; // px: below it the picture is turned
const LANES = 12; // that are shown; older tokens are one grey lane
const FEW = 7; // on a phone
const ROWS = 252; // px of all lanes, however many: what stands below stays in its place
const TOP = 62; // px above all of them
const OPEN = 120; // px that a block needs to show its MLP
const HEADS = 26; // px that the heads of a folded block take from the lanes
const TALL = 52; // px of a lane at most, where blocks are folded
const FEET = 68; // px of a folded block's weights
const LOW = 115; // px of a block on a phone: three of them and the answer are seen at once
/** Where there are words between attention and the MLP: parts of the way, and of its px. */
const WORDED = [0, 0, 0.45, 0.34, 0.5, 0.41, 0.56, 0.6, 0.9, 0.86, 0.96, 0.95, 1, 1];
/** Where an MLP is. */
const FIELD = { wide: [1.56, 1.83], turned: [1.58, 1.9] };
const FOLDED = { wide: [1.58, 1.78], turned: [1.67, 1.9] };
export const WIDER = 4; // times: an MLP is as deep as four vectors
export const DEEP = 8; // px of a room, which is a box

export class Layout {
  /**
   * @param {number} width  px that there are
   * @param {number} T  tokens
   * @param {number} nLayer
   */
  constructor(width, T, nLayer) {
    this.wide = width >= WIDE;
    const most = this.wide ? LANES : FEW;
    /** The first token with a lane of its own; those before it share lane 0, if there are any. */
    this.first = T > most ? T - most + 1 : 0;
    this.lanes = T - this.first + (this.first ? 1 : 0);
    this.nLayer = nLayer;
    const [begin, end] = this.wide
      ? [Math.max(130, width * 0.14), Math.max(160, width * 0.19)]
      : [76, 340];
    const room = this.wide ? (width - begin - end) / nLayer : nLayer > 4 ? 110 : LOW;
    this.folded = this.wide ? room < OPEN : nLayer > 4;
    const rows = ROWS - (this.folded ? HEADS : 0);
    const across = this.folded ? Math.min(TALL, rows / this.lanes) : rows / Math.max(7, this.lanes);
    this.across = this.wide ? across : Math.min(52, (width - 12) / this.lanes);
    this.starts = [0, ...Array.from({ length: nLayer + 1 }, (_, n) => begin + n * room)];
    this.ends = [...this.starts.slice(1), begin + nLayer * room + end];
    const depth = begin + nLayer * room + end;
    this.top = this.wide ? TOP : 44; // of the first lane's room: titles stand above
    if (this.wide && this.folded) this.top += HEADS + (rows - this.lanes * across) / 2;
    this.width = width;
    /** How deep a vector is, px: in one scale an MLP has four times that, a head its part of it. */
    const plank = this.across / (this.wide ? 6.2 : 9.6);
    this.plank = this.wide && this.folded ? Math.min(plank, room / 22) : plank;
    /** Of a room, px. */
    this.deep = Math.min(DEEP, room / 6);
    /** Where the lanes end, px: the weights lie below. */
    this.end = this.wide ? TOP + ROWS + 22 : depth + this.top + 12;
    const more = this.wide ? 36 : this.folded ? 270 : 50;
    this.height = this.end + BAND + more;
    /** Where blocks end: below folded ones it is said what is in them. */
    this.foot = this.wide && this.folded ? this.end + FEET : this.height - 30;
    /** From where to where attention is in a block. */
    this.gathers = this.folded ? (this.wide ? [0.05, 0.5] : [0.27, 0.58]) : [0.08, 0.45];
    /** px of a ring, and of so many blocks each one has its number. */
    this.ring = Math.min(4, room / 10);
    this.each = Math.ceil(24 / room);
    /** Where it is written into the stream. */
    this.middle = this.folded ? this.gathers[1] : 0.5;
  }

  /**
   * The lane of a token.
   * @param {number} t
   */
  lane(t) {
    return this.first ? Math.max(0, t - this.first + 1) : t;
  }

  /**
   * Pixels along the way.
   * @param {number} depth  0 to 1 is what comes before the blocks, then each block is 1 wide
   */
  along(depth) {
    const zone = Math.min(this.starts.length - 1, Math.max(0, Math.floor(depth)));
    const [from, to] = [this.starts[zone], this.ends[zone]];
    const worded = !this.wide && !this.folded && zone > 0 && zone <= this.nLayer;
    const part = worded ? warped(depth - zone) : depth - zone;
    return from + part * (to - from) + (this.wide ? 0 : this.top);
  }

  /**
   * Pixels across the way.
   * @param {number} lane
   */
  over(lane) {
    const half = this.across / 2;
    if (this.wide) return this.top + half + lane * this.across;
    return (this.width - this.lanes * this.across) / 2 + half + lane * this.across;
  }

  /**
   * @param {number} depth
   * @param {number} lane
   * @param {number} [shift]  px across
   * @returns {[number, number]}
   */
  point(depth, lane, shift = 0) {
    const [a, b] = [this.along(depth), this.over(lane) + shift];
    return this.wide ? [a, b] : [b, a];
  }

  /**
   * A part of a lane, or of several.
   * @param {number} from  depth
   * @param {number} to
   * @param {number} lane
   * @param {number} thick  px
   * @returns {Box}
   */
  bar(from, to, lane, thick) {
    const [a, b, c] = [this.along(from), this.along(to), this.over(lane) - thick / 2];
    if (this.wide) return { x: a, y: c, width: b - a, height: thick };
    return { x: c, y: a, width: thick, height: b - a };
  }

  /**
   * The front of an MLP.
   * @param {number} block
   * @param {number} lane
   * @param {number} thick  px of the lane
   */
  slab(block, lane, thick) {
    const [from, to] = (this.folded ? FOLDED : FIELD)[this.wide ? "wide" : "turned"];
    return this.bar(block + from, block + to, lane, thick);
  }

  /**
   * The room of a zone: 0 is what comes before the blocks.
   * @param {number} zone
   * @returns {Box}
   */
  zone(zone) {
    const [a, b] = [
      this.along(zone) + 3,
      this.along(zone) + this.ends[zone] - this.starts[zone] - 3 - (this.wide ? this.deep : 0),
    ];
    const low = zone <= this.nLayer ? this.foot : this.height - 30;
    if (this.wide) return { x: a, y: 32, width: b - a, height: low - 32 };
    return {
      x: 2,
      y: a + this.deep / 2,
      width: this.width - 5 - this.deep,
      height: b - a - this.deep / 2,
    };
  }

  /**
   * A way from one lane to another, leaving and arriving along the lanes.
   * @param {number} from  depth
   * @param {number} to
   * @param {number} lane
   * @param {number} other  lane
   * @param {[number, number]} shifts  px across, at both ends
   */
  curve(from, to, lane, other, [a, b]) {
    const [p0, p3] = [this.point(from, lane, a), this.point(to, other, b)];
    const middle = (from + to) / 2;
    const [p1, p2] = [this.point(middle, lane, a), this.point(middle, other, b)];
    return [p0, p1, p2, p3];
  }
}

/** @param {number} part  of the way through a block */
function warped(part) {
  let i = 2;
  while (i < WORDED.length - 2 && WORDED[i] < part) i += 2;
  const [a, x, b, y] = WORDED.slice(i - 2, i + 2);
  return x + ((part - a) / (b - a)) * (y - x);
}

/**
 * A point of a cubic curve.
 * @param {[number, number][]} points  four
 * @param {number} u  0 to 1
 * @returns {[number, number]}
 */
export function onCurve([p0, p1, p2, p3], u) {
  const [a, b, c, d] = [(1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u * u * (1 - u), u ** 3];
  const mix = (/** @type {0 | 1} */ i) => a * p0[i] + b * p1[i] + c * p2[i] + d * p3[i];
  return [mix(0), mix(1)];
}
