// Products as areas: each of two numbers is a side of a rectangle, and their sum is as large as all of
// them together.

import { draw, fixed } from "./dom.mjs";
import { dot } from "./vectors.mjs";

const [UNIT, APART, TOP, SIDE] = [104, 36, 24, 5]; // units of the drawing: the number 1, between two areas, above them, of a side
const BASE = TOP + UNIT;

export class Areas {
  /**
   * @param {string[]} names  of the numbers
   * @param {string} sum  its name
   */
  constructor(names, sum) {
    const titles = [...names, sum];
    const places = titles.map((_, i) => SIDE + i * (UNIT + APART));
    this.end = places[names.length];
    const told = (/** @type {number} */ x) => draw("text", { x, y: BASE + 28 });
    this.terms = names.map((_, i) => {
      const [area, below, beside, part] = ["", "q", "k", "part"].map((kind) =>
        draw("rect", { class: kind }),
      );
      return { x: places[i], area, below, beside, part, told: told(places[i]) };
    });
    this.score = told(this.end);
    const frame = { y: TOP, width: UNIT, height: UNIT, class: "whole" };
    const sign = (/** @type {number} */ x, /** @type {number} */ i) =>
      draw(
        "text",
        { x: x - APART / 2, y: TOP + UNIT / 2, class: "sign" },
        places[i + 2] ? "+" : "=",
      );
    this.element = draw("svg", {
      class: "areas",
      viewBox: `0 0 ${this.end + UNIT + 2} ${BASE + 34}`,
      role: "img",
      "aria-label": "each product as an area",
    });
    this.element.append(
      ...places.map((x) => draw("rect", { x, ...frame })),
      ...titles.map((name, i) => draw("text", { x: places[i], y: 14 }, name)),
      ...places.slice(1).map(sign),
      ...this.terms.flatMap(({ area, below, beside, part, told }) => [
        area,
        below,
        beside,
        part,
        told,
      ]),
      this.score,
    );
  }

  /**
   * @param {number[]} q
   * @param {number[]} k
   */
  set(q, k) {
    let top = BASE;
    this.terms.forEach(({ x, area, below, beside, part, told }, c) => {
      const [width, height] = [q[c], k[c]].map((value) => UNIT * Math.abs(value));
      size(area, x, BASE - height, width, height);
      size(below, x - SIDE, BASE, width + SIDE, SIDE);
      size(beside, x - SIDE, BASE - height, SIDE, height);
      const high = (width * height) / UNIT; // as large, on a side of 1
      size(part, this.end, (top -= high), UNIT, high);
      const numbers = ["q", "k"].map((kind, i) =>
        draw("tspan", { class: kind }, fixed((i ? k : q)[c], 2)),
      );
      told.replaceChildren(numbers[0], " · ", numbers[1]);
    });
    this.score.textContent = fixed(dot(q, k), 2);
  }
}

/**
 * @param {SVGElement} rect
 * @param {...number} sizes  x, y, width, height
 */
function size(rect, ...sizes) {
  ["x", "y", "width", "height"].forEach((name, i) => rect.setAttribute(name, String(sizes[i])));
}
