// Light that runs between the parts of a picture: lines and discs behind its table, whose cells hold the
// numbers. They follow the table wherever it is laid out anew.

import { draw } from "./dom.mjs";
import { WRITE, move } from "./motion.mjs";

/** @typedef {{x: number, y: number, left: number, right: number, top: number, bottom: number}} Place
 *   of an element, from the corner of the picture; x and y are its middle */
/** @typedef {(at: (element: Element) => Place) => SVGElement[]} Painter */

export class Rays {
  /**
   * @param {HTMLElement} host  what scrolls with them
   * @param {Element} table
   */
  constructor(host, table) {
    this.element = draw("svg", { class: "rays" });
    this.element.ariaHidden = "true";
    host.classList.add("has-rays");
    host.prepend(this.element);
    this.painter = /** @type {Painter} */ (() => []);
    const observer = new ResizeObserver(() => this.paint());
    for (const one of [host, table]) observer.observe(one);
  }

  /**
   * @param {Painter} painter
   * @param {boolean} runs  what is lit runs there; discs grow when it has come to them
   */
  set(painter, runs) {
    this.painter = painter;
    this.paint();
    if (!runs) return;
    for (const one of this.element.querySelectorAll(".lit")) {
      const delay = Number(/** @type {SVGElement} */ (one).dataset.delay ?? 0);
      if (one.matches("path")) move(one, LINE, { duration: WRITE, delay });
      else move(one, [{ scale: 0 }, { scale: 1 }], { delay: delay + WRITE * 0.7 });
    }
  }

  paint() {
    const { left, top } = this.element.getBoundingClientRect();
    const at = (/** @type {Element} */ element) => {
      const box = element.getBoundingClientRect();
      const sides = { left: box.left - left, right: box.right - left };
      const ends = { top: box.top - top, bottom: box.bottom - top };
      return {
        ...sides,
        ...ends,
        x: (sides.left + sides.right) / 2,
        y: (ends.top + ends.bottom) / 2,
      };
    };
    this.element.replaceChildren(...(this.element.isConnected ? this.painter(at) : []));
  }
}

const LINE = [{ strokeDasharray: "0 1" }, { strokeDasharray: "1 0" }];

/**
 * A line that leaves one place upright, and so arrives at another.
 * @param {number[]} from
 * @param {number[]} to
 * @param {number} width
 * @param {string} kind  classes; "lit" for what runs
 * @param {number} [delay]  ms after which it runs
 */
export function way([x0, y0], [x1, y1], width, kind, delay = 0) {
  const y = (y0 + y1) / 2;
  const d = `M${x0} ${y0}C${x0} ${y} ${x1} ${y} ${x1} ${y1}`;
  const more = { "stroke-width": width, pathLength: 1, "data-delay": delay };
  return draw("path", { d, class: kind, ...more });
}

/**
 * @param {number} cx
 * @param {number} cy
 * @param {number} r
 * @param {string} kind
 */
export function disc(cx, cy, r, kind) {
  return draw("circle", { cx, cy, r, class: kind });
}

/**
 * What belongs together, from one corner to the other.
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 * @param {number} right
 * @param {number} bottom
 */
export function band(kind, x, y, right, bottom) {
  const size = { width: right - x + 10, height: bottom - y + 10, rx: 7 };
  return draw("rect", { x: x - 5, y: y - 5, ...size, class: `band ${kind}` });
}
