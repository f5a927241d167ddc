// Names and lines over the stage, as elements: they stay while a picture follows the other.

import { draw, make } from "../exhibits/dom.mjs";

/** @import { Label, Measure } from "./labels.mjs" */

const PLAIN = "system-ui, sans-serif";
const FONTS = {
  // as in scale.css
  name: [`600 15px ${PLAIN}`, `13px ${PLAIN}`],
  many: [`13px ${PLAIN}`],
  plate: ["12px ui-monospace, Menlo, Consolas, monospace"],
};
const BESIDE = 16; // px beside a text, both sides together
const HEIGHTS = { name: 38, many: 20, plate: 20 };

/** @param {CanvasRenderingContext2D} context @returns {Measure} */
export function measured(context) {
  /** @type {Map<string, number>} */
  const known = new Map();
  const wide = (/** @type {string} */ text, /** @type {string} */ font) => {
    const key = font + text;
    if (!known.has(key)) {
      context.font = font;
      known.set(key, context.measureText(text).width);
    }
    return known.get(key) ?? 0;
  };
  return (text, more, kind) => {
    const of = /** @type {keyof typeof FONTS} */ (kind);
    const [font, second] = FONTS[of];
    const w = Math.max(wide(text, font), second ? wide(more, second) : 0);
    return [w + BESIDE, HEIGHTS[of]];
  };
}

/**
 * @param {(nth: number) => void} go  to a model whose name is pressed
 */
export function names(go) {
  const lines = draw("svg", { class: "scale-lines", "aria-hidden": "true" });
  const leaders = draw("path", { class: "leader" });
  const square = draw("polygon", { class: "square" });
  lines.append(leaders, square);
  const element = make("div", { class: "scale-names", "aria-hidden": "true" });
  /** @type {Map<string, HTMLElement>} */
  const known = new Map();

  /** @param {Label} label */
  const added = ({ key, nth }) => {
    const one = make("span", {}, make("b"), make("i"));
    if (nth >= 0) one.onclick = () => go(nth);
    known.set(key, one);
    element.append(one);
    return one;
  };

  /** @param {{all: Label[], square: number[]}} what */
  const write = ({ all, square: points }) => {
    const there = new Set(all.map(({ key }) => key));
    for (const [key, one] of known) if (!there.has(key)) one.classList.add("gone");
    for (const label of all) {
      const { text, more, kind, box } = label;
      const one = known.get(label.key) ?? added(label);
      const [first, second] = one.children;
      one.className = kind;
      if (first.textContent !== text) first.textContent = text;
      if (second.textContent !== more) second.textContent = more;
      one.style.transform = `translate(${Math.round(box.left)}px, ${Math.round(box.top)}px)`;
      one.style.width = `${Math.ceil(box.right - box.left)}px`;
    }
    const ways = all.map(({ leader: [x, y, u, v] }) =>
      v === undefined ? "" : `M${fix(x)} ${fix(y)}L${fix(u)} ${fix(v)}`,
    );
    leaders.setAttribute("d", ways.join("") || "M0 0");
    square.setAttribute("points", points.map(fix).join(" "));
  };
  return { lines, element, write };
}

/** @param {number} value */
function fix(value) {
  return Math.round(10 * value) / 10;
}
