// Small parts that several levels draw: fields of numbers as colours, strips, dials, steps.

import { nothing, svg } from "lit/html.js";
import { fixed } from "../exhibits/dom.mjs";
import { press } from "./press.mjs";

export { press };

const STEPS = 8; // shades of a colour
const MOST_DECIMALS = 8; // one sum in four needs another: none needs so many

/**
 * Numbers as colours: one path for each shade, however many numbers.
 * @param {ArrayLike<number>} values  row by row
 * @param {{x: number, y: number, columns: number, cell: number, high?: number, scale?: number,
 *   gap?: number, role?: string}} how  `high`: of a cell, if it is no square; `scale`: the value of
 *   the full colour; `role` is the colour: q, k, v, weights, plain
 */
export function heat(values, how) {
  const { x, y, columns, cell, high = cell, gap = 0, role = "plain" } = how;
  const sizes = () => Array.from(values).filter(Number.isFinite).map(Math.abs);
  const scale = how.scale ?? Math.max(1e-9, ...sizes());
  /** @type {string[]} */
  const plus = Array(STEPS + 1).fill("");
  const minus = [...plus];
  const shadeOf = (/** @type {number} */ value) =>
    Math.sign(value) * Math.min(STEPS, Math.round((Math.abs(value) / scale) * STEPS));
  for (let i = 0, run = 1; i < values.length; i += run, run = 1) {
    if (!Number.isFinite(values[i])) continue;
    const shade = shadeOf(values[i]);
    // Without gaps, neighbours of one colour are one box.
    while (!gap && (i + run) % columns && shadeOf(values[i + run]) === shade) run++;
    const [px, py] = [x + (i % columns) * cell, y + Math.floor(i / columns) * high];
    const [w, h] = [run * cell - gap, high - gap];
    const side = shade < 0 ? minus : plus;
    side[Math.abs(shade)] += `M${px.toFixed(1)} ${py.toFixed(1)}h${w}v${h}h${-w}z`;
  }
  const draw = (
    /** @type {string} */ d,
    /** @type {number} */ shade,
    /** @type {string} */ sign,
  ) =>
    d && shade
      ? svg`<path class=${`heat ${role} ${sign}`} style="fill-opacity:${(shade / STEPS).toFixed(3)}" d=${d}></path>`
      : nothing;
  return [
    svg`<path class="heat none" d=${plus[0] + minus[0]}></path>`,
    ...plus.map((d, shade) => draw(d, shade, "plus")),
    ...minus.map((d, shade) => draw(d, shade, "minus")),
  ];
}

/**
 * Steps of which one is chosen, as buttons in the picture: one stop for Tab.
 * @param {string[]} names
 * @param {number} chosen
 * @param {{x: number, y: number, width: number, onPick: (step: number) => void, only?: string}} how
 *   `only`: why no other can be chosen
 */
export function steps(names, chosen, { x, y, width, onPick, only }) {
  const each = width / names.length;
  return names.map((name, i) => {
    const box = {
      x: x + i * each,
      y,
      width: each,
      chosen: i === chosen,
      first: i === chosen,
      only,
    };
    return step(name, box, () => only || onPick(i));
  });
}

/**
 * One of them.
 * @param {string} name
 * @param {{x: number, y: number, width: number, chosen?: boolean, first: boolean, only?: string}} box
 *   `first`: Tab stops there
 * @param {() => void} pick
 */
export function step(name, { x, y, width, chosen = false, first, only }, pick) {
  return svg`<g class=${chosen ? "step chosen" : "step"} role="button" data-rove="steps"
      aria-pressed=${String(chosen)} tabindex=${first ? 0 : -1} aria-label=${name}
      aria-disabled=${String(Boolean(only) && !chosen)}
      @click=${pick} @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, pick)}>
      <title>${only}</title>
      <rect x=${x} y=${y} width=${width - 4} height="28" rx="5"></rect>
      <text x=${x + width / 2 - 2} y=${y + 19} text-anchor="middle">${name}</text></g>`;
}

/**
 * Columns of which one is chosen, by a click or the arrow keys: one slider over all of them.
 * @param {string} name
 * @param {{x: number, y: number, width: number, height: number}} box
 * @param {{count: number, chosen: number, told: string, choose: (nth: number) => void}} how
 *   `told`: the chosen one, in words
 */
export function columns(name, { x, y, width, height }, { count, chosen, told, choose }) {
  const click = (/** @type {MouseEvent} */ { clientX, currentTarget }) => {
    const box = /** @type {SVGElement} */ (currentTarget).getBoundingClientRect();
    const nth = Math.floor(((clientX - box.left) / box.width) * count);
    choose(Math.min(count - 1, Math.max(0, nth)));
  };
  const step = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    choose((chosen + by + count) % count);
  };
  return svg`<g class="field" role="slider" tabindex="0" aria-label=${name} aria-valuemin="0" aria-valuemax=${count - 1}
    aria-valuenow=${chosen} aria-valuetext=${told} @click=${click} @keydown=${step}>
    <rect class="touch" x=${x} y=${y} width=${width} height=${height}></rect>
    <title>click to choose a ${name}</title></g>`;
}

/**
 * A button in the picture.
 * @param {string} name
 * @param {{x: number, y: number, width: number, act: () => void, label?: string}} how
 */
export function button(name, { x, y, width, act, label = name }) {
  return svg`<g class="step" role="button" tabindex="0" aria-label=${label} @click=${act}
    @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, act)}>
    <rect x=${x} y=${y} width=${width} height="28" rx="5"></rect>
    <text x=${x + width / 2} y=${y + 19} text-anchor="middle">${name}</text></g>`;
}

const HILL = { high: 20, bars: 13 }; // px, and how finely numbers are counted

const FIGURE = { high: 70, width: 240 }; // px of a value with its name and its code

/**
 * What becomes of a number, step by step: the name, the value and the code of each.
 * @param {[string, string, string][]} steps
 * @param {{y: number, width: number, columns?: number}} how
 */
export function chain(steps, { y, width, columns = width < 4 * FIGURE.width ? 2 : 4 }) {
  const body = steps.map(([name, value, code], i) => {
    const x = 16 + ((i % columns) * (width - 32)) / columns;
    const top = y + Math.floor(i / columns) * FIGURE.high;
    return svg`<text class="axis" x=${x} y=${top}>${name}</text><text class="figure" x=${x} y=${top + 28}>${value}</text>
      <text class="code" x=${x} y=${top + 46}>${code}</text>`;
  });
  return { body, height: FIGURE.high * Math.ceil(steps.length / columns) };
}

/**
 * What LayerNorm does: how the numbers lie before, and below it, on the same axis, after. RMSNorm leaves
 * their mean where it is, in proportion.
 * @param {ArrayLike<number>} values
 * @param {{x: number, y: number, width: number, name: string, rms?: boolean, open: () => void}} how
 *   x: of their middle
 */
export function normed(values, { x, y, width, name, rms = false, open }) {
  const { high, bars } = HILL;
  const all = Array.from(values);
  const [mean, spread] = [all.reduce((sum, v) => sum + v, 0) / all.length, spreadOf(values)];
  const counts = Array(bars).fill(0); // from −3 to 3 standard deviations
  for (const v of all) {
    const bar = Math.floor(((v - mean) / spread / 6 + 0.5) * bars);
    counts[Math.max(0, Math.min(bars - 1, bar))]++;
  }
  const most = Math.max(...counts);
  const half = Math.max(3, 3 * spread + Math.abs(mean)); // of the axis
  const hill = (
    /** @type {number} */ middle,
    /** @type {number} */ sigma,
    /** @type {number} */ foot,
  ) => {
    const px = (/** @type {number} */ v) => (x + (v / half) * (width / 2)).toFixed(1);
    const at = (/** @type {number} */ i) => px(middle + (i / bars - 0.5) * 6 * sigma);
    const tops = counts.map(
      (n, i) => `H${at(i)}V${(foot - (high * n) / most).toFixed(1)}H${at(i + 1)}`,
    );
    return svg`<path class="base" d="M${x - width / 2} ${foot}h${width}"></path>
      <path class="hill" d="M${at(0)} ${foot}${tops.join("")}V${foot}z"></path>`;
  };
  const root = Math.sqrt(spread ** 2 + mean ** 2);
  const kind = rms ? "RMSNorm" : "LayerNorm";
  const told = rms ? `rms ${fixed(root, 2)}` : `σ ${fixed(spread, 2)}`;
  const split = [kind.slice(0, -4), "Norm ▸"];
  const number = rms ? fixed(root, 2) : told;
  const lines = width < 62 ? [...split, number, "→ 1"] : [`${kind} ▸`, `${told} → 1`];
  const after = rms ? hill(mean / root, spread / root, y + high + 10) : hill(0, 1, y + high + 10);
  const was = rms ? "the root of the numbers' mean square" : "the numbers' standard deviation";
  const before = rms
    ? `${fixed(root)}, and is 1 before the gain`
    : `${fixed(spread)}, and is 1 before gain and bias`;
  const opens = (/** @type {KeyboardEvent} */ event) => press(event, open);
  return svg`<g class="dial" role="button" tabindex="0" aria-label="${kind} ${name}: open it" @click=${open} @keydown=${opens}>
    <rect class="touch" x=${x - width / 2 - 3} y=${y - high} width=${width + 6} height=${2 * high + 36 + 14 * lines.length}></rect>${hill(mean, spread, y)}${after}
    ${lines.map((line, i) => svg`<text x=${x} y=${y + high + 27 + 14 * i} text-anchor="middle">${line}</text>`)}
    <title>${kind}: ${was} was ${before}</title></g>`;
}

/**
 * The standard deviation of a vector.
 * @param {ArrayLike<number>} x
 */
export function spreadOf(x) {
  const all = Array.from(x);
  const mean = all.reduce((sum, v) => sum + v, 0) / all.length;
  return Math.sqrt(all.reduce((sum, v) => sum + (v - mean) ** 2, 0) / all.length);
}

/** @param {ArrayLike<number>} x */
export function lengthOf(x) {
  return Math.sqrt(Array.from(x).reduce((sum, v) => sum + v * v, 0));
}

/**
 * A token's numbers in a tensor (1, T, n).
 * @param {{values: Float32Array}} noted
 * @param {number} t
 * @param {number} n
 */
export function rowOf({ values }, t, n) {
  return values.subarray(t * n, (t + 1) * n);
}

/**
 * A head's part of a tensor (1, H, T, n). Where heads share keys and values, these have fewer.
 * @param {{values: Float32Array, shape: number[]}} noted
 * @param {number} head
 * @param {number} [many]  heads
 */
export function headOf({ values, shape }, head, many) {
  const size = shape.slice(-2).reduce((a, b) => a * b);
  const own = many ? sharedBy(head, many, shape[1]) : head;
  return values.subarray(own * size, (own + 1) * size);
}

/**
 * The head of keys and values that a head reads: of so many, neighbours share one.
 * @param {number} head
 * @param {number} many  heads
 * @param {number} shared  heads of keys and values
 */
export function sharedBy(head, many, shared) {
  return Math.floor((head * shared) / many);
}

/**
 * Where a sum stands after each of its terms.
 * @param {number[]} terms
 */
export function sumsOf(terms) {
  let sum = 0;
  return [0, ...terms.map((term) => (sum += term))];
}

/**
 * A scene of which nothing is known but why.
 * @param {string} says
 * @returns {import("./scenes.mjs").Scene}
 */
export function unknown(says) {
  const body = svg`<text class="axis" x="12" y="40">${says}</text>`;
  return { height: 400, body, boxes: () => null, says };
}

/**
 * How many decimals terms need, so that their sum holds as it is printed: two, or more. Of a product
 * only the factors get more than two.
 * @param {number[]} terms
 * @param {number} result
 * @param {"sum" | "product"} [kind]
 */
export function decimals(terms, result, kind = "sum") {
  return digits((round) => {
    const printed = terms.map(round);
    if (kind === "sum") return round(printed.reduce((a, b) => a + b)) === round(result);
    return cents(printed.reduce((a, b) => a * b)) === cents(result);
  });
}

/** @param {number} x */
export const cents = (x) => Number(x.toFixed(2));

/**
 * The fewest decimals with which something holds of numbers as they are printed.
 * @param {(round: (x: number) => number) => boolean} holds
 */
export function digits(holds) {
  let n = 2;
  while (n < MOST_DECIMALS && !holds((x) => Number(x.toFixed(n)))) n++;
  return n;
}

/**
 * "1.86 × 2.68 = 4.98", part by part.
 * @param {number} a
 * @param {number} b
 */
export function asProduct(a, b) {
  const n = decimals([a, b], a * b, "product");
  return [fixed(a, n), fixed(b, n), fixed(a * b, 2)];
}
