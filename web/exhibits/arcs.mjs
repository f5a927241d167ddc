// Arcs over a sentence: where its tokens are looked at from one of them, the wider the more. Where the
// sentence is broken, lines go to an earlier row: they end below their token and cross no other.

import { draw } from "./dom.mjs";

/** @import { Strip } from "./strip.mjs" */

const [WIDEST, LEAST, HIGHEST] = [9, 0.02, 38]; // px; weight; px

export class Arcs {
  /** @param {Strip} strip */
  constructor(strip) {
    this.strip = strip;
    this.element = draw("svg", { class: "arcs" });
    this.element.ariaHidden = "true";
    strip.list.before(this.element);
    this.at = 0;
    /** @type {ArrayLike<number>} */
    this.weights = [];
    // It follows its list: another size, or another place, as where a line above it grows.
    const observer = new ResizeObserver(() => this.draw());
    for (const one of [strip.list, strip.element]) observer.observe(one);
  }

  /**
   * @param {number} at  the token that looks
   * @param {ArrayLike<number>} weights  what it gives to each
   */
  set(at, weights) {
    Object.assign(this, { at, weights });
    this.draw();
  }

  draw() {
    const { element, at, weights } = this;
    const { list, buttons } = this.strip;
    if (!buttons[at]) return;
    while (element.children.length > weights.length) element.lastElementChild?.remove();
    while (element.children.length < weights.length) {
      element.append(draw("path"));
    }
    const edges = (/** @type {number} */ i) => {
      const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = /** @type {HTMLElement} */ (
        buttons[i].parentElement
      );
      const y = list.offsetTop + offsetTop;
      return [list.offsetLeft + offsetLeft + offsetWidth / 2, y - 2, y + offsetHeight + 2];
    };
    [...element.children].forEach((path, key) => {
      const [[x0, y0], [x1, top, bottom]] = [edges(at), edges(key)];
      const above = bottom < y0; // in an earlier row
      const y1 = above ? bottom : top;
      const high = y0 - Math.min(HIGHEST, 14 + Math.abs(x0 - x1) / 5) * 1.33;
      const [from, to] = key === at ? [x0 - 9, x0 + 9] : [x0, x1];
      const way = above ? `L${to} ${y1}` : `C${from} ${high} ${to} ${high} ${to} ${y1}`;
      path.setAttribute("d", `M${from} ${y0}${way}`);
      const seen = weights[key] >= LEAST;
      /** @type {SVGElement} */ (path).style.strokeWidth = `${seen ? WIDEST * weights[key] : 0}px`;
    });
  }
}
