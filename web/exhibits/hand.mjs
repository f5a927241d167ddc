// "Do it for me": a hand that does, for all to see, what the sentence above an exhibit asks for. A
// reader who takes over stops it.

import { draw } from "./dom.mjs";
import { COPY, LOOK_UP, WRITE, still } from "./motion.mjs";

/** @import { Strip } from "./strip.mjs" */
/** @typedef {(hand: Hand) => Promise<void>} Act */

const ARROW = "M2 1v19l5-5 3 7 3-1-3-7h7z";
const PAUSE = 250; // milliseconds after each act
const TAKEN = "the reader has taken over";

export class Hand {
  /** @param {HTMLElement} element  the exhibit */
  constructor(element) {
    this.element = element;
    this.picture = draw("svg", { class: "hand", viewBox: "0 0 20 24" });
    this.picture.ariaHidden = "true";
    this.picture.append(draw("path", { d: ARROW }));
    this.taken = false;
  }

  /** @param {Act} act */
  async perform(act) {
    const take = (/** @type {Event} */ event) => (this.taken ||= event.isTrusted);
    const signs = ["pointerdown", "keydown"];
    for (const sign of signs) this.element.addEventListener(sign, take, true);
    this.element.append(this.picture);
    this.point(this.element.querySelector(".acts") ?? this.element, 0);
    try {
      await act(this);
      await this.pause();
    } catch (error) {
      if (/** @type {Error} */ (error).message !== TAKEN) throw error;
    } finally {
      this.picture.remove();
      for (const sign of signs) this.element.removeEventListener(sign, take, true);
    }
  }

  /** Until the exhibit has answered, and a little longer. */
  async pause(ms = PAUSE) {
    await new Promise((done) => setTimeout(done, still() ? 0 : ms));
    while (this.element.dataset.state === "busy" && !this.taken) {
      await new Promise((done) => setTimeout(done, 20));
    }
    if (this.taken || !this.element.isConnected) throw new Error(TAKEN);
  }

  /**
   * The hand goes to a place of something.
   * @param {Element | null | undefined} target
   * @param {number} [x]  from 0, its left end, to 1
   */
  async to(target, x = 0.5) {
    if (!target) throw new Error(TAKEN); // another model lacks it
    const far = target.getBoundingClientRect();
    if (far.top < 80 || far.bottom > innerHeight) {
      target.scrollIntoView({ block: "center", behavior: still() ? "auto" : "smooth" });
      await this.pause(still() ? 0 : WRITE);
    }
    this.point(target, LOOK_UP, x);
    await this.pause(LOOK_UP);
  }

  /**
   * @param {Element} target
   * @param {number} ms  in which it goes there
   * @param {number} [x]
   */
  point(target, ms, x = 0.5) {
    const [box, own] = [target, this.element].map((one) => one.getBoundingClientRect());
    const [left, top] = [box.left - own.left, box.top - own.top];
    const { style } = this.picture;
    style.transition = still() ? "none" : `translate ${ms}ms ease-in-out`;
    style.translate = `${left + x * box.width}px ${top + box.height / 2}px`;
  }

  /**
   * The nth of the parts of an exhibit.
   * @param {string} selector
   * @param {number} [n]
   */
  find(selector, n = 0) {
    return /** @type {HTMLElement | undefined} */ (this.element.querySelectorAll(selector)[n]);
  }

  /** @param {HTMLElement | null | undefined} target */
  async press(target) {
    await this.to(target);
    this.picture.animate([{ scale: 1 }, { scale: 0.7 }, { scale: 1 }], still() ? 0 : COPY);
    target?.click();
    await this.pause();
  }

  /**
   * Step by step from 0 to 1.
   * @param {number} ms
   * @param {(share: number) => void} step
   */
  async tween(ms, step) {
    const began = performance.now();
    for (let share = still() ? 1 : 0; ; share = Math.min(1, (performance.now() - began) / ms)) {
      step(share * share * (3 - 2 * share));
      if (share === 1) break;
      await this.pause(16);
    }
    await this.pause();
  }

  /**
   * @param {string} label  of a slider
   * @param {number} value  as the slider has it
   * @param {number} [ms]
   */
  async slide(label, value, ms = 2 * LOOK_UP) {
    const range = /** @type {HTMLInputElement} */ (this.find(`[aria-label="${label}"]`));
    await this.to(range, 0);
    const { valueAsNumber: from, min, max } = range;
    await this.tween(ms, (share) => {
      const before = range.value;
      range.valueAsNumber = from + share * (value - from);
      const at = (range.valueAsNumber - Number(min)) / (Number(max) - Number(min));
      this.point(range, 0, at);
      if (range.value !== before) range.dispatchEvent(new Event("input", { bubbles: true }));
    });
  }

  /**
   * @param {Strip} strip
   * @param {number} from  which of its pieces
   * @param {number} to
   */
  async carry(strip, from, to) {
    await this.to(strip.buttons[from]);
    this.point(strip.buttons[to] ?? strip.element, COPY);
    strip.move(from, to);
    await this.pause(WRITE);
  }
}
