// A plot: curves over two axes, with their names beside them.

import { draw, within } from "./dom.mjs";
import { COPY, GATHER, move } from "./motion.mjs";

/**
 * @typedef {{from: number, to: number, name?: string, ticks?: [number, string][],
 *   warp?: (value: number) => number}} Axis  `warp` bends it, such as Math.log10
 * @typedef {{points: [number, number][], kind?: string, name?: string, at?: number,
 *   dots?: boolean, left?: boolean, grows?: boolean, slides?: boolean}} Curve  `kind` is a class for its
 *   look; its name stands at point `at`, to the left of it where a line rises on the right; it is
 *   drawn point by point, or its end slides to where it now is
 */

const ROOM = { left: 44, right: 10, top: 18, bottom: 36 };
const AXIS = 8; // units between the axis and a name
const FAR = 1e4; // units of the drawing, beyond any edge

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
   * @param {{label: string, x: Axis, y: Axis, width?: number, height?: number,
   *   onPoint?: (x: number, y: number) => void, onStep?: (x: number, y: number) => void}} options
   *   what pressing and dragging in it do; what arrow keys do, whose steps are 1, 0 or −1
   */
  constructor({ label, x, y, width = 340, height = 200, onPoint, onStep }) {
    this.x = x;
    this.y = y;
    this.whole = width;
    /** @type {number[][]} */
    this.ends = []; // where the curves ended
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
    if (onPoint) this.take(onPoint);
    if (onStep) this.heed(onStep);
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
      draw("text", { x: right, y: low + 32, "text-anchor": "end" }, x.name),
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
    return [this.width * share(this.x, a), this.height * (1 - share(this.y, b))].map(
      (value) => Math.round(within(value, -FAR, FAR) * 10) / 10,
    );
  }

  /**
   * Where the pointer is pressed, or dragged to: how far along each axis, 0 to 1.
   * @param {(x: number, y: number) => void} onPoint
   */
  take(onPoint) {
    this.element.classList.add("free");
    const tell = (/** @type {MouseEvent} */ { clientX, clientY }) => {
      const box = this.element.getBoundingClientRect();
      const unit = box.width / this.whole;
      const [x, y] = [
        (clientX - box.left) / unit - ROOM.left,
        (clientY - box.top) / unit - ROOM.top,
      ];
      onPoint(x / this.width, 1 - y / this.height);
    };
    this.element.addEventListener("pointerdown", (down) => {
      if (down.button !== 0) return;
      this.element.setPointerCapture(down.pointerId);
      tell(down);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) tell(event);
    });
  }

  /** @param {(x: number, y: number) => void} onStep */
  heed(onStep) {
    this.element.setAttribute("tabindex", "0");
    this.element.setAttribute("role", "application");
    this.element.addEventListener("keydown", (event) => {
      const by = /** @type {Record<string, [number, number]>} */ ({
        ArrowUp: [0, 1],
        ArrowDown: [0, -1],
        ArrowRight: [1, 0],
        ArrowLeft: [-1, 0],
      })[event.key];
      if (!by) return;
      event.preventDefault();
      onStep(...by);
    });
  }

  /** @param {Curve[]} curves  the last on top */
  set(curves) {
    this.inside.replaceChildren();
    this.names.replaceChildren();
    curves.forEach((curve, nth) => {
      const { points, kind = "", name = "", at = points.length - 1, dots, left } = curve;
      const places = points.map((point) => this.place(point));
      const path = draw("path", { class: kind, d: `M${places.join("L")}` });
      const circles = (dots ? places : []).map(([cx, cy]) =>
        draw("circle", { class: kind, cx, cy, r: 3 }),
      );
      this.inside.append(path, ...circles);
      if (curve.grows) {
        path.setAttribute("pathLength", "1");
        const none = { strokeDasharray: "0 1" };
        move(path, [none, { strokeDasharray: "1 0" }], { duration: GATHER, easing: "linear" });
        circles.forEach((one, i) => {
          const delay = (i / circles.length) * GATHER;
          move(one, [{ opacity: 0 }, { opacity: 1 }], { duration: 1, delay });
        });
      }
      const [end, was] = [places.at(-1) ?? [0, 0], this.ends[nth]];
      if (curve.slides && was) {
        const from = { translate: `${was[0] - end[0]}px ${was[1] - end[1]}px` };
        move(circles.at(-1) ?? path, [from, { translate: "0 0" }], { duration: COPY });
      }
      this.ends[nth] = end;
      const [x, y] = places[at] ?? [0, 0];
      const anchor = left || x > this.width / 2 ? "end" : "start";
      const off = x < AXIS ? AXIS : 0; // from the axis
      const beside = {
        x: x + off + ROOM.left,
        y: y + ROOM.top - 6,
        "text-anchor": anchor,
        class: kind,
      };
      if (name) this.names.append(draw("text", beside, name));
    });
  }
}
