// Into the picture of the whole, as far as one likes: with Ctrl and the wheel, with two fingers, with + and
// −. Where a weight is wide enough for its number, it has it.

import { render, svg } from "lit/html.js";
import { fixed, make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { fullColour } from "./matrix.mjs";

/** @import { Stage } from "./stage.mjs" */
/** @import { Piece, Thumbs } from "./thumbs.mjs" */
/** @typedef {[number, number]} Point */

const MOST = 240; // times
const STEP = 2.2; // of + and −
const WHEEL = 0.004; // for each px that it turns
const WRITTEN = 38; // px of a weight that has its number
const LOW = 14; // px that it is high
const GLIDE = 260; // milliseconds from one size to the next
const REST = 90; // milliseconds until the numbers come
const SEEN = "gpt2-edu zoomed";
const HINT = "zoom to each weight:";
const HOW = "Ctrl and the wheel, or two fingers, zoom too";
const NS = "http://www.w3.org/2000/svg";

export class Zoom {
  /**
   * @param {Stage} stage
   * @param {Thumbs} thumbs
   * @param {() => void} moved
   */
  constructor(stage, thumbs, moved) {
    this.moved = moved;
    this.stage = stage;
    this.thumbs = thumbs;
    this.times = 1;
    /** @type {Point} */
    this.corner = [0, 0]; // of what is seen, in the picture's px
    this.timer = 0;
    this.frame = 0;
    this.round = 0;
    this.numbers = document.createElementNS(NS, "svg");
    this.numbers.setAttribute("class", "flow-picture flow-numbers");
    this.numbers.setAttribute("aria-hidden", "true");
    const button = (/** @type {string} */ sign, /** @type {string} */ name, by = STEP) =>
      make("button", { "aria-label": name, onclick: () => this.by(by) }, sign);
    this.out = button("−", "zoom out", 1 / STEP);
    this.says = make("span", {}, seen() ? "" : HINT);
    const all = [this.says, this.out, button("+", "zoom in")];
    this.element = make("div", { class: "flow-zoom" }, ...all);
    stage.element.append(this.element);
    this.listen(stage);
  }

  /** @param {Stage} stage */
  listen({ element, svg }) {
    /** @type {(event: {clientX: number, clientY: number}) => Point} */
    const at = ({ clientX, clientY }) => {
      const { left, top } = svg.getBoundingClientRect();
      return [clientX - left, clientY - top];
    };
    const wheel = (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey || this.element.hidden) return; // else the page scrolls
      event.preventDefault();
      this.by(Math.exp(-event.deltaY * WHEEL), at(event));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("keydown", (event) => {
      const by = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0, Escape: 0 }[event.key];
      const writes = event.target instanceof HTMLInputElement;
      const plain = !writes && !event.ctrlKey && !event.metaKey && !this.element.hidden;
      if (by === undefined || !plain || (!by && this.times === 1)) return;
      event.preventDefault();
      event.stopPropagation();
      const box = /** @type {Element} */ (event.target).getBoundingClientRect();
      const [clientX, clientY] = [box.x + box.width / 2, box.y + box.height / 2];
      this.by(
        by,
        svg.contains(/** @type {Node} */ (event.target)) ? at({ clientX, clientY }) : undefined,
      );
    });
    // Two fingers, and one that draws the picture along where it is larger than its frame.
    let far = 0;
    const pinch = (/** @type {TouchEvent} */ event) => {
      if (event.touches.length !== 2 || this.element.hidden) return;
      event.preventDefault();
      const [a, b] = Array.from(event.touches, at);
      const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (event.type === "touchmove") this.by(now / far, [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
      far = now;
    };
    for (const touch of /** @type {const} */ (["touchstart", "touchmove"]))
      svg.addEventListener(touch, pinch, { passive: false });
    /** @type {Point | null} */
    let held = null;
    let drawn = 0; // px
    svg.addEventListener("pointerdown", (event) => {
      [held, drawn] = [this.times > 1 && event.isPrimary ? at(event) : null, 0];
    });
    svg.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || !event.isPrimary) return;
      const to = at(event);
      const [dx, dy] = [held[0] - to[0], held[1] - to[1]];
      [held, drawn] = [to, drawn + Math.hypot(dx, dy)];
      const [x, y] = this.corner;
      this.show(this.times, [x + dx / this.times, y + dy / this.times]);
    });
    const swallow = (/** @type {Event} */ event) => drawn > 4 && event.stopPropagation();
    svg.addEventListener("click", swallow, { capture: true });
    new MutationObserver(() => element.classList.contains("plays") && this.show(1, [0, 0])).observe(
      element,
      { attributeFilter: ["class"] },
    );
  }

  /**
   * @param {number} by  times what is shown; 0: back to the whole
   * @param {Point} [at]  px of the picture's frame, which stays where it is
   */
  by(by, at) {
    const { times, corner, stage, thumbs } = this;
    const now = Math.min(MOST, Math.max(1, times * by));
    const { svg } = stage;
    const { box } = thumbs.pieces[0] ?? {};
    const first = box && [box.x + box.width / 2, box.y + box.height / 2]; // into it, while it is seen
    const [left, top] = first?.map((px, i) => (px - corner[i]) * times) ?? [-1, -1];
    const inside = left > 0 && top > 0 && left < svg.clientWidth && top < svg.clientHeight;
    const middle = inside ? [left, top] : [svg.clientWidth / 2, svg.clientHeight / 2];
    const start = performance.now();
    const step = () => {
      const part = at || still() ? 1 : Math.min(1, (performance.now() - start) / GLIDE);
      const size = times * (now / times) ** (1 - (1 - part) ** 3);
      const [x, y] = (at ?? middle).map((px, i) => corner[i] + px / times - px / size);
      this.show(size, [x, y]);
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    cancelAnimationFrame(this.frame);
    step();
    if (this.says.textContent === HINT)
      this.says.textContent = HOW; // said once
    else if (now === 1 || this.says.textContent !== HOW) this.says.textContent = "";
    if (now === 1) return;
    try {
      localStorage[SEEN] = "1";
    } catch {
      // without storage it is said again
    }
  }

  /**
   * @param {number} times
   * @param {Point} corner
   */
  show(times, corner) {
    const { element, svg } = this.stage;
    const size = [svg.clientWidth, svg.clientHeight];
    const seen = size.map((px) => px / times);
    this.times = times;
    const [x, y] = corner.map((px, i) => Math.min(size[i] - seen[i], Math.max(0, px)));
    this.corner = [x, y];
    svg.setAttribute("viewBox", `${x} ${y} ${seen[0]} ${seen[1]}`);
    element.classList.toggle("zoomed", times > 1);
    /** @type {HTMLButtonElement} */ (this.out).disabled = times === 1;
    this.numbers.remove();
    clearTimeout(this.timer);
    this.round++;
    this.moved();
    if (times > 1) this.timer = Number(setTimeout(() => this.write(this.round), REST));
  }

  /** Every weight that is seen, if it is large enough. @param {number} round */
  async write(round) {
    const { thumbs, stage } = this;
    const drawn = await Promise.all(thumbs.pieces.map((piece) => this.cells(piece)));
    const found = drawn.flatMap((one) => one ?? []);
    if (round !== this.round || !found.length) return;
    this.says.textContent = found.sort((a, b) => b.cells.length - a.cells.length)[0].told;
    this.numbers.style.height = `${stage.svg.clientHeight}px`;
    render(svg`${found.map(({ cells }) => cells)}`, /** @type {any} */ (this.numbers));
    stage.svg.after(this.numbers);
  }

  /** @param {Piece} piece */
  async cells({ box, module, name, role, rows, columns, turned }) {
    const { thumbs, times, corner, stage } = this;
    const [across, down] = turned ? [columns, rows] : [rows, columns];
    const wide = (times * box.width) / (across[1] - across[0]);
    const high = (times * box.height) / (down[1] - down[0]);
    const known = thumbs.weights.get(name);
    if (wide < WRITTEN || high < LOW || !known) return null;
    const [left, top] = [box.x, box.y].map((px, i) => (px - corner[i]) * times);
    const within = (
      /** @type {number[]} */ [from, to],
      /** @type {number} */ start,
      /** @type {number} */ each,
      /** @type {number} */ room,
    ) =>
      [Math.floor(-start / each), Math.ceil((room - start) / each)].map((n) =>
        Math.min(to, Math.max(from, from + n)),
      );
    const xs = within(across, left, wide, stage.svg.clientWidth);
    const ys = within(down, top, high, stage.svg.clientHeight);
    if (xs[0] >= xs[1] || ys[0] >= ys[1]) return null;
    const [outputs, inputs] = turned ? [ys, xs] : [xs, ys];
    const part = await thumbs.model.part({ module, rows: outputs, columns: inputs });
    const full = fullColour(known.weight);
    const many = inputs[1] - inputs[0];
    const told = `${name}: outputs ${outputs[0]} to ${outputs[1] - 1}, inputs ${inputs[0]} to ${inputs[1] - 1}`;
    const cells = Array.from(part.weight, (value, i) => {
      const [output, input] = [outputs[0] + Math.floor(i / many), inputs[0] + (i % many)];
      const [column, row] = turned ? [input, output] : [output, input];
      const [x, y] = [left + (column - across[0]) * wide, top + (row - down[0]) * high];
      const heat = Math.min(1, Math.abs(value) / full).toFixed(2);
      return svg`<rect class="ground" x=${x} y=${y} width=${wide} height=${high}></rect><rect class="heat ${value < 0 ? "minus" : role}" style="fill-opacity:${heat}" x=${x} y=${y} width=${wide - 1} height=${high - 1}></rect>
        <text x=${x + wide / 2} y=${y + high / 2 + 4} text-anchor="middle">${fixed(value, 2)}</text>`;
    });
    return { told, cells };
  }

  /** After a pass is shown. @param {boolean} whole  whether it is that of the whole, with its weights */
  set(whole) {
    this.element.hidden = !whole;
    const { times, corner } = this;
    if (!whole) this.show(1, [0, 0]);
    else if (times > 1) this.show(times, corner);
  }
}

/** Whether a reader has zoomed before. */
function seen() {
  try {
    return Boolean(localStorage[SEEN]);
  } catch {
    return false;
  }
}
