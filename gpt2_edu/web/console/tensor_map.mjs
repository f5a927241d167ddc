// A tensor as a map of colours: one head, or one table, with the number under the pointer or, by
// arrow keys, at the chosen place. Queries are rows and keys are columns; tokens name them.

import { choice, labelled, make, short } from "./dom.mjs";

/** @import { Noted } from "../tape.mjs" */

const WIDEST = 256; // columns that are shown at a time
const MARGIN = 72; // pixels for a token's name

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
    this.canvas = make("canvas", {
      tabindex: "0",
      role: "img",
      onpointermove: (/** @type {PointerEvent} */ event) => this.point(event),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.walk(event),
    });
    this.facts = make("p", { class: "soft" });
    this.number = make("output", { "aria-live": "polite" }, " ");
    this.head = choice({}, () => this.draw());
    this.first = make("input", {
      type: "number",
      min: "0",
      value: "0",
      onchange: () => this.draw(),
    });
    this.headLabel = labelled("head", this.head);
    this.firstLabel = labelled("from column", this.first);
    this.table = make(
      "details",
      { ontoggle: () => this.write() },
      make("summary", {}, "as numbers"),
    );
    this.element = make(
      "div",
      { class: "tensor-map" },
      this.facts,
      make("div", { class: "controls" }, this.headLabel, this.firstLabel),
      this.canvas,
      this.number,
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
   * @param {(id: number) => string} show  a token of the vocabulary
   */
  set(noted, tokens, show) {
    this.noted = noted;
    this.tokens = tokens;
    this.show = show;
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
    const finite = noted.values.filter(Number.isFinite);
    let [least, most, sum] = [Infinity, -Infinity, 0];
    for (const value of finite) {
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
    }
    this.largest = Math.max(Math.abs(least), Math.abs(most)) || 1;
    const sizes = letters.map((letter, i) => `${letter} ${shape[i].toLocaleString("en")}`);
    this.facts.replaceChildren(
      make("code", {}, path),
      ` · ${sizes.join(" × ")} · from ${short(least)} to ${short(most)}, mean ${short(sum / finite.length)}`,
    );
    this.canvas.setAttribute("aria-label", `${path}, ${rows} rows; arrow keys read its numbers`);
    this.place = { row: rows - 1, column: this.strongest(rows - 1) };
    this.draw();
  }

  /** The columns that are shown. */
  get window() {
    const { columns } = this.size ?? { columns: 0 };
    const first =
      columns > WIDEST ? Math.min(Math.max(0, Number(this.first.value) | 0), columns - 1) : 0;
    return { first, count: Math.min(columns - first, WIDEST) };
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
    const square = axes.column === "S" || count <= 32;
    const width = Math.max(2, Math.floor(Math.min(560 / count, square ? 28 : 560)));
    const height = square ? width : Math.min(20, Math.max(4, Math.floor(480 / rows)));
    const left = axes.row === "T" && height >= 12 ? MARGIN : 0; // room for names
    const top = axes.column === "S" && width >= 12 ? MARGIN : 0;
    this.cell = { width, height, left, top, all: left + count * width };
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = this.cell.all * ratio;
    this.canvas.height = (top + rows * height) * ratio;
    this.canvas.style.width = `${this.cell.all}px`;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    const style = getComputedStyle(this.element);
    context.scale(ratio, ratio);
    context.font = `12px ${style.fontFamily}`;
    context.fillStyle = style.color;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let row = 0; left && row < rows; row++) {
      context.fillText(this.label(row), left - 4, top + (row + 0.5) * height, left - 4);
    }
    for (let c = 0; top && c < count; c++) {
      context.save();
      context.translate(left + (c + 0.5) * width, top - 4);
      context.rotate(Math.PI / 2);
      context.fillText(this.label(first + c), 0, 0, top - 4);
      context.restore();
    }
    const colour = { up: style.getPropertyValue("--up"), down: style.getPropertyValue("--down") };
    for (let row = 0; row < rows; row++) {
      for (let c = 0; c < count; c++) {
        const value = this.value(row, first + c);
        if (!Number.isFinite(value)) continue;
        context.globalAlpha = Math.min(1, Math.abs(value) / /** @type {number} */ (this.largest));
        context.fillStyle = value < 0 ? colour.down : colour.up;
        context.fillRect(left + c * width, top + row * height, width, height);
      }
    }
    context.globalAlpha = 1;
    this.place = {
      row: Math.min(this.place.row, rows - 1),
      column: Math.min(Math.max(this.place.column, first), first + count - 1),
    };
    context.strokeStyle = style.color;
    const x = left + (this.place.column - first) * width;
    context.strokeRect(x + 0.5, top + this.place.row * height + 0.5, width - 1, height - 1);
    this.say();
    this.write();
  }

  /** @param {number} i  a token's place */
  label(i) {
    return this.tokens[i] ?? "";
  }

  /** @param {number} row */
  strongest(row) {
    const { first, count } = this.window;
    let best = first;
    for (let c = first; c < first + count; c++) {
      if (Math.abs(this.value(row, c)) > Math.abs(this.value(row, best))) best = c;
    }
    return best;
  }

  /**
   * The name of row or column i along an axis.
   * @param {string} letter
   * @param {number} i
   */
  name(letter, i) {
    if (letter === "V") return `${i} ${this.show?.(i)}`;
    return letter === "T" || letter === "S" ? `${i} ${this.tokens[i] ?? ""}` : String(i);
  }

  /** The axes of rows and columns. Both are T where every token looks at every token. */
  get axes() {
    const letters = /** @type {Noted} */ (this.noted).axes.split(" ");
    const [row, column] = letters.slice(-2);
    const attention = letters.includes("H") && column !== "D";
    return attention
      ? { row: "T", column: "S", rowName: "query", columnName: "key" }
      : { row, column, rowName: COUNTED[row] ?? "last token", columnName: COUNTED[column] };
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
    const scale = this.cell.all / box.width; // a narrow page shrinks the map
    const y = (event.clientY - box.top) * scale - this.cell.top;
    const x = (event.clientX - box.left) * scale - this.cell.left;
    const row = Math.floor(y / this.cell.height);
    const column = first + Math.floor(x / this.cell.width);
    if (row < 0 || row >= this.size.rows || column < first || column >= first + count) return;
    if (row === this.place.row && column === this.place.column) return;
    this.place = { row, column };
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const found = /** @type {Record<string, number[]>} */ (step)[event.key];
    if (!found || !this.size) return;
    event.preventDefault();
    const clamp = (
      /** @type {number} */ n,
      /** @type {number} */ least,
      /** @type {number} */ most,
    ) => Math.min(Math.max(n, least), most);
    const { first, count } = this.window;
    this.place = {
      row: clamp(this.place.row + found[0], 0, this.size.rows - 1),
      column: clamp(this.place.column + found[1], first, first + count - 1),
    };
    this.draw();
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
    const table = make("table", {}, make("tr", {}, corner, ...head), ...rows);
    this.table.replaceChildren(
      make("summary", {}, "as numbers"),
      make("div", { class: "scroll", tabindex: "0" }, table),
    );
  }
}
