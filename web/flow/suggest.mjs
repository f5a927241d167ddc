// What is offered while a text is typed: words that the model knows, the likeliest first; behind a known
// word what it would say next, in place of an unknown one others of its kind. And a dice.

import { unknown, worldsWords } from "../exhibits/crane_world.mjs";
import { make } from "../exhibits/dom.mjs";
import { insteadOf } from "./instead.mjs";

/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { Pass } from "./pass.mjs" */
/** @typedef {{word: string, text: string, caret: number}} Offer  what the text becomes with it */

const MOST = 7; // words
const TRIED = 10; // words whose every token is asked for
const NARROW = 672; // px of a window in which the field has no room for it
const LIST = "flow-suggest";

/**
 * What of a text is to be written or replaced: the word that the caret stands in, or the one that is
 * growing at it.
 * @param {string} text
 * @param {number} at  the caret
 */
export function placeIn(text, at) {
  const before = /\p{L}+$/u.exec(text.slice(0, at))?.[0] ?? "";
  const after = /^\p{L}*/u.exec(text.slice(at))?.[0] ?? "";
  const [start, end] = [at - before.length, at + after.length];
  return { start, end, word: text.slice(start, end), grows: !after };
}

export class Suggest {
  /**
   * @param {typeof PageModel} model
   * @param {HTMLInputElement} field
   * @param {string} first  the text with which it begins
   * @param {(error: unknown) => void} complain
   */
  constructor(model, field, first, complain) {
    this.model = model;
    this.field = field;
    this.complain = complain;
    this.round = 0;
    this.open = false;
    this.chosen = -1;
    this.grows = false; // the text, at its end
    /** @type {Offer[]} */
    this.offers = [];
    /** @type {Pass | null} */
    this.pass = null;
    /** @type {Map<string, Map<string, number>>} */
    this.known = new Map();
    this.list = make("div", { class: "chips", role: "listbox", id: LIST, "aria-label": "words" });
    this.ghost = make("span", { class: "flow-ghost", "aria-hidden": "true" });
    const onclick = () => this.roll().catch(complain);
    const name = "roll the dice: exchange the word at the cursor";
    this.dice = make(
      "button",
      { class: "flow-dice", title: name, "aria-label": name, onclick },
      "⚄",
    );
    const box = { role: "combobox", "aria-autocomplete": "list", "aria-controls": LIST };
    for (const [key, value] of Object.entries(box)) field.setAttribute(key, value);
    const examples = field.closest(".strip-box")?.querySelector(".flow-examples");
    field.after(this.ghost);
    if (innerWidth < NARROW) examples?.prepend(this.dice);
    else this.ghost.after(this.dice);
    examples?.prepend(this.list); // whose place it takes
    const offer = () => this.offer().catch(complain);
    field.addEventListener("input", () => ((this.open = true), offer()));
    field.addEventListener("click", () => this.open && offer());
    field.addEventListener("blur", () => this.close());
    field.addEventListener("keydown", (event) => this.press(event));
    this.close();
    this.open = document.activeElement === field && field.value !== first; // typed before this came
    if (this.open) offer();
  }

  close() {
    this.open = false;
    this.show([]);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { field, offers, chosen } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const end = field.selectionStart === field.value.length;
    if (step && !offers.length) {
      this.open = true;
      this.offer().catch(this.complain);
    } else if (step) this.choose((chosen + step + offers.length + 1) % (offers.length + 1));
    else if (event.key === "Enter" && offers[chosen]) this.take(offers[chosen]);
    else if (event.key === "ArrowRight" && end && this.ghost.textContent) this.take(offers[0]);
    else if (event.key === "Escape" && this.open) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} nth  of the offers; as many as there are: none */
  choose(nth) {
    this.chosen = nth === this.offers.length ? -1 : nth;
    [...this.list.querySelectorAll("[role=option]")].forEach((one, i) => {
      one.ariaSelected = String(i === this.chosen);
      if (i === this.chosen) one.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    this.field.setAttribute("aria-activedescendant", this.chosen < 0 ? "" : `${LIST}-${nth}`);
  }

  /** @param {Offer} offer */
  take({ text, caret }) {
    this.field.value = text;
    this.field.setSelectionRange(caret, caret);
    this.field.dispatchEvent(new Event("input"));
  }

  /**
   * @param {Offer[]} offers
   * @param {string} [instead]  of which word
   * @param {string} [rest]  of the word that is growing
   */
  show(offers, instead = "", rest = "") {
    const { field, list, ghost } = this;
    const kept = this.offers[this.chosen]?.word;
    this.offers = offers;
    const fits = rest && field.scrollWidth <= field.clientWidth;
    ghost.replaceChildren(...(fits ? [make("i", {}, field.value), rest] : []));
    field.closest(".strip-box")?.classList.toggle("suggests", offers.length > 0);
    field.ariaExpanded = String(offers.length > 0);
    const what = make(
      "span",
      { class: "soft" },
      `instead of “${Array.from(instead).slice(0, 20).join("")}”:`,
    );
    const pills = offers.map((offer, i) => {
      const of = { role: "option", id: `${LIST}-${i}`, tabindex: "-1" };
      const onpointerdown = (/** @type {Event} */ event) => event.preventDefault(); // the field keeps the focus
      return make("button", { ...of, onpointerdown, onclick: () => this.take(offer) }, offer.word);
    });
    list.replaceChildren(...(instead && pills.length ? [what] : []), ...pills);
    const at = offers.findIndex(({ word }) => word === kept);
    this.choose(at < 0 ? offers.length : at);
  }

  /** Words of the model's language by their first token, at the beginning of a text or behind it. */
  words(first = false) {
    const { tokenizer, config } = this.model.present;
    const of = `${this.model.loaded?.name} ${first}`;
    const known = this.known.get(of);
    if (known) return known;
    const blank = first ? "" : " ";
    /** @type {Map<string, number>} */
    const words = new Map();
    for (const word of worldsWords()) words.set(word, tokenizer.encode(blank + word)[0]);
    for (let id = 0; !worldsWords().size && id < config.vocabSize; id++) {
      const text = tokenizer.decode([id]);
      if (/^\p{L}{2,}$/u.test(text.slice(blank.length)) && text.startsWith(blank))
        words.set(text.slice(blank.length), id);
    }
    this.known.set(of, words);
    return words;
  }

  /**
   * Words and their probabilities behind a text, the likeliest first: of those whose first token is
   * likely, that of all their tokens.
   * @param {string} before
   * @param {(word: string) => boolean} fits
   * @returns {Promise<[string, number][] | null>}  null: a newer request took its place
   */
  async ranked(before, fits) {
    const { model } = this;
    const { tokenizer } = model.present;
    const text = before.trimEnd();
    const key = "flow, suggest";
    const { ids } = await model.encode(text);
    const run = await model.run({ ids, key, lastOnly: true });
    if (!run) return null;
    const p = model.probabilities(run.logits);
    const found = [...this.words(!text)].filter(([word]) => fits(word));
    found.sort(([a, x], [b, y]) => p[y] - p[x] || a.length - b.length);
    const words = /** @type {[string, number][]} */ ([]);
    for (const [word, first] of found.slice(0, TRIED)) {
      const own = tokenizer.encode((text ? " " : "") + word);
      let share = p[first];
      if (own.length > 1 && share > 0.001) {
        const more = await model.run({ ids: [...ids, ...own.slice(0, -1)], key });
        if (!more) return null;
        own.slice(1).forEach((id, i) => {
          share *= model.probabilities(more.logits, { t: ids.length + i })[id];
        });
      }
      words.push([word, share]);
    }
    return words.sort(([, a], [, b]) => b - a);
  }

  /** No story begins with some words, but a sentence does: this stands before it. @param {string} text */
  asSentence(text) {
    const [first = ""] = text.match(/^\p{L}+/u) ?? [];
    const { tokenizer } = this.model.present;
    const [alone, inside] = [first, ` ${first}`].map((one) => tokenizer.encode(one).length);
    return (alone > inside ? ". " : "") + text;
  }

  /**
   * How likely it is that a text goes on so.
   * @param {string} before
   * @param {string} next
   */
  async follows(before, next) {
    const { model } = this;
    const { ids } = await model.encode(this.asSentence(before));
    const run = await model.run({ ids, key: "flow, suggest", lastOnly: true });
    return run ? model.probabilities(run.logits)[model.present.tokenizer.encode(next)[0]] : 0;
  }

  /**
   * What may take the place of unknown words.
   * @param {string} text
   * @param {string[]} strange
   */
  instead(text, strange) {
    return insteadOf(text, strange, {
      ranked: (before, fits) => this.ranked(this.asSentence(before), fits),
      follows: (before, next) => this.follows(before, next),
    });
  }

  async offer() {
    const { field, pass } = this;
    if (!this.open) return;
    const round = ++this.round;
    await this.model.ready();
    const text = field.value;
    const strange = unknown(text);
    const place = strange.length ? await this.instead(text, strange) : null;
    const here = place ?? placeIn(text, field.selectionStart ?? text.length);
    const { start, end, grows = false } = { grows: false, ...here };
    const word = text.slice(start, end);
    this.grows = grows && end === text.length;
    const put = (/** @type {string} */ one) => {
      const longer = text.slice(0, start) + one + text.slice(end);
      return { word: one, text: longer, caret: start + one.length };
    };
    const fits = (/** @type {string} */ one) => one !== word && (!grows || one.startsWith(word));
    const asked = place || (grows && !word) ? [] : await this.ranked(text.slice(0, start), fits);
    const words = place ? place.words : asked?.map(([one]) => one);
    if (!words || round !== this.round || !this.open) return;
    if (!grows) return this.show(words.slice(0, MOST).map(put), word);
    const begins = word && !this.words(!start).has(word); // and is no word yet
    const now = pass?.text === text.trimEnd() && end === text.length ? pass.next : [];
    const next = now
      .filter(({ p, name }) => !begins && p >= 0.01 && !name.startsWith("⟨"))
      .map((one) => {
        const more = this.model.present.tokenizer.decode([one.id]) + (one.rest ?? "");
        const longer = text.trimEnd() + more;
        return { word: more.trim() || more, text: longer, caret: longer.length };
      });
    const offers = [...words.slice(0, next.length ? 2 : MOST).map(put), ...next].slice(0, MOST);
    this.show(
      offers,
      "",
      word && words[0] && end === text.length ? words[0].slice(word.length) : "",
    );
  }

  /** Another word in place of that at the caret: drawn as the model expects it there. */
  async roll() {
    const { field, model } = this;
    await model.ready();
    const text = field.value;
    const places = [...text.matchAll(/\p{L}{4,}/gu)]; // words that say something
    const caret = field.selectionStart ?? 0;
    const within = places.find(
      ({ index, 0: word }) => index <= caret && caret <= index + word.length,
    );
    const any = places[Math.floor(Math.random() * places.length)];
    const { index: start, 0: word } = (caret < text.length && within) || any || { index: 0, 0: "" };
    const ranked = await this.ranked(text.slice(0, start), (one) => one !== word);
    if (!ranked?.length) return;
    let dart = Math.random() * ranked.reduce((sum, [, p]) => sum + p, 0);
    const [other] = ranked.find(([, p]) => (dart -= p) <= 0) ?? ranked[0];
    const caretThen = start + (caret < text.length ? 0 : text.length);
    const longer = text.slice(0, start) + other + text.slice(start + word.length);
    this.take({ word: other, text: longer, caret: caretThen });
    this.close();
  }

  /** After a pass is shown. @param {Pass} pass */
  set(pass) {
    this.pass = pass;
    if (this.grows) this.offer().catch(this.complain); // what comes next is known
  }
}
