// A tensor as a map of colours: one head, or one table, with the number under the pointer or, by
// arrow keys, at the chosen place. Queries are rows and keys are columns; tokens name them.

import { choice, labelled, make, short } from "../exhibits/dom.mjs";
import { walk } from "../exhibits/keys.mjs";
import { paint } from "./paint.mjs";

/** @import { Noted } from "../tape.mjs" */

const WIDEST = 256; // columns that are shown at a time

/** What the letters of the axes count. */
const COUNTED = /** @type {Record<string, string>} */ ({
  B: "batch",
  C: "channel",
  D: "channel of the head",
  F: "unit",
  H: "head",
  S: "key",
  T: "token",
  V: "token of the vocabulary",
});

export class TensorMap {
  constructor() {
    this.canvas = make("canvas");
    this.mark = make("div", { class: "cursor" });
    this.number = make("output", {}, " ");
    this.area = make(
      "div",
      {
        class: "map",
        tabindex: "0",
        role: "application",
        onpointermove: (/** @type {PointerEvent} */ event) => this.point(event),
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.walk(event),
        onfocus: () => this.number.setAttribute("aria-live", "polite"), // is read out only here
        onblur: () => this.number.removeAttribute("aria-live"),
      },
      this.canvas,
      this.mark,
    );
    this.facts = make("p", { class: "soft" });
    this.legend = make("p", { class: "soft" });
    this.head = choice({}, () => this.draw());
    this.first = make("input", {
      type: "number",
      min: "0",
      value: "0",
      onchange: () => this.draw(),
    });
    this.headLabel = labelled("head", this.head);
    this.firstLabel = labelled("from column", this.first);
    this.scroll = make("div", { class: "scroll", tabindex: "0" });
    this.table = make(
      "details",
      { ontoggle: () => this.write() },
      make("summary", {}, "as numbers"),
      this.scroll,
    );
    this.element = make(
      "div",
      { class: "tensor-map" },
      this.facts,
      make("div", { class: "controls" }, this.headLabel, this.firstLabel),
      this.area,
      this.number,
      this.legend,
      this.table,
    );
    this.place = { row: 0, column: 0 };
    /** @type {Noted | null} */
    this.noted = null;
    /** @type {string[]} */
    this.tokens = [];
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  /**
   * @param {Noted} noted
   * @param {string[]} tokens  the text's
   * @param {(id: number) => string} token  of the vocabulary
   */
  set(noted, tokens, token) {
    this.noted = noted;
    this.tokens = tokens;
    this.token = token;
    const { axes, shape, path } = noted;
    const letters = axes.split(" ");
    const heads = letters.includes("H") ? shape[letters.indexOf("H")] : 0;
    if (this.head.options.length !== heads) {
      const names = Array.from({ length: heads }, (_, h) => make("option", {}, String(h)));
      this.head.replaceChildren(...names);
    }
    this.headLabel.hidden = !heads;
    const [rows, columns] = shape.slice(-2);
    this.size = { rows, columns };
    this.firstLabel.hidden = columns <= WIDEST;
    this.first.max = String(columns - 1);
    let [least, most, sum, finite] = [Infinity, -Infinity, 0, 0];
    for (let i = 0; i < noted.values.length; i++) {
      const value = noted.values[i];
      if (!Number.isFinite(value)) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
      finite++;
    }
    this.largest = Math.max(Math.abs(least), Math.abs(most)) || 1;
    const sizes = letters.map((letter, i) => `${letter} ${shape[i].toLocaleString("en")}`);
    this.facts.replaceChildren(
      make("code", {}, path),
      ` · ${sizes.join(" × ")} · from ${short(least)} to ${short(most)}, mean ${short(sum / finite)}`,
    );
    this.area.setAttribute("aria-label", `${path}, ${rows} rows; arrow keys read its numbers`);
    const { rowName, columnName } = this.axes;
    this.legend.textContent =
      `Rows: ${rowName}. Columns: ${columnName}. Violet is positive, ochre negative, ` +
      "the full colour the largest; hatched is −∞.";
    this.place = { row: rows - 1, column: this.largestOf(rows - 1) };
    if (columns > WIDEST) this.first.value = String(Math.max(0, this.place.column - WIDEST / 2));
    this.draw();
  }

  /** The columns that are shown. */
  get window() {
    const { columns } = this.size ?? { columns: 0 };
    if (columns <= WIDEST) return { first: 0, count: columns };
    const first = Math.min(Math.max(0, Number(this.first.value) | 0), columns - WIDEST);
    this.first.value = String(first);
    return { first, count: WIDEST };
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  value(row, column) {
    const { rows, columns } = /** @type {{rows: number, columns: number}} */ (this.size);
    const head = this.headLabel.hidden ? 0 : this.head.selectedIndex;
    return /** @type {Noted} */ (this.noted).values[(head * rows + row) * columns + column];
  }

  draw() {
    if (!this.noted || !this.size) return;
    const { rows } = this.size;
    const { first, count } = this.window;
    const { axes } = this;
    const names = (/** @type {string} */ letter, /** @type {number} */ from) =>
      letter === "T" || letter === "S" ? this.tokens.slice(from) : null;
    this.cell = paint(this.canvas, {
      rows,
      columns: count,
      square: axes.column === "S" || count <= 32,
      rowNames: names(axes.row, 0),
      columnNames: names(axes.column, first),
      value: (row, column) =>
        this.value(row, first + column) / /** @type {number} */ (this.largest),
    });
    this.show(this.place.row, this.place.column);
    this.write();
  }

  /**
   * Mark a place and say its number; places outside of the map are moved to its edge.
   * @param {number} row
   * @param {number} column
   */
  show(row, column) {
    if (!this.size || !this.cell) return;
    const { first, count } = this.window;
    this.place = {
      row: Math.min(Math.max(row, 0), this.size.rows - 1),
      column: Math.min(Math.max(column, first), first + count - 1),
    };
    const { width, height, left, top, all } = this.cell;
    const scale = this.canvas.getBoundingClientRect().width / all || 1; // narrow pages shrink it
    const { style } = this.mark;
    style.left = `${scale * (left + (this.place.column - first) * width)}px`;
    style.top = `${scale * (top + this.place.row * height)}px`;
    style.width = `${scale * width}px`;
    style.height = `${scale * height}px`;
    this.say();
  }

  /** @param {number} row */
  largestOf(row) {
    const columns = this.size?.columns ?? 0;
    let best = 0;
    for (let c = 1; c < columns; c++) if (this.value(row, c) > this.value(row, best)) best = c;
    return best;
  }

  /**
   * The name of row or column i along an axis.
   * @param {string} letter
   * @param {number} i
   */
  name(letter, i) {
    if (letter === "V") return `${i} ${this.token?.(i)}`;
    if (letter === "1") return "";
    return letter === "T" || letter === "S" ? `${i} ${this.tokens[i] ?? ""}` : String(i);
  }

  /** The axes of rows and columns. Both are T where every token looks at every token. */
  get axes() {
    const letters = /** @type {Noted} */ (this.noted).axes.split(" ");
    const [row, column] = letters.slice(-2);
    const attention = letters.includes("H") && column !== "D";
    return attention
      ? { row: "T", column: "S", rowName: "query", columnName: "key" }
      : { row, column, rowName: COUNTED[row] ?? "the last token", columnName: COUNTED[column] };
  }

  say() {
    const { row, column } = this.place;
    const { axes } = this;
    this.number.textContent =
      `${axes.rowName} ${this.name(axes.row, row)}, ${axes.columnName} ` +
      `${this.name(axes.column, column)}: ${short(this.value(row, column))}`;
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (!this.size || !this.cell) return;
    const box = this.canvas.getBoundingClientRect();
    const { first, count } = this.window;
    const scale = this.cell.all / box.width;
    const y = (event.clientY - box.top) * scale - this.cell.top;
    const x = (event.clientX - box.left) * scale - this.cell.left;
    const row = Math.floor(y / this.cell.height);
    const column = first + Math.floor(x / this.cell.width);
    if (row < 0 || row >= this.size.rows || column < first || column >= first + count) return;
    this.show(row, column);
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    if (!this.size) return;
    const to = walk(event, this.place, this.size);
    if (!to) return;
    event.preventDefault();
    this.show(to.row, to.column);
  }

  /** The numbers as a table, when it is open. */
  write() {
    if (!this.table.open || !this.noted || !this.size) return;
    const { axes } = this;
    const { first } = this.window;
    const columns = Array.from({ length: Math.min(this.window.count, 16) }, (_, c) => first + c);
    const head = columns.map((c) => make("th", { scope: "col" }, this.name(axes.column, c)));
    const rows = Array.from({ length: Math.min(this.size.rows, 64) }, (_, r) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, this.name(axes.row, r)),
        ...columns.map((c) => make("td", {}, short(this.value(r, c)))),
      ),
    );
    const corner = make("td", {}, `${axes.rowName} ↓ ${axes.columnName} →`);
    const left = this.window.count > columns.length || this.size.rows > rows.length;
    this.scroll.replaceChildren(
      make("table", {}, make("tr", {}, corner, ...head), ...rows),
      left ? "The map above has the rest." : "",
    );
  }
}
