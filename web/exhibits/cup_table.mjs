// Five cups on a table, which a reader swaps: by dragging one to another, or by choosing two.

import { draw, make } from "./dom.mjs";
import { rove } from "./keys.mjs";
import { WRITE, move } from "./motion.mjs";
import { CUPS } from "./shells.mjs";

const CUP = "M14 8h32l8 62H6z";
const FAR = 6; // pixels from which on a press is a drag
const HIGH = [-2.5, 1]; // rem: of the two that change places, one passes behind the other

export class CupTable {
  /** @param {(swap: string) => void} onSwap  "AD" */
  constructor(onSwap) {
    this.onSwap = onSwap;
    this.held = ""; // the cup that was chosen first
    this.ball = "";
    this.buttons = CUPS.map((name) => this.cup(name));
    const items = this.buttons.map((button, i) =>
      make("li", {}, button, make("span", { "aria-hidden": "true" }, CUPS[i])),
    );
    this.list = make("ol", { class: "cups", "aria-label": "cups" }, ...items);
    rove(this.list);
    this.buttons.forEach((one, i) => (one.tabIndex = i ? -1 : 0));
  }

  /**
   * @param {string} ball  the cup that it is under; "": it is not shown
   */
  set(ball) {
    this.buttons.forEach((button, i) => {
      const [here, held] = [ball, this.held].map((name) => name === CUPS[i]);
      button.classList.toggle("ball", here);
      button.setAttribute("aria-pressed", String(held));
      button.setAttribute("aria-label", `cup ${CUPS[i]}${here ? ", the ball is under it" : ""}`);
    });
    this.ball = ball;
  }

  /** Two cups come from each other's places. @param {string} swap */
  change(swap) {
    const two = Array.from(swap, (name) => this.buttons[CUPS.indexOf(name)]);
    const [a, b] = two.map((one) => one.getBoundingClientRect().left);
    [b - a, a - b].forEach((far, i) => {
      const middle = { translate: `${far / 2}px ${HIGH[i]}rem` };
      const frames = [{ translate: `${far}px 0` }, middle, { translate: "0 0" }];
      move(two[i], frames, { duration: WRITE, easing: "ease-in-out" });
    });
  }

  /** @param {string} cup  one that was clicked */
  pick(cup) {
    const first = this.held;
    this.held = first ? "" : cup;
    this.set(this.ball);
    this.swap(first, cup);
  }

  /** @param {string} a @param {string} b */
  swap(a, b) {
    if (a && b && a !== b) this.onSwap([a, b].sort().join(""));
  }

  /** @param {string} name */
  cup(name) {
    const drawing = draw("svg", { viewBox: "0 0 60 82" });
    drawing.ariaHidden = "true";
    drawing.append(draw("circle", { cx: 30, cy: 68, r: 9 }), draw("path", { d: CUP }));
    let dragged = false;
    const onclick = () => {
      if (!dragged) this.pick(name);
      dragged = false;
    };
    const button = make("button", { onclick }, drawing);
    button.addEventListener("pointerdown", (down) => {
      if (down.button !== 0) return;
      dragged = false;
      button.setPointerCapture(down.pointerId);
      const shift = (/** @type {PointerEvent} */ event) => {
        const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
        dragged ||= Math.hypot(x, y) > FAR;
        if (dragged) button.style.translate = `${x}px ${y}px`;
      };
      const end = (/** @type {PointerEvent} */ event) => {
        button.removeEventListener("pointermove", shift);
        button.removeEventListener("pointerup", end);
        button.removeEventListener("pointercancel", end);
        button.style.translate = "";
        if (!dragged || event.type !== "pointerup") return;
        const far = this.buttons.map((one) => {
          const { left, width } = one.getBoundingClientRect();
          return Math.abs(left + width / 2 - event.clientX);
        });
        this.held = "";
        this.swap(name, CUPS[far.indexOf(Math.min(...far))]);
      };
      button.addEventListener("pointermove", shift);
      button.addEventListener("pointerup", end);
      button.addEventListener("pointercancel", end);
    });
    return button;
  }
}
