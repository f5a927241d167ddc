// Number line: the numbers of a vector as dots, row below row. Those beyond its ends are counted.

import { draw, fixed } from "./dom.mjs";

/** @typedef {{title: string, values: ArrayLike<number>, role?: string, tensor?: string}} Row  `role` is
 *   its colour, `tensor` the name that lights up with it */

const [WIDE, HIGH, MARGIN] = [360, 76, 30]; // units; of the line with its margins, and of a row
export const REACH = 4; // the line goes from −REACH to REACH
const GOLDEN = 0.618; // spreads the dots of a row, so that many can be told apart

export class Dots {
  /** @param {number} rows */
  constructor(rows) {
    const high = rows * HIGH + 18;
    this.element = draw("svg", { class: "dots", viewBox: `0 0 ${WIDE} ${high}`, role: "img" });
    for (let i = -REACH; i <= REACH; i++) {
      const x = this.place(i);
      this.element.append(
        draw("path", { class: i ? "axes" : "axes zero", d: `M${x} 0V${high - 16}` }),
        draw("text", { x, y: high - 3, "text-anchor": "middle" }, fixed(i, 0)),
      );
    }
    this.rows = Array.from({ length: rows }, (_, n) => {
      const [y, group] = [n * HIGH + 48, draw("g", {})];
      const title = draw("text", { class: "title", x: 0, y: n * HIGH + 13 });
      const less = draw("text", { x: 0, y: y + 4 });
      const more = draw("text", { x: WIDE, y: y + 4, "text-anchor": "end" });
      this.element.append(group, title, less, more);
      return { y, group, title, less, more };
    });
  }

  /** @param {number} value */
  place(value) {
    return WIDE / 2 + (value / REACH) * (WIDE / 2 - MARGIN);
  }

  /**
   * How many numbers lie beyond an end of the line.
   * @param {ArrayLike<number>} values
   * @param {number} side  −1 or 1
   */
  beyond(values, side) {
    return Array.from(values).filter((value) => side * value > REACH).length;
  }

  /** @param {Row[]} rows */
  set(rows) {
    rows.forEach(({ title, values, role = "plain", tensor = "" }, n) => {
      const row = this.rows[n];
      while (row.group.children.length > values.length) row.group.lastElementChild?.remove();
      while (row.group.children.length < values.length) {
        const up = ((row.group.children.length * GOLDEN) % 1) - 0.5;
        row.group.append(draw("circle", { r: 2.6, cy: row.y + 34 * up }));
      }
      row.group.setAttribute("class", role);
      row.group.dataset.name = tensor;
      row.title.textContent = title;
      for (let i = 0; i < values.length; i++) {
        const dot = /** @type {SVGElement} */ (row.group.children[i]);
        const edge = 1.2 * REACH; // those beyond an end fly there, and are gone
        const seen = Math.min(edge, Math.max(-edge, values[i] || 0));
        dot.style.opacity = Math.abs(values[i]) <= REACH ? "" : "0";
        dot.style.translate = `${this.place(seen).toFixed(1)}px`;
      }
      const [less, more] = [this.beyond(values, -1), this.beyond(values, 1)];
      row.less.textContent = less ? `◂ ${less}` : "";
      row.more.textContent = more ? `${more} ▸` : "";
    });
    const said = rows.map(({ title, values }) => {
      const out = this.beyond(values, -1) + this.beyond(values, 1);
      return `${title}: ${values.length - out} of ${values.length} within ±${REACH}`;
    });
    this.element.setAttribute("aria-label", said.join("; "));
  }
}
