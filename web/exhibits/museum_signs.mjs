// What betrays a bug: a stored curve of the loss, and a list of signs that light up.

import { draw, fixed, make } from "./dom.mjs";
import { LOOK_UP, move } from "./motion.mjs";

/**
 * A bug and the stored run of the museum's small model with it. `losses` are of training, `use` of
 * the same sentences after it; of a hundred texts `correct` are sentences, of `kinds` kinds. A bug
 * that stops the program has `error` instead.
 * @typedef {{name: string, right: string, wrong: string, symptom: string,
 *   losses?: number[], use?: number[], correct?: number, kinds?: number, text?: string,
 *   error?: string}} Case
 */
/**
 * What the page's model shows with the bug: the most weight above the diagonal, the sum of a row
 * that is farthest from 1, how far logits move when the pass is repeated and when a later token is
 * changed, how far they are from the right model's; the numbers it learns.
 * @typedef {{ahead: number, sum: number, again: number, past: number, off: number,
 *   parameters: number, expected: number}} Found
 */
/** @typedef {{name: string, live: boolean, value: string, lit: boolean}} Sign */

const [WIDE, HIGH, LEFT, LOW] = [320, 130, 26, 112]; // units; where the axes stand
const GOES_ON = [{ scale: 0.4, opacity: 0.2 }, { scale: 1.35, offset: 0.6 }, { scale: 1 }]; // a lamp
const NOISE = 1e-4; // of logits; what is larger is no rounding

/**
 * @param {Case} one
 * @param {{floor: number}} settings
 * @param {Found} found
 * @returns {Sign[]}
 */
export function signs({ losses = [], use = [], correct = 0, kinds = 0, error }, { floor }, found) {
  /** @type {(name: string, live: boolean, lit: boolean, value: string) => Sign} */
  const sign = (name, live, lit, value) => ({ name, live, lit, value });
  const [end, least, most] = [losses.at(-1) ?? NaN, Math.min(...use), Math.max(...use)];
  const f = (/** @type {number} */ loss) => fixed(loss, 2);
  const stored = error
    ? []
    : [
        sign("loss below the floor", false, least < 0.95 * floor, `${f(least)}, floor ${f(floor)}`),
        sign(
          "training loss ends too high",
          false,
          end > 1.1 * floor,
          `${f(end)}, floor ${f(floor)}`,
        ),
        sign("worse in use", false, most - end > 0.015, `${f(end)}, then ${f(most)}`),
        sign("texts are wrong", false, correct < 90, `${correct} of 100 right`),
        sign("texts lack variety", false, kinds < 20, `${kinds} of 24 kinds`),
      ];
  const { ahead, sum, again, past, off, parameters, expected } = found;
  const count = parameters.toLocaleString("en");
  return [
    sign("an error", true, Boolean(error), error ? "raised" : "none"),
    ...stored,
    sign("colour above the diagonal", true, ahead > NOISE, fixed(ahead, 2)),
    sign("a row that does not sum to 1", true, Math.abs(sum - 1) > 1e-3, fixed(sum, 2)),
    sign("two passes differ", true, again > NOISE, `logits ±${fixed(again, 2)}`),
    sign("a later token changes the past", true, past > NOISE, `logits ±${fixed(past, 2)}`),
    sign("logits differ from the correct ones", true, off > NOISE, `by ${fixed(off, 3)}`),
    sign("parameters", true, parameters !== expected, count),
  ];
}

export class Signs {
  constructor() {
    this.element = make("ul", { class: "signs", "aria-label": "signs" });
    /** @type {Set<string> | null} */
    this.on = null; // the lamps that are lit
  }

  /** @param {Sign[]} all */
  set(all) {
    const items = all.map(({ name, live, value, lit }) =>
      make(
        "li",
        { class: lit ? "lit" : "" },
        make("b", { "aria-hidden": "true" }),
        make("span", {}, name, make("small", {}, live ? " live" : " stored")),
        make("i", {}, value),
        make("span", { class: "unseen" }, lit ? "lit" : "not lit"),
      ),
    );
    this.element.replaceChildren(...items);
    const before = this.on;
    this.on = new Set(all.filter(({ lit }) => lit).map(({ name }) => name));
    const fresh = items.filter((_, i) => before && all[i].lit && !before.has(all[i].name));
    fresh.forEach(({ children: [lamp] }, i) => move(lamp, GOES_ON, { delay: (i * LOOK_UP) / 4 }));
  }
}

export class Curve {
  constructor() {
    this.svg = draw("svg", { class: "curve", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
    this.svg.setAttribute("aria-label", "the loss");
    this.title = make("p", { class: "soft" });
    this.element = make("div", {}, this.title, this.svg);
  }

  /**
   * @param {Case} one
   * @param {Case} healthy
   * @param {{floor: number, every: number}} settings  steps between two losses of training
   */
  set(one, healthy, { floor, every }) {
    const { losses = [], use = [], error } = one;
    const [n, own] = [healthy.losses?.length ?? 0, [...losses, ...use]];
    const top = Math.max(1.2, ...use.map((loss) => 1.3 * loss));
    const all = n + (healthy.use?.length ?? 0);
    const x = (/** @type {number} */ i) => LEFT + ((WIDE - LEFT - 4) * i) / Math.max(1, all - 1);
    const y = (/** @type {number} */ loss) => LOW - (LOW - 8) * Math.min(1, loss / top);
    const line = (/** @type {number[]} */ values, /** @type {string} */ role) =>
      draw("polyline", {
        class: role,
        points: values.map((loss, i) => `${x(i).toFixed(1)},${y(loss).toFixed(1)}`).join(" "),
      });
    /** @type {(text: string, left: number, high: number, anchor?: string) => SVGElement} */
    const word = (text, left, high, anchor = "start") =>
      draw("text", { x: left, y: high, "text-anchor": anchor }, text);
    const [stroke, ground] = [x(n - 0.5), y(floor)];
    this.svg.replaceChildren(
      draw("path", { class: "axes", d: `M${LEFT} 4V${LOW}H${WIDE - 4}M${stroke} 4V${LOW}` }),
      draw("path", { class: "ground", d: `M${LEFT} ${ground}H${WIDE - 4}` }),
      line([...(healthy.losses ?? []), ...(healthy.use ?? [])], "healthy"),
      line(own, "now"),
      word(fixed(top, 1), LEFT - 3, 12, "end"),
      word("0", LEFT - 3, LOW, "end"),
      word(`floor ${fixed(floor, 2)}`, LEFT + 60, ground - 4),
      word(`${n * every} steps of training`, LEFT, HIGH - 4),
      word("in use", WIDE - 4, HIGH - 4, "end"),
    );
    const said = `from ${fixed(own[0] ?? 0, 2)} to ${fixed(own.at(-1) ?? 0, 2)}`;
    this.svg.setAttribute("aria-label", error ? "no curve: an error" : `the loss goes ${said}`);
    this.title.textContent = error
      ? "There is no stored curve, because the first step raised an error."
      : "The small model's stored loss with the bug; the dashed line is without it.";
  }
}
