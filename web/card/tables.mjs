// Numbers in a few digits, and tables of them.

import { make } from "../exhibits/dom.mjs";
import { many } from "./read.mjs";

/** @typedef {{text: string, before?: string, bar?: number, hue?: string, no?: boolean}} Cell
 *   before: a small line above; bar: how long the one behind the text is, from 0 to 1 */
/** @typedef {{name: string, cells: Cell[]}} Row */

const BYTES = /** @type {[number, string][]} */ ([
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
  [1, "B"],
]);
const WORK = /** @type {[number, string][]} */ ([
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
  [1, ""],
]);

/**
 * Three digits and a unit.
 * @param {number} value  at least 1
 * @param {[number, string][]} units
 */
function short(value, units) {
  const [unit, name] = units.find(([least]) => value >= least) ?? [1, ""];
  return `${many(Number((value / unit).toPrecision(3)))} ${name}`.trim();
}

/** @param {number} value */
export const bytes = (value) => short(value, BYTES);

/** @param {number} value */
export const work = (value) => short(value, WORK);

/** @param {number} share */
export function percent(share) {
  return share > 0 && share < 0.01 ? "<1\u00a0%" : `${Math.round(100 * share)}\u00a0%`;
}

/**
 * @param {string} caption
 * @param {string[]} columns
 * @param {Row[]} rows
 */
export function table(caption, columns, rows) {
  const head = columns.map((name) => make("th", { scope: "col" }, name));
  const body = rows.map(({ name, cells }) =>
    make("tr", {}, make("th", { scope: "row" }, name), ...cells.map(cell)),
  );
  return make(
    "div",
    { class: "scroll" },
    make(
      "table",
      { class: "card-table", "data-columns": String(columns.length) },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("td"), ...head)),
      make("tbody", {}, ...body),
    ),
  );
}

/** @param {Cell} one */
function cell({ text, before, bar, hue = "plain", no }) {
  if (no) return make("td", { class: "no" }, text);
  const all = before ? [make("small", {}, before), " ", text] : [text];
  if (bar === undefined) return make("td", {}, ...all);
  const style = `--share: ${Math.min(1, bar).toFixed(4)}`;
  return make("td", {}, make("span", { class: `card-bar ${hue}`, style }, ...all));
}
