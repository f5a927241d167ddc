// The stream of a model as a river: each writer flows in from below, as wide as the vector that it adds is
// long, and the stream behind it is as wide as the sum.

import { draw } from "./dom.mjs";
import { glide } from "./motion.mjs";
import { way } from "./rays.mjs";

/** @typedef {{name: string, long: number, sum: number, kind: string, off: boolean}} Writer  how long its
 *   vector is, and the sum with it; classes of its colour */

const [HIGH, MIDDLE, WIDEST, END] = [176, 52, 84, 112]; // px: of all, of the stream, of the longest, at its end
const [LOW, LEAST] = [HIGH - 44, 1.5]; // where the names begin; px of the thinnest

export class River {
  /** @param {(index: number) => void} onPick */
  constructor(onPick) {
    this.onPick = onPick;
    this.element = draw("svg", { class: "river", height: HIGH, role: "img" });
    this.widths = /** @type {number[]} */ ([]);
    this.stop = () => {};
    this.paint = () => {};
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  /**
   * @param {Writer[]} writers
   * @param {number} full  the longest there is
   * @param {string} says  what the sum predicts
   */
  set(writers, full, says) {
    const to = writers.flatMap(({ long, sum }) => [long / full, sum / full]);
    this.element.setAttribute(
      "aria-label",
      `${writers.length} writers flow into one stream: ${says}`,
    );
    this.stop();
    this.stop = glide(this.widths, to, (now) => {
      this.widths = now;
      this.paint = () => this.draw(writers, says);
      this.paint();
    });
  }

  /**
   * @param {Writer[]} writers
   * @param {string} says
   */
  draw(writers, says) {
    const column = (this.element.clientWidth - END) / writers.length;
    if (column <= 0) return;
    const scale = Math.min(WIDEST, 2.2 * column);
    const wide = (/** @type {number} */ i) => Math.max(LEAST, scale * this.widths[i]);
    const x = (/** @type {number} */ n) => (n + 0.5) * column;
    let [top, bottom] = ["", ""];
    writers.forEach((_, n) => {
      const [half, before] = [wide(2 * n + 1) / 2, n ? wide(2 * n - 1) / 2 : 0];
      const [from, middle, to] = [x(n) - column / 2, x(n), x(n) + column / 2];
      top += `${n ? "" : `M${middle} ${MIDDLE}`}C${middle} ${MIDDLE - before} ${middle} ${MIDDLE - half} ${to} ${MIDDLE - half}`;
      bottom = `C${middle} ${MIDDLE + half} ${middle} ${MIDDLE + before} ${n ? from : middle} ${MIDDLE + before}${bottom}`;
    });
    const end = wide(2 * writers.length - 1) / 2;
    const right = writers.length * column;
    const tip = `L${right + end * 0.6 + 8} ${MIDDLE}L${right} ${MIDDLE + end}`;
    const branches = writers.map(({ name, kind, off }, n) => {
      const group = draw("g", { class: `branch ${kind} ${off ? "off" : ""}` });
      const [part, block] = name.replace(/^h\.(\d+)\.(\w+).*/, "$2 h.$1").split(" ");
      const label = { x: x(n), y: LOW + 16 };
      group.append(
        way([x(n), LOW], [x(n) + column / 4, MIDDLE], off ? LEAST : wide(2 * n), "flow"),
        draw("text", label, part),
        draw("text", { ...label, y: LOW + 33 }, block ?? ""),
      );
      group.addEventListener("click", () => this.onPick(n));
      return group;
    });
    const [word, p] = says.split(" ");
    const told = { x: right + end * 0.6 + 14, class: "says" };
    this.element.replaceChildren(
      ...branches,
      draw("path", { class: "stream", d: `${top}${tip}${bottom}Z` }),
      draw("text", { ...told, y: MIDDLE - 2 }, word),
      draw("text", { ...told, y: MIDDLE + 16, class: "" }, p),
    );
  }
}
