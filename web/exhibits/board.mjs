// Attention board: small maps of all heads, and a large one with numbers. Row = query, column = key.

import { fixed, make } from "./dom.mjs";
import { rove, walk } from "./keys.mjs";

/** @typedef {{title: string, values: ArrayLike<number>, mark?: string}} Map_  values row by row */
/** @typedef {{row: number, column: number}} Place */

const WITH_NUMBERS = 12; // columns up to which cells hold their numbers
const MOST = 48; // rows and columns; of more, the last

export class Board {
  /**
   * @param {{onHead?: (index: number) => void, onCell?: (place: Place) => void, role?: string,
   *   corner?: string, label?: string, decimals?: number, tensor?: string, least?: number,
   *   onCut?: (index: number) => void,
   *   read?: (row: string, column: string, number: string) => string[]}} [options]  what choosing a
   *   small map, and pointing at a cell, does; `role` is the colour; `tensor` is the name that
   *   lights up with it; smaller numbers than `least` are written in the row that is pointed at
   *   alone; `read` words the cell that is pointed at: the names are isolated, whatever their
   *   direction. With `onCut` a click on a small map cuts its
   *   head, and the pointer or the focus chooses it
   */
  constructor({
    onHead,
    onCell,
    role = "weights",
    corner = "query ↓ key →",
    label = "attention weights",
    decimals = 2,
    tensor = "weights",
    least = 0.05,
    onCut,
    read = (row, column, number) => [row, " → ", column, `: ${number}`],
  } = {}) {
    this.read = read;
    this.onHead = onHead;
    this.onCut = onCut;
    this.least = least;
    this.onCell = onCell;
    this.corner = corner;
    this.decimals = decimals;
    this.place = { row: 0, column: 0 };
    this.rows = 0;
    this.columns = 0;
    /** @type {HTMLTableCellElement[]} */
    this.cells = [];
    this.heads = make("div", { class: "thumbs", role: "group", "aria-label": "heads" });
    rove(this.heads);
    this.grid = make("table", {
      role: "grid",
      "aria-label": label,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const to = walk(event, this.place, this);
        if (!to) return;
        event.preventDefault();
        this.point(to, true);
      },
      onpointerover: (/** @type {PointerEvent} */ event) => this.under(event),
      onpointerdown: (/** @type {PointerEvent} */ event) => this.under(event, true),
    });
    this.output = make("output", { class: "soft", "aria-live": "off" }, " ");
    this.element = make(
      "div",
      { class: `board g2 g2-${role}`, "data-name": tensor },
      this.heads,
      (this.scroll = make("div", { class: "g2-scroll" }, this.grid)),
      this.output,
    );
  }

  /**
   * Small maps of several heads, each (n, n).
   * @param {Map_[]} maps
   * @param {number} chosen
   */
  setHeads(maps, chosen) {
    while (this.heads.children.length > maps.length) this.heads.lastElementChild?.remove();
    while (this.heads.children.length < maps.length) {
      const index = this.heads.children.length;
      const look = () => this.onHead?.(index);
      const acts = this.onCut
        ? { onclick: () => this.onCut?.(index), onfocus: look, onpointerenter: look }
        : { onclick: look };
      this.heads.append(make("button", { ...acts }, make("canvas"), make("span")));
    }
    maps.forEach(({ title, values, mark = "" }, i) => {
      const button = /** @type {HTMLButtonElement} */ (this.heads.children[i]);
      const [canvas, span] = button.children;
      span.textContent = title;
      button.className = mark;
      button.classList.toggle("chosen", i === chosen);
      button.setAttribute("aria-pressed", String(this.onCut ? mark === "cut" : i === chosen));
      button.tabIndex = i === chosen ? 0 : -1;
      thumb(/** @type {HTMLCanvasElement} */ (canvas), values);
    });
  }

  /**
   * @param {ArrayLike<number>} values  row by row
   * @param {{rows: string[], columns: string[], scale?: number, lit?: (place: Place) => boolean,
   *   off?: (place: Place) => boolean, place?: Place}} more  names; the value of the deepest
   *   colour; cells that are framed; cells that are hatched; the cell that is pointed at
   */
  set(values, { rows, columns, scale = 1, lit, off, place = this.place }) {
    const [skipR, skipC] = [rows.length - MOST, columns.length - MOST].map((n) => Math.max(0, n));
    this.names = { rows: rows.slice(skipR), columns: columns.slice(skipC) };
    this.resize(rows.length - skipR, columns.length - skipC);
    this.value = (/** @type {number} */ row, /** @type {number} */ column) =>
      values[(row + skipR) * columns.length + column + skipC];
    const [head, ...body] = this.grid.rows;
    this.names.columns.forEach((name, c) => (head.cells[c + 1].textContent = name));
    body.forEach((row, r) => (row.cells[0].textContent = this.names?.rows[r] ?? ""));
    const numbers = this.columns <= WITH_NUMBERS;
    this.grid.classList.toggle("tight", !numbers);
    for (let r = 0; r < this.rows; r++) {
      for (let c = 0; c < this.columns; c++) {
        const cell = this.cells[r * this.columns + c];
        const value = this.value(r, c);
        const hidden = !Number.isFinite(value) || off?.({ row: r + skipR, column: c + skipC });
        cell.className = hidden ? "off" : value < 0 ? "neg" : "";
        cell.classList.toggle("faint", hidden || Math.abs(value) < this.least);
        cell.classList.toggle("lit", lit?.({ row: r + skipR, column: c + skipC }) ?? false);
        cell.style.setProperty("--heat", String(Math.min(1, Math.abs(value) / (scale || 1)) || 0));
        cell.textContent = numbers ? fixed(value, this.decimals) : "";
      }
    }
    this.point(
      {
        row: Math.min(place.row, this.rows - 1),
        column: Math.min(place.column, this.columns - 1),
      },
      false,
      true,
    );
  }

  /**
   * @param {number} rows
   * @param {number} columns
   */
  resize(rows, columns) {
    if (rows === this.rows && columns === this.columns) return;
    Object.assign(this, { rows, columns });
    const corner = this.corner
      ? make("th", { class: "corner", scope: "col" }, this.corner)
      : make("td", { class: "corner" });
    const names = Array.from({ length: columns }, () => make("th", { scope: "col" }));
    this.cells = [];
    const body = Array.from({ length: rows }, (_, r) => {
      const cells = Array.from({ length: columns }, (_, c) => {
        const cell = make("td", { tabindex: "-1", style: "--heat:0" });
        cell.dataset.place = `${r} ${c}`;
        this.cells.push(cell);
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row" }), ...cells);
    });
    this.grid.replaceChildren(make("tr", {}, corner, ...names), ...body);
  }

  /**
   * @param {PointerEvent} event
   * @param {boolean} [pressed]
   */
  under(event, pressed = false) {
    const cell = /** @type {HTMLElement} */ (event.target).closest?.("td[data-place]");
    if (!(cell instanceof HTMLElement)) return;
    const [row, column] = (cell.dataset.place ?? "").split(" ").map(Number);
    this.point({ row, column }, pressed);
  }

  /**
   * @param {Place} place
   * @param {boolean} [focus]
   * @param {boolean} [silent]  nobody has pointed there
   */
  point(place, focus = false, silent = false) {
    const before = this.cells[this.place.row * this.columns + this.place.column];
    if (before) before.tabIndex = -1;
    before?.classList.remove("here");
    this.place = place;
    const cell = this.cells[place.row * this.columns + place.column];
    if (!cell || !this.names) return;
    cell.tabIndex = 0;
    if (!silent || this.onCell) cell.classList.add("here");
    if (focus) cell.focus({ preventScroll: true });
    const value = this.value?.(place.row, place.column) ?? 0;
    const [row, column] = [this.names.rows[place.row], this.names.columns[place.column]];
    const isId = Number.isInteger(value) && value > 1;
    const words = this.read(row, column, isId ? `${value}` : fixed(value, 4));
    const named = (/** @type {string} */ word) => word === row || word === column;
    this.output.replaceChildren(
      ...words.map((word) => (named(word) ? make("bdi", {}, word) : word)),
    );
    if (!silent) this.onCell?.(place);
  }

  /** For "show as table". */
  get table() {
    const { rows = [], columns = [] } = this.names ?? {};
    return {
      columns: [this.corner, ...columns],
      rows: rows.map((name, r) => [name, ...columns.map((_, c) => fixed(this.value?.(r, c) ?? 0))]),
    };
  }
}

/**
 * A map without numbers: one pixel a cell, enlarged by the browser.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values  (n, n), row by row
 */
function thumb(canvas, values) {
  const n = Math.sqrt(values.length);
  if (canvas.width !== n) canvas.width = canvas.height = n;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const style = getComputedStyle(canvas);
  const [up, down] = ["--thumb", "--thumb-down"].map((name) =>
    style.getPropertyValue(name).trim().split(" ").map(Number),
  );
  const picture = context.createImageData(n, n);
  for (let i = 0; i < values.length; i++) {
    const share = Number.isFinite(values[i]) ? Math.min(1, Math.abs(values[i])) : 0;
    picture.data.set([...(values[i] < 0 ? down : up), Math.round(255 * share)], 4 * i);
  }
  context.putImageData(picture, 0, 0);
}

/**
 * The maps of a recorded tensor (1, H, T, S), head by head.
 * @param {import("../tape.mjs").Noted} noted
 */
export function heads({ shape, values }) {
  const [H, T, S] = shape.slice(-3);
  return Array.from({ length: H }, (_, h) => values.subarray(h * T * S, (h + 1) * T * S));
}
