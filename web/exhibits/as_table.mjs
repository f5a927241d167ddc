// What an exhibit shows, as a table: for whoever cannot see the picture, or wants its numbers.

import { fixed, make } from "./dom.mjs";

/** @typedef {{caption: string, columns: string[], rows: (string | number)[][]}} Table */

/** @param {Table} what  the first of each row is its label */
export function asTable({ caption, columns, rows }) {
  const head = columns.map((name) => (name ? make("th", { scope: "col" }, name) : make("td")));
  const body = rows.map(([label, ...cells]) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, String(label)),
      ...cells.map((cell) => make("td", {}, typeof cell === "number" ? fixed(cell) : cell)),
    ),
  );
  return make("table", {}, make("caption", {}, caption), make("tr", {}, ...head), ...body);
}
