// A plot: curves over two axes, with their names beside them.

/**
 * @typedef {{from: number, to: number, name?: string, ticks?: [number, string][],
 *   warp?: (value: number) => number}} Axis  `warp` bends it, such as Math.log10
 * @typedef {{points: [number, number][], kind?: string, name?: string, at?: number,
 *   dots?: boolean}} Curve  `kind` is a class for its look; its name stands at point `at`
 */

const SVG = "http://www.w3.org/2000/svg";
const ROOM = { left: 44, right: 10, top: 18, bottom: 30 };
const FAR = 1e4; // units of the drawing, beyond any edge

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {string} [words]
 */
function draw(tag, attributes, words = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.textContent = words;
  return element;
}

/**
 * How far along its axis a value lies.
 * @param {Axis} axis
 * @param {number} value
 */
function share({ from, to, warp = (one) => one }, value) {
  return (warp(value) - warp(from)) / (warp(to) - warp(from));
}

export class Plot {
  /**
   * @param {{label: string, x: Axis, y: Axis, width?: number, height?: number}} options
   */
  constructor({ label, x, y, width = 340, height = 200 }) {
    this.x = x;
    this.y = y;
    this.width = width - ROOM.left - ROOM.right;
    this.height = height - ROOM.top - ROOM.bottom;
    const { left, top } = ROOM;
    const [right, low] = [left + this.width, top + this.height];
    this.element = draw("svg", {
      class: "plot",
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": label,
    });
    this.inside = draw("svg", { x: left, y: top, width: this.width, height: this.height });
    this.names = draw("g", {});
    this.element.append(
      draw("path", { class: "axes", d: `M${left} ${top}V${low}H${right}` }),
      ...(x.ticks ?? []).map(([value, words]) =>
        draw(
          "text",
          {
            x: left + this.place([value, 0])[0],
            y: low + 13,
            "text-anchor": value === x.to ? "end" : "middle",
          },
          words,
        ),
      ),
      ...(y.ticks ?? []).map(([value, words]) =>
        draw(
          "text",
          { x: left - 5, y: top + this.place([0, value])[1] + 4, "text-anchor": "end" },
          words,
        ),
      ),
      draw("text", { x: right, y: low + 26, "text-anchor": "end" }, x.name),
      draw("text", { x: 0, y: 11 }, y.name),
      this.inside,
      this.names,
    );
  }

  /**
   * Numbers → units of the drawing, from its inner corner.
   * @param {[number, number]} point
   */
  place([a, b]) {
    const inSight = (/** @type {number} */ value) => Math.min(FAR, Math.max(-FAR, value));
    return [
      inSight(this.width * share(this.x, a)),
      inSight(this.height * (1 - share(this.y, b))),
    ].map((value) => Math.round(value * 10) / 10);
  }

  /** @param {Curve[]} curves  the last on top */
  set(curves) {
    this.inside.replaceChildren();
    this.names.replaceChildren();
    for (const { points, kind = "", name = "", at = points.length - 1, dots = false } of curves) {
      const places = points.map((point) => this.place(point));
      this.inside.append(draw("path", { class: kind, d: `M${places.join("L")}` }));
      if (dots) {
        for (const [cx, cy] of places) {
          this.inside.append(draw("circle", { class: kind, cx, cy, r: 3 }));
        }
      }
      const [x, y] = places[at] ?? [0, 0];
      const anchor = x > this.width / 2 ? "end" : "start";
      const beside = { x: x + ROOM.left, y: y + ROOM.top - 6, "text-anchor": anchor, class: kind };
      if (name) this.names.append(draw("text", beside, name));
    }
  }
}
