// Parameters, tokens and loss, each by its logarithm, as a box that can be turned: where a point of it
// lies in the picture. From the front one sees loss against tokens, from the right against parameters,
// from above a map of both.

/** @typedef {[number, number]} Pair */
/** @typedef {{n: Pair, d: Pair, loss: Pair}} Limits */
/** @typedef {{turn: number, tilt: number}} View  degrees */

const HIGH = 1.3; // of the box; it is 2 wide and 2 deep
const MARGIN = 0.06; // of a side, beyond the runs
const LEAST = 0.2; // of an axis that is seen: below it its labels would lie on each other

/** Above the runs and below them by the same factor. @param {number[]} values @returns {Pair} */
export function span(values, margin = MARGIN) {
  const logs = values.map(Math.log);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  const more = margin * (high - low);
  return [Math.exp(low - more), Math.exp(high + more)];
}

export class Scene {
  /**
   * @param {Limits} limits
   * @param {View} view
   * @param {{left: number, right: number, top: number, bottom: number}} frame  px
   */
  constructor(limits, { turn, tilt }, frame) {
    this.limits = limits;
    this.frame = frame;
    const [a, b] = [turn, tilt].map((degrees) => (degrees * Math.PI) / 180);
    this.cos = Math.cos(a);
    this.sin = Math.sin(a);
    this.up = Math.cos(b);
    this.above = Math.sin(b);
    const corners = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => [0, 1].map((z) => [x, y, z])));
    const seen = corners.map(([x, y, z]) => this.project(x, y, z));
    const [across, along] = [0, 1].map((i) => seen.map((pair) => pair[i]));
    this.across = [Math.min(...across), Math.max(...across)];
    this.along = [Math.min(...along), Math.max(...along)];
  }

  /** @param {number} x @param {number} y @param {number} z @returns {Pair} */
  project(x, y, z) {
    const deep = y * this.cos - x * this.sin;
    return [x * this.cos + y * this.sin, HIGH * z * this.up + deep * this.above];
  }

  /** How far along a side. @param {"n" | "d" | "loss"} side @param {number} value */
  share(side, value) {
    const [low, high] = this.limits[side];
    return Math.log(value / low) / Math.log(high / low);
  }

  /** Away from who looks. @param {number} n @param {number} d */
  depth(n, d) {
    return (2 * this.share("n", n) - 1) * this.cos - (2 * this.share("d", d) - 1) * this.sin;
  }

  /**
   * Where it lies in the picture; what is below the box lies on its ground.
   * @param {number} n
   * @param {number} d
   * @param {number} loss
   * @returns {Pair}
   */
  place(n, d, loss) {
    const [x, y] = [this.share("d", d), this.share("n", n)];
    const z = Math.min(1, Math.max(0, this.share("loss", loss)));
    const [right, up] = this.project(2 * x - 1, 2 * y - 1, z);
    const { left, top, bottom } = this.frame;
    const at = (right - this.across[0]) / (this.across[1] - this.across[0]);
    const high = (up - this.along[0]) / (this.along[1] - this.along[0]);
    return [left + at * (this.frame.right - left), bottom - high * (bottom - top)];
  }

  /** How well each axis is seen, from 0 to 1. */
  get seen() {
    const clear = (/** @type {number} */ share) => Math.min(1, Math.max(0, 4 * (share - LEAST)));
    return {
      d: clear(Math.hypot(this.cos, this.sin * this.above)),
      n: clear(Math.hypot(this.sin, this.cos * this.above)),
      loss: clear(this.up),
      above: this.above,
    };
  }
}

/** @param {Pair[]} places */
export function path(places, closed = false) {
  return `M${places.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}${closed ? "Z" : ""}`;
}

/** So many values from one to the other, by equal factors. @param {Pair} ends @param {number} n */
export function steps([low, high], n) {
  return Array.from({ length: n + 1 }, (_, i) => low * (high / low) ** (i / n));
}

/** Numbers for an axis of logarithms: 1, 2, 5, 10, 20 … @param {Pair} ends */
export function ticks([low, high]) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const digit of [1, 2, 5]) {
      const value = Number(`${digit}e${power}`);
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/**
 * Heights of labels, moved down where they would lie on each other.
 * @param {number[]} heights  px
 * @param {number} least  between two
 */
export function apart(heights, least) {
  const order = heights.map((_, i) => i).sort((i, j) => heights[i] - heights[j]);
  const found = [...heights];
  order.forEach((i, nth) => {
    if (nth) found[i] = Math.max(found[i], found[order[nth - 1]] + least);
  });
  const over = found[order[order.length - 1]] - heights[order[order.length - 1]];
  return found.map((y) => y - over / 2); // half of it upwards
}

/**
 * Which labels of an axis there is room for: the first, the last, and those that lie on none of these.
 * @param {Pair[]} places  px
 * @param {number} wide  px of a label
 * @param {number} high
 * @returns {boolean[]}
 */
export function clear(places, wide, high) {
  const last = places.length - 1;
  /** @type {number[]} */
  const kept = [];
  for (const i of [...new Set([0, last, ...places.keys()])]) {
    const [x, y] = places[i];
    const over = kept.some((j) => {
      return Math.abs(places[j][0] - x) < wide && Math.abs(places[j][1] - y) < high;
    });
    if (!over) kept.push(i);
  }
  return places.map((_, i) => kept.includes(i));
}
