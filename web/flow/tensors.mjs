// The tensor at a station of the pass: its shape, the numbers of the token that is followed, and all of
// it to be copied. At the end the numbers are scores, each a dot product.

import { html, nothing, render, svg } from "lit/html.js";
import { fixed, make } from "../exhibits/dom.mjs";
import { nextTask } from "../tasks.mjs";
import { heat } from "./cells.mjs";
import { tableOf } from "./source.mjs";
import { dotProduct, finite, forPython, rowsOf, toldOf } from "./rows.mjs";
import { wayThrough } from "./way.mjs";

/** @import { Page } from "../exhibits/exhibit.mjs" */
/** @import { Noted } from "../tape.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @import { Row, Tensor } from "./rows.mjs" */

const SHOWN = 8; // numbers of a row that are written
const DRAWN = 1024; // that are drawn
const WIDTH = 512; // of the drawn row

export class Tensors {
  /**
   * @param {Page} page
   * @param {{switches: () => Record<string, any>, summary: string}} more  `summary`: of a fold
   *   around it; "": it has none
   */
  constructor({ state, model, complain }, { switches, summary }) {
    this.state = state;
    this.model = model;
    this.complain = complain;
    this.switches = switches;
    this.body = make("div", { class: "flow-tensor" });
    this.element = summary
      ? make("details", {}, make("summary", {}, summary), this.body)
      : this.body;
    state.declare("token", -1, { min: -1, max: 1e6, whole: true }); // whose logit; -1: the likeliest
    state.declare("column", 0, { min: 0, max: 1e6, whole: true });
  }

  get open() {
    return !(this.element instanceof HTMLDetailsElement) || this.element.open;
  }

  /**
   * @param {Pass} pass
   * @param {number} at  the token that is followed
   * @param {() => boolean} latest
   */
  async set(pass, at, latest) {
    if (!this.open) return;
    const { state } = this;
    if (pass.only) return render(html`<p>${pass.only}</p>`, this.body);
    const llama = Boolean(this.model.loaded?.config.llama);
    const way = wayThrough(pass.nLayer, llama);
    const nth = state.get("station");
    const station = way[nth < 0 ? way.length - 1 : Math.min(nth, way.length - 1)];
    const name = station.path.replace("transformer.", "");
    const last = /^(logits|prob)/.test(name);
    const tensor = await this.tensor(pass, station.path);
    if (!tensor || !latest()) return;
    const token = state.get("token") < 0 ? pass.next[0].id : state.get("token");
    const sum = last ? await this.products(pass, at, token) : null;
    await nextTask(); // what was looked up and what is drawn are not one long task
    if (!latest()) return;
    const rows = rowsOf(tensor, pass, at);
    const columns = last ? this.listed(rows[0], token) : this.columns(tensor, pass.tokens);
    const scale = Math.max(1e-9, ...rows.flatMap(({ values }) => finite(values)).map(Math.abs));
    const pick = (/** @type {Event} */ { target }) =>
      state.set({
        station: way.findIndex(({ path }) => path === /** @type {any} */ (target).value),
      });
    const cell = (/** @type {number} */ value) =>
      html`<td class=${value < 0 ? "minus" : ""} style=${`--heat:${heatOf(value, scale)}`}>
        ${name === "idx" ? value : fixed(value, 2)}
      </td>`;
    const sizes = `${tensor.axes.replaceAll(" ", ", ")} = (${tensor.shape.join(", ")})`;
    const scroll = last || tensor.axes.endsWith("T T") ? nothing : this.overview(rows, scale);
    render(
      html`<p class="flow-tensor-head">
          <select aria-label="tensor" .value=${station.path} @change=${pick}>
            ${way.map(({ path }) => html`<option value=${path} ?selected=${path === station.path}>${path.replace("transformer.", "")}</option>`)}
          </select>
          <b>${sizes}</b> <span class="soft">${toldOf(tensor)}</span>
          <button type="button" @click=${() => this.copy(name, tensor)}>copy for Python</button>
        </p>
        <div class="scroll" tabindex="0">
          <table data-role=${station.role}>
            <caption>
              ${name}${tensor.shape.length > 1 ? ` at ${pass.tokens[at]}` : ""}
            </caption>
            <tr>
              <td></td>
              ${columns.map(({ name }) => html`<th scope="col">${name}</th>`)}
            </tr>
            ${rows.map(
              (row) =>
                html`<tr>
                  <th scope="row">${row.name}</th>
                  ${columns.map(({ i }) => cell(row.values[i]))}
                </tr>`,
            )}
          </table>
        </div>
        ${scroll}${sum ? this.spelled(sum, columns, token) : nothing}`,
      this.body,
    );
  }

  /**
   * From the tape; what a pass does not hold is asked for.
   * @param {Pass} pass
   * @param {string} path
   * @returns {Promise<Tensor | null>}
   */
  async tensor(pass, path) {
    if (path === "idx") return { axes: "B T", shape: [1, pass.ids.length], values: pass.ids };
    const noted = await this.noted(pass, path === "probabilities" ? "logits" : path);
    if (!noted || path !== "probabilities") return noted;
    const { model } = this;
    const rows = pass.ids.map((_, t) => [...model.probabilities(noted.values, { t })]);
    return { ...noted, values: rows.flat() };
  }

  /**
   * @param {Pass} pass
   * @param {string} path
   * @returns {Promise<Noted | null>}
   */
  async noted({ ids, tensor }, path) {
    const known = tensor?.(path);
    if (known) return known;
    const request = { ids, key: `flow, tensor ${path}`, record: [path], switches: this.switches() };
    return (await this.model.run(request))?.tensor(path) ?? null;
  }

  /**
   * Some of the columns: keys by their tokens, others by their numbers.
   * @param {Tensor} tensor
   * @param {string[]} tokens
   */
  columns({ axes, shape }, tokens) {
    const width = axes === "B T" ? 1 : shape[shape.length - 1];
    if (axes === "B T") return [{ name: "id", i: 0 }];
    if (axes.endsWith("T T")) return tokens.map((name, i) => ({ name, i }));
    const first = Math.max(0, Math.min(this.state.get("column"), width - SHOWN));
    const letter = axes.slice(-1).toLowerCase();
    return Array.from({ length: Math.min(SHOWN, width) }, (_, i) => {
      return { name: letter + (first + i), i: first + i };
    });
  }

  /**
   * The likeliest tokens, and the one whose logit is spelled out.
   * @param {Row} row
   * @param {number} token
   */
  listed({ values }, token) {
    const best = Array.from(values.keys())
      .sort((a, b) => values[b] - values[a] || a - b)
      .slice(0, SHOWN);
    const ids = best.includes(token) || token >= values.length ? best : [...best, token];
    return ids.map((i) => ({ name: this.model.show(i), i }));
  }

  /**
   * All numbers of the rows, as colours: a click shows those of a place.
   * @param {Row[]} rows
   * @param {number} scale
   */
  overview(rows, scale) {
    const width = Math.min(DRAWN, rows[0].values.length);
    if (width <= SHOWN) return nothing;
    const first = Math.min(this.state.get("column"), width - SHOWN);
    const go = (/** @type {MouseEvent} */ { offsetX, currentTarget }) => {
      const { clientWidth } = /** @type {Element} */ (currentTarget);
      this.state.set({ column: Math.floor((offsetX / clientWidth) * width - SHOWN / 2) });
    };
    const slide = (/** @type {Event} */ { target }) =>
      this.state.set({ column: /** @type {HTMLInputElement} */ (target).valueAsNumber });
    const [cell, high] = [WIDTH / width, 10];
    const all = rows.flatMap(({ values }) => values.slice(0, width));
    return html`<svg
        class="flow-picture"
        viewBox=${`0 0 ${WIDTH} ${high * rows.length}`}
        preserveAspectRatio="none"
        style=${`height:${Math.max(16, 8 * rows.length)}px`}
        @click=${go}
        aria-hidden="true"
      >
        ${svg`${heat(all, { x: 0, y: 0, columns: width, cell, high, scale })}<rect class="chosen-cell"
          x=${first * cell} y="0" width=${SHOWN * cell} height=${high * rows.length}></rect>`}</svg
      ><input
        type="range"
        min="0"
        max=${width - SHOWN}
        .value=${String(first)}
        @input=${slide}
        aria-label="from column"
      />`;
  }

  /**
   * A logit as the sum of products, the largest first.
   * @param {Pass} pass
   * @param {number} at
   * @param {number} token
   */
  async products(pass, at, token) {
    const { model } = this;
    const { config } = model.present;
    const { nEmbd: C, vocabSize } = config;
    const id = Math.min(token, vocabSize - 1);
    const [x, row] = await Promise.all([
      this.noted(pass, "ln_f"),
      model.part({ module: tableOf(config), rows: [id, id + 1], columns: [0, C] }),
    ]);
    return x && dotProduct(x.values.subarray(at * C, (at + 1) * C), row.weight);
  }

  /**
   * @param {ReturnType<typeof dotProduct>} sum
   * @param {{name: string, i: number}[]} columns
   * @param {number} token
   */
  spelled({ terms, rest, many, logit }, columns, token) {
    const one = (/** @type {{name: string, i: number}} */ { name, i }) =>
      html`<button
        type="button"
        aria-pressed=${i === token}
        @click=${() => this.state.set({ token: i })}
      >
        ${name}
      </button>`;
    return html`<div class="chips" role="group" aria-label="whose logit">${columns.map(one)}</div>
      <table class="terms">
        <caption>
          The logit of ${this.model.show(token)}: x · its row of
          ${tableOf(this.model.present.config).replace("transformer.", "")}, the largest products
          first
        </caption>
        ${terms.map(
          ({ c, a, b, p }) =>
            html`<tr>
              <th scope="row">c${c}</th>
              <td>${fixed(a, 2)} · ${fixed(b, 2)}</td>
              <td>${fixed(p, 2)}</td>
            </tr>`,
        )}
        <tr>
          <th scope="row">the other ${many}</th>
          <td></td>
          <td>${fixed(rest, 2)}</td>
        </tr>
        <tr>
          <th scope="row">logit</th>
          <td></td>
          <td>${fixed(logit, 2)}</td>
        </tr>
      </table>`;
  }

  /**
   * @param {string} name
   * @param {Tensor} tensor
   */
  async copy(name, tensor) {
    await Promise.resolve(navigator.clipboard?.writeText(forPython(name, tensor))).then(
      () => this.complain(`${name} is in the clipboard, as a tensor of PyTorch.`),
      () => this.complain("The browser does not let this page write to the clipboard."),
    );
  }
}

/**
 * @param {number} value
 * @param {number} scale
 */
function heatOf(value, scale) {
  return Number.isFinite(value) ? (Math.abs(value) / scale).toFixed(3) : "0";
}
