// Lens: what the model would say at each stage, for every token. Columns are tokens, rows stages,
// the last stage on top. A cell can be chosen, and carried to another.

import { fixed, make } from "./dom.mjs";
import { walk } from "./keys.mjs";

/** @typedef {{name: string, p: number, mark?: string, heat?: number, more?: string, was?: string}}
 *   Said  the likeliest token of a cell; `heat` (0 to 1) is its colour, if that is not p; `more` is
 *   said behind p; `was` is what it was before, a ghost */
/** @typedef {{row: number, column: number}} Place */

export class Lens {
  /**
   * @param {{label?: string, onPick?: (place: Place) => void}} options
   */
  constructor({ label = "what each stage would say", onPick } = {}) {
    this.onPick = onPick;
    this.place = { row: 0, column: 0 };
    this.rows = 0;
    this.columns = 0;
    /** @type {HTMLTableCellElement[]} */
    this.cells = [];
    this.grid = make("table", {
      role: "grid",
      "aria-label": label,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const to = walk(event, this.place, this);
        if (to) this.focus(to);
        else if (event.key === "Enter" || event.key === " ") onPick?.(this.place);
        else return;
        event.preventDefault();
      },
      onclick: (/** @type {MouseEvent} */ event) => {
        const cell = /** @type {HTMLElement} */ (event.target).closest("td[data-place]");
        if (!(cell instanceof HTMLElement)) return;
        const [row, column] = (cell.dataset.place ?? "").split(" ").map(Number);
        this.focus({ row, column });
        onPick?.({ row, column });
      },
    });
    this.element = make(
      "div",
      { class: "lens g2 g2-weights" },
      make("div", { class: "g2-scroll" }, this.grid),
    );
  }

  /**
   * @param {Said[][]} table  by stage, by token
   * @param {{stages: string[], tokens: string[], chosen?: Place | null}} more
   */
  set(table, { stages, tokens, chosen = null }) {
    this.names = { stages, tokens };
    this.said = table;
    if (stages.length !== this.rows || tokens.length !== this.columns) {
      this.resize(stages.length, tokens.length);
    }
    const [head, ...body] = this.grid.rows;
    tokens.forEach((name, c) => (head.cells[c + 1].textContent = name));
    body.forEach((row, r) => (row.cells[0].textContent = stages[r]));
    table.forEach((row, r) =>
      row.forEach(({ name, p, mark = "", heat = p, more = "", was = "" }, c) => {
        const cell = this.cells[r * this.columns + c];
        cell.textContent = name;
        cell.className = mark;
        if (was) cell.append(make("s", {}, was));
        cell.style.setProperty("--heat", String(heat));
        const before = was && `, before ${was}`;
        cell.title = `${stages[r]}, at ${tokens[c]}: ${name} ${fixed(p)}${before}${more}`;
        cell.setAttribute("aria-label", cell.title);
        cell.setAttribute("aria-selected", String(chosen?.row === r && chosen?.column === c));
      }),
    );
  }

  /**
   * @param {number} rows
   * @param {number} columns
   */
  resize(rows, columns) {
    Object.assign(this, { rows, columns });
    this.cells = [];
    const names = Array.from({ length: columns }, () => make("th", { scope: "col" }));
    const body = Array.from({ length: rows }, (_, r) => {
      const cells = Array.from({ length: columns }, (_, c) => {
        const cell = make("td", { tabindex: r + c ? "-1" : "0", style: "--heat:0" });
        cell.dataset.place = `${r} ${c}`;
        this.cells.push(cell);
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row" }), ...cells);
    });
    const corner = make("th", { class: "corner", scope: "col" }, "stage ↓ token →");
    this.grid.replaceChildren(make("tr", {}, corner, ...names), ...body);
    this.place = { row: 0, column: 0 };
  }

  /** @param {Place} place */
  focus(place) {
    const at = ({ row, column } = this.place) => this.cells[row * this.columns + column];
    if (at()) at().tabIndex = -1;
    this.place = place;
    at().tabIndex = 0;
    at().focus({ preventScroll: true });
  }

  /** For "show as table". */
  get table() {
    const { stages = [], tokens = [] } = this.names ?? {};
    return {
      columns: ["stage", ...tokens],
      rows: stages.map((stage, r) => [
        stage,
        ...(this.said?.[r] ?? []).map(({ name, p }) => `${name} ${fixed(p)}`),
      ]),
    };
  }
}
