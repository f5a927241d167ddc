// Where the picture is drawn, and what moves in it: the veil that a pass lifts on its way, words that
// change, and the beads that run along the ribbons.

import { noChange, nothing, render, svg } from "lit/html.js";
import { make } from "../exhibits/dom.mjs";
import { CHOOSE, flip, move } from "../exhibits/motion.mjs";
import { nextTask } from "../tasks.mjs";
import { Layout } from "./layout.mjs";
import { Pulses } from "./pulses.mjs";

/** @import { Scene } from "./scenes.mjs" */
/** @import { Box } from "./layout.mjs" */

const TURN = 600; // milliseconds of a word that changes
const SEEN = 3000; // and of its token's frame
const WORDS = ".token .name, .word, .next .name, .next .p";
const STRIDE = 60; // px that the page goes along in a frame
const TALL = 987; // px of a level on a phone: as high as the whole of three blocks
const NS = "http://www.w3.org/2000/svg";

export class Stage {
  constructor() {
    this.svg = document.createElementNS(NS, "svg");
    this.svg.setAttribute("class", "flow-picture");
    this.svg.setAttribute("role", "group");
    this.scene = document.createElementNS(NS, "g");
    this.svg.append(this.scene);
    this.ahead = document.createElementNS(NS, "svg");
    this.anchor = make("div", {}, this.ahead); // moves: else its texts are laid out in each frame
    const clip = make("div", { class: "flow-ahead" }, this.anchor);
    this.veil = make("div", { class: "flow-veil", "aria-hidden": "true", hidden: true }, clip);
    this.element = make("div", { class: "flow-stage bare" }, this.svg, this.veil);
    this.pulses = new Pulses(this.element);
    /** @type {Scene | null} */
    this.shown = null;
    this.least = 0; // px that it is high at every level
    this.depth = Infinity; // how far the pass has come; Infinity: to the end
    /** @type {number | undefined} */
    this.to = undefined; // how far it goes on by itself
    /** @type {Animation[]} */
    this.moves = []; // of the veil
    /** @type {HTMLElement | null} */
    this.old = null; // another model's picture
    /** @type {import("../space/space.mjs").Space | null} */
    this.space = null; // where the picture is turned
    /** @type {typeof import("./camera.mjs").fly | null} */
    this.fly = null; // from one level to another: it comes with the deeper levels
  }

  /** px that there are. */
  get room() {
    return Math.max(280, Math.floor(this.element.clientWidth || 960));
  }

  /**
   * px that there are: every level is as high as the whole.
   * @param {import("./pass.mjs").Pass} pass
   */
  size({ tokens, nLayer }) {
    const { wide, width, height } = new Layout(this.room, tokens.length, nLayer);
    return { width, height: (this.least = wide ? height : Math.min(TALL, height)) };
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
   * The picture of another model stays until the first one of this model is there.
   * @param {Element | null} stage  that it was on
   * @param {string} says
   */
  keep(stage, says) {
    const picture = stage?.firstElementChild;
    if (!picture) return;
    const { element } = this;
    element.classList.toggle("turned", stage.classList.contains("turned"));
    element.parentElement?.classList.add("holds");
    element.style.minHeight = `${picture.clientHeight}px`;
    this.old = make("div", { class: "flow-old", inert: true }, picture, make("p", {}, says));
    element.append(this.old);
  }

  /** Draw what is not to be seen yet, a part in each task: all at once would hold up the page.
   * @param {Scene} scene @param {number} width  px */
  async unfold(scene, width) {
    const { body } = scene;
    this.fit(scene, width);
    for (let n = 0; n < body.values.length; n++) {
      if (body.values[n] === nothing) continue;
      await nextTask();
      this.render(body, n);
      this.scene.getBoundingClientRect(); // styles and layout belong to this task
    }
    await nextTask();
  }

  /** Make room for a scene. @param {Scene} scene @param {number} width  px */
  fit(scene, width) {
    const height = Math.max(scene.height, this.least);
    const box = `0 0 ${width} ${height}`;
    for (const one of [this.svg, this.ahead]) {
      if (one.getAttribute("viewBox") === box) continue; // else all that it shows is laid out anew
      one.setAttribute("viewBox", box);
      one.style.height = `${height}px`;
    }
    this.element.classList.remove("bare");
    this.element.classList.toggle("turned", Boolean(scene.vertical));
    this.veil.style.bottom = scene.below ? `${scene.below}px` : "";
  }

  /** A part may be given as `{make}`, and is made when it is first drawn. @param {Scene["body"]} body
   * @param {number} [only]  the part that is drawn: those before it are there, the others wait */
  render(body, only) {
    const values = body.values.map((/** @type {any} */ value, i) => {
      if (only !== undefined && i !== only) return i < only ? noChange : nothing;
      return (body.values[i] = value?.make ? value.make() : value);
    });
    render(svg`${{ ...body, values }}`, /** @type {any} */ (this.scene));
  }

  /**
   * @param {Scene} scene
   * @param {number} width  px
   * @param {{inside?: Box | null, around?: Box | null}} [from]  `inside`: where the new scene lies in
   *   the old; `around`: where the old one lies in the new
   */
  set(scene, width, { inside = null, around = null } = {}) {
    const old = inside || around ? /** @type {SVGGElement} */ (this.scene.cloneNode(true)) : null;
    this.old?.remove();
    this.element.style.minHeight = "";
    this.fit(scene, width);
    const before = this.shown;
    this.width = width;
    this.shown = scene;
    const words = this.words();
    this.render(scene.body);
    render(svg`${scene.ahead}`, /** @type {any} */ (this.ahead));
    if (old && before && !this.space) this.fly?.(this, { old, before, inside, around });
    else if (before?.along && scene.along) this.turn(words);
    this.pulses.fill(scene.beads ?? [], scene.nLayer ?? 0);
    this.showDepth(this.depth);
  }

  /**
   * Lift the veil as far as the pass has come. On a leg of its way the browser moves all by itself.
   * @param {number} depth
   * @param {{speed: number, to: number} | null} [leg]  blocks a second, and how far
   */
  showDepth(depth, leg = null) {
    this.depth = depth;
    this.space?.showDepth(depth, leg);
    if (leg && leg.to === this.to) return;
    this.to = leg?.to;
    const scene = this.shown;
    const covered = Boolean(scene?.along) && Number.isFinite(depth);
    this.veil.hidden = !covered;
    this.pulses.set(covered ? depth : Infinity, leg);
    const both = [this.veil, this.anchor]; // which stays where it is while the veil goes
    for (const move of this.moves) move.cancel();
    this.moves = [];
    if (!scene?.along || !covered) return;
    const { along, vertical } = scene;
    both.forEach((one, i) => {
      const at = (/** @type {number} */ depth) =>
        `translate${vertical ? "Y" : "X"}(${(i ? -1 : 1) * along(depth)}px)`;
      one.style.transform = at(depth);
      if (!leg) return;
      const duration = (1000 * (leg.to - depth)) / leg.speed;
      this.moves.push(one.animate([{}, { transform: at(leg.to) }], { duration, fill: "forwards" }));
    });
  }

  /** What happens, and what does it has the light. @param {string} says */
  light(says) {
    this.veil.dataset.says = says;
    this.space?.light(says);
    for (const one of /** @type {NodeListOf<SVGElement>} */ (
      this.scene.querySelectorAll("[data-when]")
    ))
      one.classList.toggle("on", one.dataset.when === says);
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

  /**
   * Another level. It begins at its bar: where that is out of sight, the page goes there.
   * @param {HTMLElement} frame
   * @param {boolean} deep
   * @param {boolean} comes  the page goes along
   */
  enter(frame, deep, comes) {
    if (frame.classList.contains("deep") === deep && !comes) return; // nothing is measured for it
    flip([this.element], () => {
      frame.classList.toggle("deep", deep);
      if (deep && comes) frame.querySelector(".flow-top")?.scrollIntoView({ block: "nearest" });
    });
  }

  /** Words that can change where they stand. */
  words() {
    return Array.from(this.scene.querySelectorAll(WORDS), (one) => ({ one, is: one.textContent }));
  }

  /**
   * Words that have changed are seen to.
   * @param {ReturnType<Stage["words"]>} before
   */
  turn(before) {
    const other = before.filter(({ one, is }) => one.isConnected && one.textContent !== is);
    for (const { one } of other) {
      move(one, [{ opacity: 0, translate: "0 0.6em" }, {}], { duration: TURN });
    }
    const boxes = other.flatMap(({ one }) => one.closest(".token")?.querySelector("rect") ?? []);
    if (boxes.length > 1) return; // another text
    const frames = [{ stroke: "var(--g2-accent)", strokeWidth: "4px" }, {}];
    for (const box of boxes) move(box, frames, { duration: SEEN }); // what it comes from
  }

  /** Tokens drop in, one after the other; milliseconds that it takes. */
  drop() {
    this.scene.querySelectorAll(".token").forEach((one, i) => {
      move(one, [{ translate: "0 -30px", opacity: 0 }, { translate: "0 0" }], { delay: 70 * i });
    });
    return 900;
  }

  /** The bars of what comes next grow. */
  grow() {
    for (const bar of this.scene.querySelectorAll(".bar")) {
      move(bar, [{ scale: "0 1" }, { scale: "1 1" }], { duration: CHOOSE });
    }
  }
}
