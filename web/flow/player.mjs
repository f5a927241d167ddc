// A pass that plays: the five verbs in their time, and a slider over all stations.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { happens, timetable, TOLD } from "./timetable.mjs";
import { wayThrough } from "./way.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Stage } from "./stage.mjs" */

const TOUCHES = ["pointerdown", "wheel", "keydown"]; // a reader who takes over

const TEXT = 0.62; // depth at which the tokens are there
const COMES = 600; // milliseconds until a level is there
const TICK = 30; // milliseconds between two looks at where it is

export class Player {
  /**
   * @param {State} state  `station`: how far the pass has come, -1 for the whole way
   * @param {Stage} stage
   * @param {string[]} [chapters]  their addresses
   * @param {boolean} [folds]  the line of code is seen after a click
   */
  constructor(state, stage, chapters = [], folds = false) {
    this.chapters = chapters;
    this.state = state;
    this.stage = stage;
    this.way = wayThrough(1);
    this.llama = false; // whose way it is
    this.nLayer = 1;
    this.began = 0; // milliseconds; 0: it rests
    this.frame = 0;
    this.timer = 0;
    /** @type {(() => void) | null} */
    this.arrival = null; // what is done by itself, once something is shown
    this.byItself = false; // nobody asked for it
    this.leads = location.hash === "#gpt2-flow"; // a link leads to the station, not only to the picture
    this.end = () => {}; // of what is played
    this.watched = false; // what a head does
    this.nth = -1; // output of a matrix
    this.covered = 0; // px of the window's end
    const onclick = () => {
      if (!this.began) return void this.play();
      this.stop();
      if (stage.shown?.along) state.set({ station: Number(this.slider.value) });
    };
    /** Below the picture, and on a phone in the line at the edge of the screen: one of them is seen. */
    this.buttons = ["flow-play", "flow-play-here"].map((name) =>
      make("button", { class: name, onclick }, "play"),
    );
    this.slider = make("input", {
      type: "range",
      min: "0",
      "aria-label": "how far the pass has come",
      oninput: () => this.upTo(this.way[Number(this.slider.value)].depth),
    });
    this.controls = [this.buttons[0], this.slider];
    /** Between the flat picture and the one in space. */
    this.turn = make("button", {
      class: "flow-turn",
      onclick: () => state.set({ space: !state.get("space"), place: "" }),
    });
    /** Its nodes stay: a page with :has() styles all of the picture again where nodes are exchanged. */
    this.told = Array.from({ length: 5 }, () => new Text());
    this.caption = new Text();
    this.link = make("a", {}, this.told[4]);
    const [verb, told, code, path] = this.told;
    const exact = [make("code", {}, code), path, this.link];
    const fold = make("details", {}, make("summary", {}, "in code"), ...exact);
    const more = folds ? [fold] : exact;
    this.line = make("div", { class: "soft flow-line" }, make("b", {}, verb), told, ...more);
    this.says = make("p");
    this.result = make("div", { class: "flow-result" }, this.buttons[1], this.says);
    /** The result stays at the edge of a phone's screen as long as the picture is there, and no longer. */
    this.element = make("div", { class: "flow-frame" }, stage.element, this.result);
    /** @type {(Node | string)[]} */
    this.answer = []; // that it holds where nothing is played
  }

  /** @param {string} does  the button */
  name(does) {
    for (const button of this.buttons) button.textContent = button.dataset.is = does;
  }

  /** The first and the last station of what is shown. */
  get span() {
    const [from, to] = this.stage.shown?.range ?? [0, Infinity];
    return [this.reached(from) + 1, this.reached(to)];
  }

  /** The station at a depth, or the last before it. @param {number} depth */
  reached(depth) {
    return this.way.filter((one) => one.depth <= depth).length - 1;
  }

  /** The pass as far as a depth. @param {number} depth */
  upTo(depth) {
    this.stop();
    const nth = this.reached(depth);
    this.state.set({ station: nth < this.span[1] ? nth : -1 });
  }

  stop() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.began = 0;
    this.byItself = false;
    this.name("play");
    this.element.classList.remove("plays");
    this.stage.light("");
    this.says.replaceChildren(...this.answer);
    const { end } = this;
    this.end = () => {};
    end();
  }

  /**
   * All of it; one station at a time for those who want nothing to move.
   * @param {number} [speed]
   * @param {boolean} [byItself]  nobody asked for it: first the tokens come
   * @returns {Promise<boolean>}  whether it came to its end
   */
  async play(speed = 1, byItself = false) {
    const { state, stage, span } = this;
    const { fills, range = [TEXT, Infinity] } = stage.shown ?? {};
    if (still() && !fills) {
      const now = state.get("station");
      const next = now < span[0] || now > span[1] ? span[0] : now + 1;
      state.set({ station: next < span[1] ? next : -1 });
      return false;
    }
    this.stop();
    if (fills) {
      this.fill(fills);
      return false;
    }
    if (!stage.shown?.range) state.set({ place: "" });
    this.byItself = byItself;
    const [[from, to], pace] = [range, range[0] < 1 ? speed : speed / 2]; // a part goes slower
    if (!(await this.sweep(from, to, pace, byItself ? stage.drop() : 0))) return false;
    stage.showDepth(Infinity);
    state.set({ station: -1 });
    return true;
  }

  /**
   * The pass from one depth to another.
   * @param {number} from
   * @param {number} to
   * @param {number} [speed]
   * @param {number} [after]  milliseconds
   * @returns {Promise<boolean>}  false: it was stopped
   */
  sweep(from, to, speed = 1, after = 0) {
    const { stage } = this;
    const times = timetable(this.nLayer);
    this.name("stop");
    this.element.classList.add("plays"); // what comes of it is not told yet
    return new Promise((done) => {
      this.end = () => done(false);
      this.began = performance.now();
      const start = this.began + after - times.when(from) / speed;
      let follows = !this.byItself; // unless the reader scrolls
      const leave = () => (follows = false);
      for (const touch of TOUCHES) addEventListener(touch, leave, { passive: true, once: true });
      const tick = () => {
        if (!this.began) return;
        if (!stage.element.isConnected) return this.stop();
        const elapsed = Math.max(times.when(from), (performance.now() - start) * speed);
        const depth = Math.min(to, times.at(elapsed));
        const waits = performance.now() < this.began + after;
        const leg = depth < to && !waits ? times.leg(elapsed) : null;
        stage.showDepth(depth, leg && { speed: leg.speed * speed, to: Math.min(to, leg.to) });
        this.tell(depth);
        if (follows) stage.follow(depth, this.covered);
        if (depth < to) next(tick);
        else {
          done(true);
          this.stop();
        }
      };
      const next = (/** @type {() => void} */ tick) => {
        if (stage.shown?.vertical) this.frame = requestAnimationFrame(tick);
        else this.timer = Number(setTimeout(tick, TICK));
      };
      tick();
    });
  }

  /**
   * What happens at a depth: below the picture, at the edge of what has happened, on a phone below
   * the screen.
   * @param {number} depth
   */
  tell(depth) {
    const { way, slider, stage } = this;
    const at = Math.max(0, this.reached(depth));
    slider.value = String(at);
    this.write(way[at]);
    const [where, verb] = happens(depth, this.nLayer);
    const label = depth === Infinity ? "" : `${where}${verb}`;
    if (stage.veil.dataset.says === label) return;
    stage.light(label);
    if (label && verb === "choose") stage.grow();
    if (!label) return this.says.replaceChildren(...this.answer);
    this.caption.data = `${label}: ${TOLD[verb]}`;
    if (!this.caption.isConnected) this.says.replaceChildren(this.caption);
  }

  /** @param {import("./way.mjs").Station} station */
  write({ code, path, chapter, depth }) {
    if (this.line.dataset.at === path + code) return;
    this.line.dataset.at = path + code;
    const [where, verb] = happens(depth, this.nLayer);
    const [href, name] = [this.chapters[chapter - 1], `chapter ${chapter}`];
    const of = ` ${path.replace("transformer.", "")}, `;
    [`${where}${verb}`, `: ${TOLD[verb]}. `, code, of, name].forEach((text, i) => {
      if (this.told[i].data !== text) this.told[i].data = text;
    });
    if (href && this.link.getAttribute("href") !== href) this.link.href = href;
  }

  /**
   * One output of a matrix after the other, or one step of a head; one at a time for those who want
   * nothing to move.
   * @param {NonNullable<import("./scenes.mjs").Scene["fills"]>} fills
   */
  fill({ count, show, ends, each = Math.min(8000 / count, 160) }) {
    if (still()) {
      this.nth = this.nth + 1 < count ? this.nth + 1 : -1;
      return show(this.nth);
    }
    this.name("stop");
    this.began = performance.now();
    this.end = () => show(-1);
    for (const one of this.stage.svg.getAnimations({ subtree: true })) {
      if (!(one instanceof CSSAnimation)) continue; // the camera's
      one.cancel();
      one.play(); // again, where the first step is shown already
    }
    const tick = (/** @type {number} */ now) => {
      if (!this.began) return;
      const elapsed = Math.max(0, now - this.began);
      const nth = ends?.filter((end) => end < elapsed).length ?? Math.floor(elapsed / each);
      if (nth >= count || !this.stage.shown?.fills) return this.stop();
      show(nth);
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /** The first head that a reader opens shows what it does. */
  watch() {
    if (!this.stage.shown?.fills?.ends || this.watched || still()) return;
    this.watched = true;
    setTimeout(() => this.stage.shown?.fills?.ends && this.play(), COMES);
  }

  /**
   * What the state says, for a pass through so many blocks.
   * @param {number} nLayer
   * @param {boolean} llama
   * @returns {string}  the tensor at which it is
   */
  set(nLayer, llama) {
    if (nLayer !== this.nLayer || llama !== this.llama) this.way = wayThrough(nLayer, llama);
    this.llama = llama;
    this.nLayer = nLayer;
    const { way, slider } = this;
    const [first, end] = this.span;
    const nth = this.state.get("station");
    const at = nth < first || nth > end ? end : nth;
    [slider.min, slider.max] = [first, end].map(String);
    const { along, fills } = this.stage.shown ?? {};
    for (const button of this.buttons) button.hidden = !along && !fills; // nothing is to be played
    slider.hidden = !along;
    this.turn.textContent = this.state.get("space") ? "flat" : "3D";
    this.turn.hidden = !along;
    if (!this.began || fills) this.says.replaceChildren(...this.answer);
    if (!this.began) {
      this.stage.showDepth(at < end ? way[at].depth : Infinity);
      slider.value = String(at);
    }
    const shown = this.stage.shown?.path;
    const station = way.find((one) => one.path === shown) ?? way[at];
    const code = this.stage.shown?.code || station.code;
    if (!this.began) this.write({ ...station, code });
    const leads = nth < 0 ? this.state.get("look") : way[at].depth;
    if (this.leads && leads) this.stage.follow(leads, 0, "instant");
    this.leads = false;
    this.arrival?.();
    this.arrival = null;
    const { path } = station;
    return path;
  }
}
