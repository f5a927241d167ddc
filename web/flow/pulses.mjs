// What runs along ribbons and lanes: as far as a pass that plays has come, and at rest in waves, as if
// the model went on by itself. The browser moves small elements: nothing is painted for it.

import { make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { nextTask } from "../tasks.mjs";

/** `where` it is at a depth, px; `strength` from 0 to 1.
 * @typedef {{from: number, to: number, where: (depth: number) => [number, number],
 *   strength: number}} Bead */

const BEGIN = 0.5; // depth at which a wave begins
const UNIT = 1000; // milliseconds of an animation for a block
const FRAMES = 16; // of a bead's way
const PACE = 1.15; // blocks a second at rest
const WAVE = 8; // seconds of a wave at most, however many blocks
const PAUSE = 2.5; // blocks' time between two waves
const AFTER = 4000; // milliseconds of peace after a reader's touch
const TOGETHER = 8; // beads that are made in one task
const TOUCHES = ["pointerdown", "keydown", "wheel", "input"];

export class Pulses {
  /** @param {HTMLElement} frame */
  constructor(frame) {
    this.element = make("div", { class: "flow-pulses", "aria-hidden": "true" });
    frame.append(this.element);
    /** @type {Animation[]} */
    this.moves = [];
    /** @type {Set<Animation>} */
    this.live = new Set(); // that are to be seen
    this.all = 1; // blocks' time of a wave, and of the pause behind it
    this.depth = Infinity; // of the pass; Infinity: it rests
    this.pace = PACE;
    this.runs = false; // at rest
    /** @type {Bead[]} */
    this.beads = [];
    /** @type {Bead[]?} */
    this.making = null; // at rest
    this.seen = false;
    this.busy = 0; // a timer, while the reader works
    new IntersectionObserver(([{ isIntersecting }]) => {
      this.seen = isIntersecting;
      this.set(this.depth);
    }).observe(frame);
    const touched = () => {
      if (!frame.isConnected || !this.beads.length) return;
      clearTimeout(this.busy);
      this.busy = Number(setTimeout(() => ((this.busy = 0), this.set(this.depth)), AFTER));
      this.set(this.depth);
    };
    for (const touch of TOUCHES) addEventListener(touch, touched, { passive: true });
  }

  /**
   * @param {Bead[]} beads
   * @param {number} nLayer
   */
  fill(beads, nLayer) {
    this.pace = Math.max(PACE, (nLayer + 1) / WAVE);
    this.runs = false;
    this.beads = beads;
    this.all = nLayer + 1 + PAUSE;
    for (const move of this.moves) move.cancel(); // else they go on without their elements
    this.element.replaceChildren();
    [this.moves, this.making] = [[], null];
    this.live.clear();
    this.set(this.depth);
  }

  /** At rest they come in short tasks of their own: what was drawn is painted before. */
  async wait() {
    const { beads } = this;
    this.runs = false;
    if (this.making === beads) return;
    this.making = beads;
    /** @type {Animation[]} */
    const moves = [];
    while (moves.length < beads.length) {
      await nextTask();
      if (this.beads !== beads || this.moves.length) return;
      moves.push(
        ...beads.slice(moves.length, moves.length + TOGETHER).map((one) => this.bead(one)),
      );
    }
    this.put(moves);
    this.set(this.depth);
  }

  /** @param {Animation[]} moves  of all beads */
  put(moves) {
    this.moves = moves;
    const ones = moves.map(({ effect }) => /** @type {KeyframeEffect} */ (effect).target);
    this.element.append(.../** @type {Element[]} */ (ones));
  }

  /** What moves one along its way. @param {Bead} bead */
  bead({ from, to, where, strength }) {
    const { all } = this;
    const one = make("i", { style: `opacity:0;--strength:${strength}` });
    const way = Array.from({ length: FRAMES + 1 }, (_, i) => {
      const depth = from + (i / FRAMES) * (to - from);
      const [x, y] = where(depth);
      const [a, b] = where(Math.min(to, depth + 0.01));
      const turn = i < FRAMES ? Math.atan2(b - y, a - x) : null;
      return { offset: (depth - BEGIN) / all, x, y, turn };
    });
    way[FRAMES].turn = way[FRAMES - 1].turn;
    const frames = way.map(({ offset, x, y, turn }, i) => ({
      offset,
      transform: `translate(${x.toFixed(1)}px,${y.toFixed(1)}px) rotate(${turn?.toFixed(3)}rad)`,
      opacity: i && i < FRAMES ? strength : 0,
    }));
    const outside = [
      { ...frames[0], offset: 0 },
      { ...frames[FRAMES], offset: 1 },
    ];
    const move = one.animate([outside[0], ...frames, outside[1]], {
      duration: all * UNIT,
      iterations: Infinity,
    });
    move.pause();
    return move;
  }

  /**
   * @param {number} depth  that the pass has reached; Infinity: it rests
   * @param {{speed: number, to: number} | null} [leg]  how it goes on by itself
   */
  set(depth, leg = null) {
    const rests = depth === Infinity;
    const runs = rests && this.seen && !this.busy;
    const went = this.runs;
    [this.depth, this.runs] = [depth, runs];
    this.element.hidden = rests && !runs;
    this.element.dataset.rests = String(rests);
    if ((runs && went) || still()) return;
    const goes = this.beads.map(({ from, to }) => runs || (leg && from < leg.to && to > depth));
    const seen = this.beads.map(({ from, to }, i) => goes[i] || (from < depth && depth < to));
    if (!this.moves.length && seen.some(Boolean)) {
      if (rests) return this.wait();
      this.put(this.beads.map((one) => this.bead(one)));
    }
    const speed = rests ? this.pace : (leg?.speed ?? 0);
    this.moves.forEach((move, i) => {
      if (!seen[i] && !this.live.has(move)) return; // the others are left alone: there are many
      this.live[seen[i] ? "add" : "delete"](move);
      move.currentTime = rests ? 0 : Math.max(0, depth - BEGIN) * UNIT;
      if (goes[i]) {
        move.playbackRate = (speed * UNIT) / 1000;
        move.play();
      } else move.pause();
    });
  }
}
