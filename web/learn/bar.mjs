// The bar above the picture: train, pause, stop; how far the run is; the learning rate, which may be
// dragged while it runs.

import { make } from "../exhibits/dom.mjs";
import { clock, count, lossText, rateText } from "./words.mjs";

/** @import { Phase, Side } from "./drive.mjs" */

const [LEAST, MOST] = [-5, 0]; // exponents of 10
const HIGH = 0.05; // above it runs usually diverge

const NAMES = /** @type {Record<Phase, string>} */ ({
  none: "train",
  making: "prepares …",
  running: "pause",
  paused: "go on",
  stopped: "train again",
  diverged: "train again",
  done: "train again",
  failed: "train again",
});

export class Bar {
  /**
   * @param {{train: () => void, stop: () => void, rate: (lr: number) => void}} acts
   */
  constructor({ train, stop, rate }) {
    this.main = make("button", { class: "main", onclick: train });
    this.stop = make("button", { onclick: stop }, "stop");
    this.range = make("input", {
      type: "range",
      min: String(LEAST),
      max: String(MOST),
      step: "0.02",
      "aria-label": "learning rate",
      oninput: () => {
        this.lr = Number((10 ** this.range.valueAsNumber).toPrecision(2));
        this.write();
        rate(this.lr);
      },
    });
    this.number = make("output");
    this.now = make("small");
    this.warns = make("p", { class: "soft warns" });
    this.takes = make("p", { class: "soft takes" });
    this.lr = 6e-3;
    this.readings = ["step", "time", "loss", "tokens a second"].map((name) => {
      const value = make("b");
      const label = make("small", {}, name);
      return { value, label, element: make("span", {}, label, value) };
    });
    this.readings[2].element.classList.add("of-curve"); // has the circle at the curve's end
    this.progress = make("i");
    this.element = make(
      "div",
      { class: "run-bar", role: "group", "aria-label": "the run" },
      make("div", { class: "buttons" }, this.main, this.stop),
      make("div", { class: "readings" }, ...this.readings.map(({ element }) => element)),
      make("div", { class: "progress" }, this.progress),
      this.takes,
      make(
        "label",
        { class: "slider" },
        make("span", {}, "learning rate ", this.number, " ", this.now),
        this.range,
      ),
      this.warns,
    );
    this.write();
  }

  write() {
    this.range.value = String(Math.log10(this.lr));
    this.number.textContent = rateText(this.lr);
    this.range.setAttribute("aria-valuetext", rateText(this.lr));
    this.warns.textContent = this.lr > HIGH ? "At this rate runs usually diverge." : "";
  }

  /**
   * @param {Side} side
   * @param {string} takes  how long the run takes
   */
  set(side, takes) {
    const { state, reports, plan, step } = side;
    const last = reports.at(-1);
    const end = plan?.settings.steps ?? 0;
    this.takes.textContent = takes;
    this.main.textContent = NAMES[state];
    this.main.dataset.phase = state;
    this.main.toggleAttribute("disabled", state === "making");
    this.stop.hidden = !["making", "running", "paused"].includes(state);
    const values = last
      ? [count(step), clock(last.ms), lossText(last.loss), count(side.speed)]
      : ["0", "0:00", "–", "–"];
    this.readings.forEach(({ value }, i) => (value.textContent = values[i]));
    this.readings[0].label.textContent = end ? `step, of ${count(end)}` : "step";
    this.progress.style.setProperty("--share", String(end ? Math.min(1, step / end) : 0));
    const now = last && state === "running" ? rateText(last.lr) : "";
    this.now.textContent = now && now !== rateText(this.lr) ? `at most, now ${now}` : "";
    this.write();
  }
}
