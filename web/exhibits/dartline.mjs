// The probabilities end to end on a line from 0 to 1, and the dart that a reader throws at it.

import { make } from "./dom.mjs";
import { GATHER, LOOK_UP, move } from "./motion.mjs";

const FALL = [
  { opacity: 0, translate: "0 -2.5rem" },
  { opacity: 1, translate: "0 0" },
];

export class DartLine {
  /**
   * @param {number} n  pieces; the last is of all other tokens
   * @param {(dart: number) => void} onThrow
   */
  constructor(n, onThrow) {
    this.onThrow = onThrow;
    this.dart = make("span", { class: "dart", "aria-hidden": "true" }, "▼");
    this.pieces = Array.from({ length: n }, () => make("span", { class: "piece" }));
    this.track = make("div", { class: "track", "aria-hidden": "true" }, ...this.pieces);
    this.rain = make("div", { class: "rain", "aria-hidden": "true" });
    this.element = make(
      "div",
      {
        class: "dartline",
        tabindex: "0",
        role: "slider",
        "aria-label": "where the dart lands",
        "aria-valuemin": "0",
        "aria-valuemax": "1",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
        onpointerdown: (/** @type {PointerEvent} */ event) => {
          if (event.button !== 0) return;
          this.element.setPointerCapture(event.pointerId);
          this.land(event);
        },
        onpointermove: (/** @type {PointerEvent} */ event) => {
          if (this.element.hasPointerCapture(event.pointerId)) this.land(event);
        },
      },
      this.rain,
      this.dart,
      this.track,
      make(
        "div",
        { class: "ends soft", "aria-hidden": "true" },
        make("span", {}, "0"),
        make("span", {}, "throw the dart: click, or drag it, or use the arrow keys"),
        make("span", {}, "1"),
      ),
    );
  }

  /** @param {PointerEvent} event */
  land(event) {
    const { left, width } = this.track.getBoundingClientRect();
    this.throw((event.clientX - left) / width);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = Number(this.element.getAttribute("aria-valuenow"));
    const to = /** @type {Record<string, number>} */ ({
      ArrowLeft: at - 0.01,
      ArrowDown: at - 0.01,
      ArrowRight: at + 0.01,
      ArrowUp: at + 0.01,
      PageDown: at - 0.1,
      PageUp: at + 0.1,
      Home: 0,
      End: 1,
    })[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.throw(to);
  }

  /** @param {number} dart */
  throw(dart) {
    this.onThrow(Math.min(1, Math.max(0, Math.round(dart * 1000) / 1000)));
  }

  /**
   * Darts that were drawn, the newest of which fall now.
   * @param {number[]} darts
   * @param {number} fall
   */
  drop(darts, fall) {
    const drops = darts.map((dart, i) => {
      const drop = make("i");
      drop.style.left = `${100 * dart}%`;
      const nth = i - darts.length + fall;
      const options = { duration: LOOK_UP, delay: (nth / fall) * GATHER };
      queueMicrotask(() => nth >= 0 && move(drop, FALL, options));
      return drop;
    });
    this.rain.replaceChildren(...drops);
  }

  /**
   * @param {{name: string, p: number, mark?: string}[]} pieces
   * @param {number} chosen
   * @param {number} dart
   */
  set(pieces, chosen, dart) {
    pieces.forEach(({ name, p, mark = "" }, i) => {
      this.pieces[i].className = i < pieces.length - 1 ? `piece ${mark}` : "piece rest";
      this.pieces[i].style.width = `${100 * p}%`;
      this.pieces[i].textContent = p > 0.05 ? name : "";
      this.pieces[i].classList.toggle("hit", i === chosen);
    });
    this.dart.style.left = `${100 * dart}%`;
    this.element.setAttribute("aria-valuenow", dart.toFixed(3));
    this.element.setAttribute("aria-valuetext", `${dart.toFixed(3)}: ${pieces[chosen].name}`);
  }
}
