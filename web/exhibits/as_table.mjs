// What an exhibit shows, as a table: for whoever cannot see the picture, or wants its numbers.

import { fixed, make } from "./dom.mjs";

/** @typedef {{caption: string, columns: string[], rows: (string | number)[][]}} Table */

/** @param {Table} what  the first of each row is its label */
export function asTable({ caption, columns, rows }) {
  const body = rows.map(([label, ...cells]) =>
    row(
      String(label),
      cells.map((cell) => (typeof cell === "number" ? fixed(cell) : cell)),
    ),
  );
  return make("table", {}, make("caption", {}, caption), headings(columns), ...body);
}

/** @param {string[]} columns  their names */
export function headings(columns) {
  const cells = columns.map((name) => (name ? make("th", { scope: "col" }, name) : make("td")));
  return make("tr", {}, ...cells);
}

/**
 * @param {string} label
 * @param {string[]} cells
 */
export function row(label, cells) {
  const inside = cells.map((text) => make("td", {}, text));
  return make("tr", {}, make("th", { scope: "row" }, label), ...inside);
}
