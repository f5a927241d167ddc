// Another token in a lane's place: one that the model finds likely there, or one that is typed.

import { senseAfter } from "../exhibits/crane_world.mjs";
import { bare, fixed, make, quoted } from "../exhibits/dom.mjs";
import { restOf } from "../exhibits/rest_of.mjs";

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
   * @param {HTMLElement} stage  over which the words stand, beside their token
   * @param {{latest: () => Promise<Pass | null>, begin: (changes: Record<string, any>) => void,
   *   complain: (error: unknown) => void}} more  `latest`: the pass of the present text, computed here
   */
  constructor(model, stage, { latest, begin, complain }) {
    this.model = model;
    this.latest = latest;
    this.begin = begin;
    this.complain = complain;
    this.text = ""; // in which a token is exchanged
    this.stage = stage;
    this.round = 0;
    this.element = make("form", { class: "flow-swap", hidden: true });
    stage.append(this.element);
    document.addEventListener("pointerdown", ({ target }) => {
      if (!this.element.contains(/** @type {Node} */ (target))) this.element.hidden = true;
    });
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
    const token = () =>
      /** @type {SVGElement | null} */ (this.stage.querySelector(".token.chosen"));
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
      token()?.focus({ preventScroll: true });
    };
    const buttons = words.map((word) =>
      make(
        "button",
        { type: "button", onclick: () => put(word) },
        make("b", {}, word.trim() || word),
      ),
    );
    this.element.replaceChildren(
      make(
        "span",
        { class: "soft" },
        `instead of ${quoted(pass.tokens[t])}, and what comes next then:`,
      ),
      ...buttons,
      field,
      make("button", { type: "submit" }, "exchange"),
    );
    this.element.hidden = false;
    const box = token()?.querySelector("rect")?.getBoundingClientRect();
    const { left, top, width, height } = this.stage.getBoundingClientRect();
    if (box) {
      const { offsetWidth: w, offsetHeight: h } = this.element;
      const [x, y] = [box.right - left + 8, box.top - top]; // beside it; on a phone below
      const beside = x + w <= width;
      const at = beside
        ? [x, Math.min(y, height - h - 8)]
        : [(width - w) / 2, box.bottom - top + 8];
      [this.element.style.left, this.element.style.top] = at.map((px) => `${px}px`);
    }
    buttons[0]?.focus({ preventScroll: true });
    const texts = words.map((word) => exchanged(tokenizer, pass.ids, t, word));
    await this.tell(buttons, texts, pass.off);
  }

  /**
   * Beside each word, what the model would say next.
   * @param {HTMLElement[]} buttons
   * @param {string[]} texts
   * @param {string[]} [headsOff]  that are cut
   */
  async tell(buttons, texts, headsOff = []) {
    const { model } = this;
    const round = ++this.round;
    for (const [i, text] of texts.entries()) {
      const { ids } = await model.encode(text);
      const asked = { ids, key: "flow, swap", lastOnly: true, switches: { headsOff } };
      const run = await model.run(asked);
      if (!run || round !== this.round || this.element.hidden) return;
      const [best] = model.best(model.probabilities(run.logits), 1);
      const rest = await restOf(model, ids, best);
      const says = `→ ${bare(best.name)}${rest ?? ""} ${fixed(best.p, 2)}`;
      buttons[i].append(" ", make("i", { class: senseAfter(text)(best.id) }, says));
    }
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
