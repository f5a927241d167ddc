// Plane of arrows: vectors of two numbers from one origin. Tips can be dragged, or moved by arrow
// keys; the page's state takes the new numbers.

import { fixed } from "./exhibit.mjs";

/**
 * @typedef {object} Arrow
 * @property {string} name
 * @property {number} x
 * @property {number} y
 * @property {string} [role]  its colour: q, k, v, weights, bird, machine, plain
 * @property {boolean} [free]  whether it can be dragged
 * @property {boolean} [ghost]  a thin dashed one: how it was
 * @property {string} [label]  what stands at its tip; its name, if not given
 */

const SVG = "http://www.w3.org/2000/svg";
const SIZE = 320; // units of a side
const STEP = 0.1; // of an arrow key; ten times as much with Shift

/**
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 */
function draw(tag, attributes = {}) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

export class Arrows {
  /**
   * @param {{label: string, reach?: number, x?: string, y?: string,
   *   onMove?: (name: string, x: number, y: number) => void}} options
   *   the plane goes from −reach to reach; names of its axes
   */
  constructor({ label, reach = 2, x = "", y = "", onMove }) {
    this.reach = reach;
    this.onMove = onMove;
    this.element = draw("svg", {
      class: "arrows",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "group",
      "aria-label": label,
    });
    const half = SIZE / 2;
    this.element.append(
      draw("path", { class: "axes", d: `M0 ${half}H${SIZE}M${half} 0V${SIZE}` }),
      this.text(x, SIZE - 4, half - 6, "end"),
      this.text(y, half + 6, 12, "start"),
    );
    for (let i = -reach; i <= reach; i++) {
      if (!i) continue;
      const [at] = this.place(i, 0);
      this.element.append(
        draw("path", { class: "axes", d: `M${at} ${half - 3}v6M${half - 3} ${SIZE - at}h6` }),
      );
    }
    /** @type {Map<string, SVGElement>} */
    this.groups = new Map();
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   * @param {string} anchor
   */
  text(words, x, y, anchor) {
    const element = draw("text", { x, y, "text-anchor": anchor, class: "axis" });
    element.textContent = words;
    return element;
  }

  /**
   * Numbers → units of the drawing.
   * @param {number} x
   * @param {number} y
   */
  place(x, y) {
    const scale = SIZE / (2 * this.reach);
    return [SIZE / 2 + x * scale, SIZE / 2 - y * scale];
  }

  /** @param {Arrow[]} arrows */
  set(arrows) {
    const names = new Set(arrows.map(({ name }) => name));
    for (const [name, group] of this.groups) {
      if (names.has(name)) continue;
      group.remove();
      this.groups.delete(name);
    }
    for (const arrow of arrows) this.paint(arrow);
  }

  /** @param {Arrow} arrow */
  paint({ name, x, y, role = "plain", free = false, ghost = false, label = name }) {
    let group = this.groups.get(name);
    if (!group) {
      group = draw("g");
      group.append(draw("path", { class: "shaft" }), draw("path", { class: "tip" }), draw("text"));
      if (free) {
        group.append(draw("circle", { class: "handle", r: 22 }));
        this.hold(group, name);
      }
      this.element.append(group);
      this.groups.set(name, group);
    }
    group.setAttribute("class", `arrow ${role}${ghost ? " ghost" : ""}${free ? " free" : ""}`);
    group.dataset.x = String(x);
    group.dataset.y = String(y);
    const [fromX, fromY] = this.place(0, 0);
    const [toX, toY] = this.place(x, y);
    const angle = Math.atan2(toY - fromY, toX - fromX);
    const wing = (/** @type {number} */ turn) =>
      `${toX - 10 * Math.cos(angle + turn)} ${toY - 10 * Math.sin(angle + turn)}`;
    const [shaft, tip, text, handle] = group.children;
    const long = Math.hypot(toX - fromX, toY - fromY) > 3;
    shaft.setAttribute("d", `M${fromX} ${fromY}L${toX} ${toY}`);
    tip.setAttribute("d", long ? `M${wing(0.45)}L${toX} ${toY}L${wing(-0.45)}Z` : "");
    text.setAttribute("x", String(toX + 10 * Math.cos(angle)));
    text.setAttribute("y", String(toY + 10 * Math.sin(angle) + 4));
    text.setAttribute("text-anchor", Math.cos(angle) < -0.2 ? "end" : "start");
    text.textContent = label;
    if (!handle) return;
    handle.setAttribute("cx", String(toX));
    handle.setAttribute("cy", String(toY));
    group.setAttribute("aria-label", `${name}: ${fixed(x, 2)}, ${fixed(y, 2)}; arrow keys move it`);
  }

  /**
   * @param {SVGElement} group
   * @param {string} name
   */
  hold(group, name) {
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "application");
    const to = (/** @type {number} */ x, /** @type {number} */ y) => {
      const inside = (/** @type {number} */ value) =>
        Math.min(this.reach, Math.max(-this.reach, Math.round(value * 100) / 100));
      this.onMove?.(name, inside(x), inside(y));
    };
    group.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 10 * STEP : STEP;
      const by = /** @type {Record<string, [number, number]>} */ ({
        ArrowLeft: [-step, 0],
        ArrowRight: [step, 0],
        ArrowUp: [0, step],
        ArrowDown: [0, -step],
      })[event.key];
      if (!by) return;
      event.preventDefault();
      to(Number(group.dataset.x) + by[0], Number(group.dataset.y) + by[1]);
    });
    group.addEventListener("pointerdown", (down) => {
      if (down.button !== 0) return;
      down.preventDefault();
      group.focus({ preventScroll: true });
      group.setPointerCapture(down.pointerId);
      const move = (/** @type {PointerEvent} */ event) => {
        const box = this.element.getBoundingClientRect();
        const x = (2 * (event.clientX - box.left)) / box.width - 1;
        const y = 1 - (2 * (event.clientY - box.top)) / box.height;
        to(x * this.reach, y * this.reach);
      };
      const end = () => {
        group.removeEventListener("pointermove", move);
        group.removeEventListener("pointerup", end);
        group.removeEventListener("pointercancel", end);
      };
      group.addEventListener("pointermove", move);
      group.addEventListener("pointerup", end);
      group.addEventListener("pointercancel", end);
    });
  }
}
