// A pass that plays: the five verbs in their time, and a slider over all stations.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { wayThrough } from "./way.mjs";

/** @import { State } from "../exhibits/state.mjs" */
/** @import { Stage } from "./stage.mjs" */

const SIGNS = ["pointermove", "touchstart", "scroll", "keydown"]; // that somebody is there
const QUICK = 1.8;

export class Player {
  /**
   * @param {State} state  `station`: how far the pass has come, -1 for the whole way
   * @param {Stage} stage
   * @param {string[]} [chapters]  their addresses
   */
  constructor(state, stage, chapters = []) {
    this.chapters = chapters;
    this.state = state;
    this.stage = stage;
    this.way = wayThrough(1);
    this.nLayer = 1;
    this.began = 0; // milliseconds; 0: it rests
    this.frame = 0;
    this.byItself = false; // nobody asked for it
    this.end = () => {}; // of what is played
    this.nth = -1; // output of a matrix
    this.button = make(
      "button",
      {
        type: "button",
        class: "flow-play",
        onclick: () => (this.began && !this.byItself ? this.stop() : this.play()),
      },
      "play",
    );
    this.slider = make("input", {
      type: "range",
      min: "0",
      "aria-label": "how far the pass has come",
      oninput: () => {
        this.stop();
        const { value, max } = this.slider;
        state.set({ station: value === max ? -1 : Number(value) });
      },
    });
    this.line = make("p", { class: "soft flow-line" });
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.began = 0;
    this.byItself = false;
    this.button.textContent = "play";
    const { end } = this;
    this.end = () => {};
    end();
  }

  /**
   * By itself once a visit, and quicker, when the reader first moves: a page at rest stays at rest.
   */
  playOnce() {
    const visit = "gpt2-edu played";
    const begin = () => {
      for (const sign of SIGNS) removeEventListener(sign, begin);
      if (this.began || still() || !this.stage.element.isConnected) return;
      if (this.state.get("place") || this.state.get("station") >= 0) return;
      try {
        if (sessionStorage[visit]) return;
        sessionStorage[visit] = "1";
      } catch {
        return; // without storage it would play on every page
      }
      this.play(QUICK);
      this.byItself = true;
    };
    for (const sign of SIGNS) addEventListener(sign, begin, { passive: true });
  }

  /**
   * All of it; one station at a time for those who want nothing to move.
   * @param {number} [speed]
   */
  play(speed = 1) {
    const { state, stage, way } = this;
    if (still() && !stage.shown?.fills) {
      const now = state.get("station");
      state.set({ station: now === way.length - 2 ? -1 : now + 1 });
      return;
    }
    this.stop();
    const fills = stage.shown?.fills;
    if (fills) return this.fill(fills);
    if (state.get("place")) state.set({ place: "" });
    const times = timetable(this.nLayer);
    this.button.textContent = "stop";
    this.began = performance.now();
    const tick = (/** @type {number} */ now) => {
      if (!this.began || !stage.element.isConnected) return;
      const depth = times.at((now - this.began) * speed);
      stage.showDepth(depth);
      this.slider.value = String(Math.max(0, way.filter((one) => one.depth <= depth).length - 1));
      if (Number.isFinite(depth)) this.frame = requestAnimationFrame(tick);
      else {
        this.stop();
        state.set({ station: -1 });
      }
    };
    this.frame = requestAnimationFrame(tick);
  }

  /**
   * One output of a matrix after the other; one at a time for those who want nothing to move.
   * @param {{count: number, show: (nth: number) => void}} fills
   */
  fill({ count, show }) {
    if (still()) {
      this.nth = this.nth + 1 < count ? this.nth + 1 : -1;
      return show(this.nth);
    }
    this.button.textContent = "stop";
    this.began = performance.now();
    this.end = () => show(-1);
    const takes = Math.min(8000, 160 * count);
    const tick = (/** @type {number} */ now) => {
      if (!this.began) return;
      const nth = Math.max(0, Math.floor(((now - this.began) / takes) * count));
      if (nth >= count || !this.stage.element.isConnected) return this.stop();
      show(nth);
      this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  /**
   * What the state says, for a pass through so many blocks.
   * @param {number} nLayer
   * @param {boolean} whole  whether the picture is that of the whole pass
   * @returns {string}  the tensor at which it is
   */
  set(nLayer, whole) {
    if (nLayer !== this.nLayer) this.way = wayThrough(nLayer);
    this.nLayer = nLayer;
    const { way, slider } = this;
    const end = way.length - 1;
    const nth = this.state.get("station");
    const at = nth < 0 ? end : Math.min(nth, end);
    if (!this.began) this.stage.showDepth(whole && at < end ? way[at].depth : Infinity);
    slider.max = String(end);
    slider.value = String(at);
    const shown = this.stage.shown?.path;
    const { code, path, chapter } = way.find((one) => one.path === shown) ?? way[at];
    const [href, name] = [this.chapters[chapter - 1], `chapter ${chapter}`];
    const where = href ? make("a", { href }, name) : name;
    this.line.replaceChildren(
      make("code", {}, code),
      ` ${path.replace("transformer.", "")}, `,
      where,
    );
    return path;
  }
}

/** The five verbs: milliseconds, and how far the pass is at their end. Within a block, 0 to 1. */
const LOOK_UP = 700;
const BLOCK = [
  { verb: "copy", to: 0.08, takes: 300 },
  { verb: "gather", to: 0.45, takes: 900 },
  { verb: "write", to: 0.55, takes: 400 },
  { verb: "think", to: 0.9, takes: 400 },
  { verb: "write", to: 1, takes: 300 },
];
const CHOOSE = 700;
const LONGEST = 9000; // milliseconds of a pass, however many blocks

/**
 * How far a pass has come after a time: depth by milliseconds.
 * @param {number} nLayer
 */
export function timetable(nLayer) {
  const ends = [{ time: LOOK_UP, depth: 1 }];
  for (let n = 0; n < nLayer; n++) {
    for (const { to, takes } of BLOCK) {
      ends.push({ time: ends[ends.length - 1].time + takes, depth: n + 1 + to });
    }
  }
  ends.push({ time: ends[ends.length - 1].time + CHOOSE, depth: nLayer + 2 });
  const { time: all } = ends[ends.length - 1];
  const pace = Math.max(1, all / LONGEST);
  return {
    length: all / pace,
    /** @param {number} elapsed */
    at(elapsed) {
      const time = elapsed * pace;
      const i = ends.findIndex((end) => time < end.time);
      if (i < 0) return Infinity;
      const before = ends[i - 1] ?? { time: 0, depth: 0 };
      const share = (time - before.time) / (ends[i].time - before.time);
      return before.depth + share * (ends[i].depth - before.depth);
    },
  };
}
