// Next-token bars: what comes next, with a ghost of how it was before.

import { fixed, make } from "./dom.mjs";
import { flip } from "./motion.mjs";

/** @import { Guess } from "./page_model.mjs" */
/** @typedef {Guess & {before?: number, mark?: string, note?: string, tensor?: string, rest?: string}} Bar  mark: a
 *   class, for its colour; rest: of the word that the token begins; note: beside its number; tensor: the name that lights up with it */

const WIDEST = 24; // characters of a name

export class Bars {
  /**
   * @param {{label?: string, rows?: number, onPick?: (id: number) => void, hint?: string,
   *   write?: (p: number) => string, was?: string}} [options]  what a click on a bar does, and says;
   *   how a number is written; what stands before the number of the ghost
   */
  constructor({
    label = "what comes next",
    rows = 6,
    onPick,
    hint = "",
    write = share,
    was = "was",
  } = {}) {
    this.write = write;
    this.was = was;
    this.names = 4; // characters of the longest yet
    this.rows = Array.from({ length: rows }, () => {
      const parts = { name: make("b"), share: make("i"), change: make("s") };
      const inside = [parts.name, make("span", { class: "slot" }), parts.change, parts.share];
      const bar = onPick ? make("button", { title: hint }, ...inside) : make("span", {}, ...inside);
      bar.classList.add("bar");
      return { ...parts, bar, item: make("li", {}, bar), id: NaN };
    });
    for (const row of this.rows) row.bar.addEventListener("click", () => onPick?.(row.id));
    this.title = make("p", { class: "soft" }, label);
    const items = this.rows.map(({ item }) => item);
    this.list = make("ol", { class: "bars", "aria-label": label }, ...items);
    this.element = make("div", { class: "bars-box" }, this.title, this.list);
    /** @type {Bar[]} */
    this.shown = [];
  }

  /**
   * @param {Bar[]} bars  the likeliest first
   * @param {string} [title]
   * @param {number} [full]  the value of a whole bar
   */
  set(bars, title, full = 1) {
    if (title !== undefined) {
      this.title.textContent = title;
      this.list.setAttribute("aria-label", title);
    }
    this.shown = bars.slice(0, this.rows.length);
    this.arrange();
    const longest = Math.max(
      this.names,
      ...this.shown.map(({ name, rest = "" }) => (name + rest).length),
    );
    this.names = Math.min(WIDEST, longest);
    this.list.style.setProperty("--names", `${this.names + 1}ch`); // ␣ may be wider than a letter
    this.rows.forEach((row, i) => {
      const one = this.shown[i];
      row.bar.style.visibility = one ? "" : "hidden"; // its room stays
      if (!one) return;
      const { id, name, p, before, mark = "", note = "", tensor = "", rest = "" } = one;
      row.id = id;
      row.name.textContent = name;
      row.name.dataset.rest = rest;
      row.share.textContent = this.write(p);
      row.bar.className = `bar ${mark}`;
      row.bar.dataset.name = tensor;
      row.bar.style.setProperty("--share", String(p / full));
      row.bar.style.setProperty("--before", String((before ?? p) / full));
      const moved = before !== undefined && Math.abs(p - before) >= 5e-4 * full;
      row.bar.classList.toggle("moved", moved);
      row.change.textContent = moved ? `${this.was} ${this.write(before)}` : note;
    });
  }

  /** Bars that were there go to their new places. */
  arrange() {
    const left = new Set(this.rows);
    const kept = this.shown.map(({ id }) => {
      const row = [...left].find((one) => one.id === id);
      if (row) left.delete(row);
      return row;
    });
    const others = [...left];
    const rows = kept.map((row) => row ?? others.shift() ?? this.rows[0]).concat(others);
    if (rows.every((row, i) => row === this.rows[i])) return;
    this.rows = rows;
    const items = rows.map(({ item }) => item);
    flip(items, () => this.list.append(...items));
  }

  /** For "show as table". */
  get table() {
    return this.shown.map(({ name, p, before }) => [name, this.write(p), this.write(before ?? p)]);
  }
}

/** @param {number} p */
export function share(p) {
  return p > 0 && p < 5e-4 ? "<0.001" : fixed(p);
}

/**
 * A change in words, as far as the written numbers tell it.
 * @param {number} before
 * @param {number} now
 * @param {(value: number) => string} [write]
 */
export function goes(before, now, write = share) {
  const [from, to] = [before, now].map(write);
  return from === to ? `stays at ${to}` : `goes from ${from} to ${to}`;
}

/**
 * The likeliest tokens of a distribution, in its order, with their shares in the one before. What
 * was likeliest there stays in sight.
 * @param {Float64Array} now
 * @param {Float64Array | undefined} before
 * @param {number} n
 * @param {(id: number) => string} show
 * @param {(id: number) => string} [sense]  of which sense of *crane* it is a deed
 * @returns {Bar[]}
 */
export function withGhosts(now, before, n, show, sense = () => "") {
  const first = before ? likeliest(before).slice(0, 2) : [];
  const rest = likeliest(now).filter((id) => !first.includes(id));
  return [...first, ...rest.slice(0, n - first.length)]
    .map((id) => ({ id, name: show(id), p: now[id], before: before?.[id], mark: sense(id) }))
    .sort((a, b) => b.p - a.p);
}

/** @param {Float64Array} p */
function likeliest(p) {
  return Array.from(p.keys()).sort((a, b) => p[b] - p[a]);
}
