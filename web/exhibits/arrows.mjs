// Plane of arrows: vectors of two numbers from one origin. Tips can be dragged, or moved by arrow
// keys; the page's state takes the new numbers.

import { draw, fixed } from "./dom.mjs";

/**
 * @typedef {object} Arrow
 * @property {string} name
 * @property {number} x
 * @property {number} y
 * @property {string} [role]  its colour: q, k, v, bird, machine, plain
 * @property {boolean} [free]  whether it can be dragged
 * @property {boolean} [ghost]  a thin dashed one: how it was
 * @property {string} [label]  what stands at its tip
 */

const SIZE = 320; // units of a side
const STEP = 0.1; // of an arrow key; ten times as much with Shift
const HOLD = 22; // units from a tip within which it can be taken
const LINE = 15; // units from one label to the next
const SAME = 0.02; // two tips within this stand in one place

export class Arrows {
  /**
   * @param {{label: string, reach?: number, low?: number, x?: string, y?: string,
   *   onMove?: (name: string, x: number, y: number) => void,
   *   onStep?: (name: string, by: number) => void}} options
   *   the plane goes from low, which is −reach if not given, to reach; names of its axes. With onStep
   *   an arrow key is a step of 1 or −1, for tips that cannot go everywhere
   */
  constructor({ label, reach = 2, low = -reach, x = "", y = "", onMove, onStep }) {
    this.onMove = onMove;
    this.onStep = onStep;
    this.titles = { x, y };
    this.element = draw("svg", {
      class: "arrows",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "group",
      "aria-label": label,
    });
    this.axes = draw("g");
    this.element.append(this.axes);
    this.element.addEventListener("pointerdown", (down) => this.take(down));
    this.held = false;
    // A finger on a tip moves the tip, elsewhere the page; touch-action of parts of a drawing is
    // not heeded everywhere.
    const stay = (/** @type {Event} */ event) => this.held && event.preventDefault();
    this.element.addEventListener("touchstart", stay, { passive: false });
    /** @type {Map<string, SVGElement>} */
    this.groups = new Map();
    /** @type {Arrow[]} */
    this.arrows = [];
    this.low = 0;
    this.reach = 0;
    this.range(low, reach);
  }

  /**
   * @param {number} low
   * @param {number} reach
   */
  range(low, reach) {
    if (low === this.low && reach === this.reach) return;
    Object.assign(this, { low, reach });
    const [x0, y0] = this.place(0, 0);
    this.axes.replaceChildren(
      draw("path", { class: "axes", d: `M0 ${y0}H${SIZE}M${x0} 0V${SIZE}` }),
      this.text(this.titles.x, SIZE - 2, y0 + 30, "end"),
      this.text(this.titles.y, x0 + 6, 12, "start"),
    );
    for (let i = Math.ceil(low); i <= reach; i++) {
      if (!i) continue;
      const [x, y] = this.place(i, i);
      this.axes.append(
        draw("path", { class: "axes", d: `M${x} ${y0 - 3}v6M${x0 - 3} ${y}h6` }),
        this.text(fixed(i, 0), x, y0 + 15, "middle"),
        this.text(fixed(i, 0), x0 - 7, y + 4, "end"),
      );
    }
  }

  /**
   * @param {string} words
   * @param {number} x
   * @param {number} y
   * @param {string} anchor
   */
  text(words, x, y, anchor) {
    return draw("text", { x, y, "text-anchor": anchor, class: "axis" }, words);
  }

  /**
   * Numbers → units of the drawing.
   * @param {number} x
   * @param {number} y
   */
  place(x, y) {
    const scale = SIZE / (this.reach - this.low);
    return [(x - this.low) * scale, SIZE - (y - this.low) * scale];
  }

  /** @param {Arrow[]} arrows */
  set(arrows) {
    this.arrows = arrows;
    const names = new Set(arrows.map(({ name }) => name));
    for (const [name, group] of this.groups) {
      if (names.has(name)) continue;
      group.remove();
      this.groups.delete(name);
    }
    arrows.forEach((arrow, i) => this.paint(this.together(arrow, i)));
    this.spread();
  }

  /**
   * Of arrows to one place the last has the names of all; it is dashed if their colours differ.
   * @param {Arrow} arrow
   * @param {number} i
   * @returns {Arrow & {over: boolean}}
   */
  together(arrow, i) {
    const named = this.arrows.filter(
      (one) => one.label && Math.hypot(one.x - arrow.x, one.y - arrow.y) < SAME,
    );
    const last = named[named.length - 1];
    const label = named.map((one) => one.label).join(", ");
    const over = this.arrows
      .slice(0, i)
      .some((one) => named.includes(one) && one.role !== arrow.role);
    return { ...arrow, label: arrow === last ? label : "", over: arrow === last && over };
  }

  /** Labels stay in the plane; from the axis outward, each has the nearest place that is free. */
  spread() {
    const labels = this.arrows.map(({ name, y }) => {
      const text = /** @type {SVGTextElement} */ (this.groups.get(name)?.children[2]);
      return { text, y, box: text.getBBox() };
    });
    const taken = [...this.axes.querySelectorAll("text")].map((text) => text.getBBox());
    labels.sort((a, b) => Math.abs(a.y) - Math.abs(b.y));
    for (const { text, y: tip, box } of labels) {
      const { x, y, width, height } = box;
      if (!width) continue;
      const left = Math.max(0, Math.min(SIZE - width, x));
      const inside = (/** @type {number} */ top) => Math.max(0, Math.min(SIZE - height, top));
      const meets = (/** @type {number} */ top) =>
        taken.some(
          (one) =>
            Math.abs(one.y - top) < LINE &&
            one.x - 6 < left + width &&
            left - 6 < one.x + one.width,
        );
      const away = tip < 0 ? LINE : -LINE;
      const from = inside(left === x ? y : y + away); // not on its own tip
      const steps = Array.from({ length: 25 }, (_, n) => (n % 2 ? n + 1 : -n) / 6); // 0, 1/3, −1/3 …
      const tops = steps.map((step) => inside(from + step * away));
      const top = tops.find((one) => !meets(one)) ?? from;
      taken.push(new DOMRect(left, top, width, height));
      text.setAttribute("x", String(Number(text.getAttribute("x")) + left - x));
      text.setAttribute("y", String(Number(text.getAttribute("y")) + top - y));
    }
  }

  /** @param {Arrow & {over: boolean}} arrow */
  paint({ name, x, y, role = "plain", free = false, ghost = false, label = "", over }) {
    let group = this.groups.get(name);
    if (!group) {
      group = draw("g");
      group.append(draw("path", { class: "shaft" }), draw("path", { class: "tip" }), draw("text"));
      if (free) {
        group.append(draw("circle", { class: "handle", r: HOLD }));
        this.hold(group, name);
      }
      group.dataset.name = role.split(" ")[0]; // q, k and v are names of tensors
      this.element.append(group);
      this.groups.set(name, group);
    }
    const kinds = Object.entries({ ghost, free, over }).flatMap(([kind, is]) => (is ? kind : []));
    group.setAttribute("class", ["arrow", role, ...kinds].join(" "));
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
      if (this.onStep) this.onStep(name, Math.sign(by[0] + by[1]));
      else this.move(name, Number(group.dataset.x) + by[0], Number(group.dataset.y) + by[1]);
    });
  }

  /**
   * @param {string} name
   * @param {number} x
   * @param {number} y
   */
  move(name, x, y) {
    const inside = (/** @type {number} */ value) =>
      Math.min(this.reach, Math.max(this.low, Math.round(value * 100) / 100));
    this.onMove?.(name, inside(x), inside(y));
  }

  /**
   * Numbers under the pointer.
   * @param {PointerEvent} event
   * @returns {[number, number]}
   */
  under(event) {
    const box = this.element.getBoundingClientRect();
    const wide = this.reach - this.low;
    return [
      this.low + (wide * (event.clientX - box.left)) / box.width,
      this.reach - (wide * (event.clientY - box.top)) / box.height,
    ];
  }

  /**
   * The nearest free tip follows the pointer; of two in the same place the later one.
   * @param {PointerEvent} down
   */
  take(down) {
    if (down.button !== 0) return;
    const [x, y] = this.under(down);
    const away = (/** @type {Arrow} */ tip) => Math.hypot(tip.x - x, tip.y - y);
    const near = (HOLD + 1) / this.place(this.low + 1, 0)[0];
    /** @type {Arrow | null} */
    let held = null;
    for (const tip of this.arrows) {
      if (tip.free && away(tip) <= (held ? away(held) : near)) held = tip;
    }
    if (held) this.follow(held, down);
  }

  /**
   * @param {Arrow} held
   * @param {PointerEvent} down
   */
  follow(held, down) {
    const [x, y] = this.under(down);
    const group = this.groups.get(held.name);
    if (!group) return;
    down.preventDefault();
    group.focus({ preventScroll: true });
    group.setPointerCapture(down.pointerId);
    this.held = true;
    const move = (/** @type {PointerEvent} */ event) => {
      const [toX, toY] = this.under(event);
      this.move(held.name, held.x + toX - x, held.y + toY - y);
    };
    const end = () => {
      this.held = false;
      group.removeEventListener("pointermove", move);
    };
    group.addEventListener("pointermove", move);
    group.addEventListener("lostpointercapture", end, { once: true }); // however it ends
  }
}
