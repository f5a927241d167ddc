// Another token in a lane's place: one that the model finds likely there, or one that is typed.

import { make, quoted } from "../exhibits/dom.mjs";
import { restOf } from "./read.mjs";

/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { Pass } from "./pass.mjs" */

const MANY = 6;

/**
 * The text with a word in place of a token.
 * @param {{decode: (ids: number[]) => string, eot: number}} tokenizer
 * @param {number[]} ids
 * @param {number} t
 * @param {string} word  a blank before it is added where the token has one
 */
export function exchanged(tokenizer, ids, t, word) {
  const part = (/** @type {number[]} */ some) =>
    tokenizer.decode(some.filter((id) => id !== tokenizer.eot));
  const blank = /^\s/.test(tokenizer.decode([ids[t]])) && !/^\s/.test(word) ? " " : "";
  return part(ids.slice(0, t)) + blank + word + part(ids.slice(t + 1));
}

/**
 * Words that the model finds likely in place of a token, without it.
 * @param {typeof PageModel} model
 * @param {Pass} pass
 * @param {number} t  not the first
 * @returns {Promise<string[] | null>}  null: a newer request took its place
 */
export async function likely(model, { ids, tensor }, t) {
  const { tokenizer } = model.present;
  const logits = /** @type {any} */ (tensor)("logits").values;
  const words = [];
  for (const one of model.best(model.probabilities(logits, { t: t - 1 }), MANY + 1)) {
    if (one.id === ids[t] || one.id === tokenizer.eot) continue;
    const rest = await restOf(model, ids.slice(0, t), one);
    if (rest === null) return null;
    words.push(tokenizer.decode([one.id]) + rest);
  }
  return words.slice(0, MANY);
}

export class Swap {
  /**
   * @param {typeof PageModel} model
   * @param {{latest: () => Promise<Pass | null>, begin: (changes: Record<string, any>) => void,
   *   complain: (error: unknown) => void}} more  `latest`: the pass of the present text, computed here
   */
  constructor(model, { latest, begin, complain }) {
    this.model = model;
    this.latest = latest;
    this.begin = begin;
    this.complain = complain;
    this.text = ""; // in which a token is exchanged
    this.element = make("form", { class: "flow-swap chips", hidden: true });
  }

  /** @param {number} t */
  open(t) {
    this.show(t).catch(this.complain);
  }

  /** @param {number} t */
  async show(t) {
    const pass = await this.latest();
    const { tokenizer } = this.model.present;
    if (!pass?.tensor || !t || pass.ids[t] === tokenizer.eot) return;
    const words = await likely(this.model, pass, t);
    if (!words) return;
    this.text = pass.text;
    const put = (/** @type {string} */ word) => {
      this.element.hidden = true;
      if (word.trim()) this.begin({ text: exchanged(tokenizer, pass.ids, t, word) });
    };
    const field = make("input", {
      type: "text",
      "aria-label": "another word",
      placeholder: "another",
    });
    this.element.onsubmit = (event) => {
      event.preventDefault();
      put(field.value);
    };
    this.element.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.element.hidden = true;
    };
    this.element.replaceChildren(
      make("span", { class: "soft" }, `instead of ${quoted(pass.tokens[t])}:`),
      ...words.map((word) =>
        make("button", { type: "button", onclick: () => put(word) }, word.trim() || word),
      ),
      field,
      make("button", { type: "submit" }, "exchange"),
    );
    this.element.hidden = false;
    this.element.querySelector("button")?.focus({ preventScroll: true });
  }

  /**
   * After a pass is shown.
   * @param {Pass} pass
   * @param {boolean} whole  whether the picture is that of the whole pass
   */
  set(pass, whole) {
    if (pass.text !== this.text || !whole) this.element.hidden = true;
  }
}
