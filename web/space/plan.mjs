// Where everything stands in space. The pass runs along x, tokens lie below each other along y, and the
// numbers of a vector lie side by side along z: from the front it is the flat picture, and from the side
// each lane shows its numbers.

/** @import { Pass } from "../flow/pass.mjs" */
/** Around something: corners. @typedef {{low: number[], high: number[]}} Room */
/** @typedef {{nEmbd: number, vocabSize: number, nInner?: number, llama?: unknown}} Widths */

export const DEEP = 128; // of a vector, along z, however many numbers it has
const HIGH = 420; // of all lanes, at most
const APART = 62; // of two lanes, at most
const BEGIN = 250; // along x: what stands before the blocks
const BLOCK = 640;
const ALL = 3000; // of all blocks, at most, but for
const LEAST = 190; // each
const END = 520;
const USUAL = 1920; // of three blocks, along x
const BARS = 52; // from one bar to the next
export const BAR = 300; // of a word that is certain

/** Parts of a block along its way. */
export const GATHER = [0.1, 0.45];
const WRITTEN = [0.5, 0.97]; // where attention and the MLP are added
export const WING = [0.66, 0.86]; // where an MLP has its units
export const PANES = {
  attn: 0.05,
  attnBack: 0.49,
  mlp: 0.6,
  mlpBack: 0.92,
  first: 0.62,
  last: 0.2,
};
const LANES = [0.8, 1.02]; // where they begin before the blocks, and end behind them
const ANSWER = 1.5;

export class Plan {
  /**
   * @param {Pass} pass
   * @param {Widths} widths
   */
  constructor({ tokens, nLayer, nHead }, { nEmbd: C, vocabSize: V, nInner: F = 4 * C, llama }) {
    this.C = C;
    this.V = V;
    this.F = F;
    this.llama = Boolean(llama);
    this.T = tokens.length;
    this.nLayer = nLayer;
    this.nHead = nHead;
    this.apart = Math.min(APART, HIGH / Math.max(1, this.T - 1));
    this.block = Math.max(LEAST, Math.min(BLOCK, ALL / nLayer));
    /** Of a number of a vector, along z. */
    this.cell = DEEP / C;
    const inner = nLayer * this.block;
    /** How much larger is what is written of a longer model, which is seen from further away. */
    this.grown = Math.max(1, inner / USUAL);
    this.begin = BEGIN * this.grown;
    this.length = this.begin + inner + END * this.grown;
    /** Of the tallest matrix, or of all lanes. */
    this.high = Math.max(this.T * this.apart, F * this.cell);
    /** What the blocks stand on, along y. */
    this.floor = -this.high / 2 - 16;
    /** How deep an MLP is, along z. */
    this.wide = F * this.cell;
  }

  /** Along x. @param {number} depth  as in the flat picture: blocks are 1 wide, what is before them, too */
  x(depth) {
    const { nLayer, block, length, begin, grown } = this;
    const at = Math.max(0, Math.min(nLayer + 2, depth));
    const inner = Math.max(0, Math.min(nLayer, at - 1));
    const [before, after] = [Math.min(1, at), Math.max(0, at - nLayer - 1)];
    return begin * before + block * inner + END * grown * after - length / 2;
  }

  /** A token's lane along y: the first above. @param {number} t */
  y(t) {
    return ((this.T - 1) / 2 - t) * this.apart;
  }

  /** The middle of a head's numbers along z: the first in front. @param {number} head */
  z(head) {
    return DEEP / 2 - ((head + 0.5) * DEEP) / this.nHead;
  }

  /** Which number of a vector is at a place along z. @param {number} z @param {number} [many] */
  number(z, many = this.C) {
    const i = Math.floor(many / 2 - z / this.cell);
    return Math.max(0, Math.min(many - 1, i));
  }

  /** The middle of a bar along y. @param {number} i @param {number} many */
  bar(i, many) {
    const each = BARS * this.grown;
    return Math.min(this.y(this.T - 1), this.high / 2 - many * each) + each * (many - 1 - i);
  }

  /** Where bars begin, along x. */
  get answer() {
    return this.x(this.nLayer + ANSWER);
  }

  /** From where to where lanes go, along x. */
  get lanes() {
    return [this.x(LANES[0]), this.x(this.nLayer + LANES[1])];
  }

  /** Depths at which the stream changes: where lanes begin, and where a part has been added. */
  get stops() {
    const blocks = Array.from({ length: this.nLayer }, (_, n) => n + 1);
    return [LANES[0], ...blocks.flatMap((n) => WRITTEN.map((part) => n + part))];
  }

  /** The stage at a place along x. @param {number} x */
  stage(x) {
    return Math.max(0, this.stops.filter((depth) => this.x(depth) <= x).length - 1);
  }

  /** All of it. @returns {Room} */
  get all() {
    const [x, y] = [this.length / 2, this.high / 2];
    return { low: [-x, -y, -DEEP / 2], high: [x, y, DEEP / 2] };
  }

  /** @param {number} block @returns {Room} */
  around(block) {
    const y = Math.max(this.T * this.apart, 2 * DEEP) / 2;
    return { low: [this.x(block + 1), -y, -DEEP / 2], high: [this.x(block + 2), y, DEEP / 2] };
  }
}
