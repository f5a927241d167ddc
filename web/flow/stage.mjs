// Where the picture is drawn, and what moves in it: the camera that goes from one level to another,
// the veil that a pass lifts on its way, and the beads that run along the ribbons.

import { interpolateZoom } from "d3-interpolate";
import { render, svg } from "lit/html.js";
import { make } from "../exhibits/dom.mjs";
import { CHOOSE, move, still } from "../exhibits/motion.mjs";
import { onCurve } from "./layout.mjs";

/** @import { Scene } from "./scenes.mjs" */
/** @import { Box } from "./layout.mjs" */

const ZOOM = 600; // milliseconds from one level to the next
const FLIGHT = 500; // milliseconds of a token on its way to the text
const STEPS = 16; // of the camera's way
const STRIDE = 60; // px that the page goes along in a frame
const NS = "http://www.w3.org/2000/svg";

export class Stage {
  constructor() {
    this.svg = document.createElementNS(NS, "svg");
    this.svg.setAttribute("class", "flow-picture");
    this.svg.setAttribute("role", "group");
    this.scene = document.createElementNS(NS, "g");
    this.svg.append(this.scene);
    this.veil = make("div", { class: "flow-veil", hidden: true });
    this.canvas = make("canvas", { class: "flow-beads", "aria-hidden": "true" });
    this.element = make("div", { class: "flow-stage" }, this.svg, this.veil, this.canvas);
    this.svg.addEventListener("keydown", (event) => this.rove(event));
    /** @type {Scene | null} */
    this.shown = null;
    this.depth = Infinity; // how far the pass has come; Infinity: to the end
    this.inks = ["", ""]; // of a bead
  }

  /**
   * What is to be done where there is another width, or another theme, whose colours a canvas has.
   * @param {() => void} paint
   */
  watch(paint) {
    new ResizeObserver(() => {
      const width = Math.floor(this.element.clientWidth);
      if (this.shown && width && width !== this.width) paint();
    }).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
    new MutationObserver(paint).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  /**
   * A colour of the theme, as a canvas wants it.
   * @param {string} name
   */
  colour(name) {
    this.veil.style.color = `var(--${name})`;
    return getComputedStyle(this.veil).color;
  }

  /**
   * @param {Scene} scene
   * @param {number} width  px
   * @param {{inside?: Box | null, around?: Box | null}} [from]  `inside`: where the new scene lies in
   *   the old; `around`: where the old one lies in the new
   */
  set(scene, width, { inside = null, around = null } = {}) {
    const old = inside || around ? /** @type {SVGGElement} */ (this.scene.cloneNode(true)) : null;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${scene.height}`);
    this.svg.style.height = `${scene.height}px`;
    this.element.classList.toggle("turned", Boolean(scene.vertical));
    this.width = width;
    this.shown = scene;
    this.inks = [this.colour("paper"), this.colour("h0")];
    render(svg`${scene.body}`, /** @type {any} */ (this.scene));
    if (old) this.fly(old, width, inside, around);
    this.showDepth(this.depth);
  }

  /**
   * Among things of a kind the arrow keys go on: they are one stop for Tab.
   * @param {KeyboardEvent} event
   */
  rove(event) {
    const from = /** @type {SVGElement} */ (event.target);
    const kind = from.dataset.rove;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!kind || !step) return;
    event.preventDefault();
    const all = /** @type {SVGElement[]} */ ([
      ...this.scene.querySelectorAll(`[data-rove=${kind}]`),
    ]);
    const to = all[(all.indexOf(from) + step + all.length) % all.length];
    for (const one of all) one.tabIndex = one === to ? 0 : -1;
    to.focus({ preventScroll: true });
  }

  /**
   * One camera for both scenes: each is drawn where it lies in the larger one, and fades.
   * @param {SVGGElement} old
   * @param {number} width
   * @param {Box | null} inside
   * @param {Box | null} around
   */
  fly(old, width, inside, around) {
    const box = inside ?? around;
    if (!box || still()) return;
    const { height } = /** @type {Scene} */ (this.shown);
    old.setAttribute("class", "ghost");
    this.svg.append(old);
    const scale = box.width / width;
    /** @type {[number, number, number]} */
    const all = [width / 2, height / 2, width];
    /** @type {[number, number, number]} */
    const part = [box.x + box.width / 2, box.y + (height * scale) / 2, box.width];
    const way = inside ? interpolateZoom(all, part) : interpolateZoom(part, all);
    const frames = Array.from({ length: STEPS + 1 }, (_, i) => {
      const t = i / STEPS;
      const [x, y, w] = way(t);
      const k = width / w;
      const [dx, dy] = [width / 2 - x * k, height / 2 - y * k];
      const large = `translate(${dx}px, ${dy}px) scale(${k})`;
      const small = `translate(${dx + box.x * k}px, ${dy + box.y * k}px) scale(${k * scale})`;
      const u = t * t * (3 - 2 * t);
      return { large, small, inner: inside ? u : 1 - u };
    });
    const options = { duration: ZOOM, easing: "ease-in-out" };
    const [larger, smaller] = inside ? [old, this.scene] : [this.scene, old];
    larger.animate(
      frames.map(({ large, inner }) => ({ transform: large, opacity: 1 - inner })),
      options,
    );
    const last = smaller.animate(
      frames.map(({ small, inner }) => ({ transform: small, opacity: inner })),
      options,
    );
    last.finished.then(
      () => old.remove(),
      () => old.remove(),
    );
    if (smaller === this.scene) larger.style.pointerEvents = "none";
  }

  /**
   * Lift the veil as far as the pass has come.
   * @param {number} depth
   */
  showDepth(depth) {
    this.depth = depth;
    const scene = this.shown;
    const covered = Boolean(scene?.along) && Number.isFinite(depth);
    this.veil.hidden = !covered;
    if (!scene?.along || !covered) {
      this.clear();
      return;
    }
    const px = scene.along(depth);
    this.veil.style.transform = scene.vertical ? `translateY(${px}px)` : `translateX(${px}px)`;
    this.drawBeads(scene, depth);
  }

  /**
   * Where the picture is turned, the page goes along.
   * @param {number} depth
   * @param {number} covered  px of the window's end
   * @param {ScrollBehavior} [behavior]  of the whole way; else it goes one stride
   */
  follow(depth, covered, behavior) {
    const { shown: scene, element } = this;
    if (!scene?.along || !scene.vertical || !Number.isFinite(depth)) return;
    const y = element.getBoundingClientRect().top + scene.along(depth);
    const free = innerHeight - covered;
    const by = y - Math.min(0.75 * free, Math.max(0.3 * free, y));
    const stride = Math.max(-STRIDE, Math.min(STRIDE, by));
    if (by) scrollBy({ top: behavior ? by : stride, behavior: behavior ?? "instant" });
  }

  /** Tokens drop in, one after the other. */
  drop() {
    this.scene.querySelectorAll(".token").forEach((one, i) => {
      move(one, [{ translate: "0 -30px", opacity: 0 }, { translate: "0 0" }], { delay: 70 * i });
    });
  }

  /** The bars of what comes next grow. */
  grow() {
    for (const bar of this.scene.querySelectorAll(".bar")) {
      move(bar, [{ scale: "0 1" }, { scale: "1 1" }], { duration: CHOOSE });
    }
  }

  /**
   * The chosen token, or the likeliest, flies from its bar to the text.
   * @param {number} [id]
   */
  async fling(id) {
    const of = id === undefined ? ".next" : `[data-id="${id}"]`;
    const bar = this.scene.querySelector(`${of} .name`);
    const lanes = [...this.scene.querySelectorAll(".token")];
    const last = lanes.at(-1);
    if (!bar || !last || still()) return;
    const [from, to] = [bar, last].map((one) => one.getBoundingClientRect());
    const origin = this.element.getBoundingClientRect();
    const name = make("b", { class: "flow-flying" }, bar.textContent ?? "");
    this.element.append(name);
    const [x, y] = [from.left - origin.left, from.top - origin.top];
    const turned = this.element.classList.contains("turned");
    const end = turned
      ? [to.left, to.top]
      : [to.left + 8, Math.min(to.bottom + 10, origin.bottom - 20)];
    const [dx, dy] = [end[0] - origin.left - x, end[1] - origin.top - y];
    Object.assign(name.style, { left: `${x}px`, top: `${y}px` });
    const way = [
      { transform: "none", easing: "ease-out" },
      { transform: "translateY(-10px)", offset: 0.25, easing: "ease-in-out" },
      { transform: `translate(${dx}px, ${dy}px)` },
    ];
    await name.animate(way, FLIGHT).finished.catch(() => {});
    name.remove();
  }

  clear() {
    const { canvas } = this;
    if (canvas.width) canvas.width = 0;
  }

  /**
   * What is gathered runs along the ribbons, the more the larger the weight.
   * @param {Scene} scene
   * @param {number} depth
   */
  drawBeads({ beads = [], height }, depth) {
    const now = beads.filter(({ from, to }) => depth > from && depth < to + 0.02);
    if (!now.length) return this.clear();
    const { canvas, width = 0 } = this;
    const ratio = Math.min(2, devicePixelRatio);
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    }
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    [context.fillStyle, context.strokeStyle] = this.inks;
    for (const { points, many, from, to } of now) {
      for (let i = 0; i < many; i++) {
        const u = (depth - from) / (to - from) - i * 0.09;
        if (u < 0 || u > 1) continue;
        const [x, y] = onCurve(points, u);
        context.beginPath();
        context.arc(x, y, 3, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
      }
    }
  }
}
