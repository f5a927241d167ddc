// The place of one card: an example that is chosen, or a text that is typed, pasted or dropped.

import { choice, labelled, make } from "../exhibits/dom.mjs";
import { LONGEST, Refused, many, read } from "./read.mjs";

/** @import { Named } from "./view.mjs" */
/** @import { State } from "../exhibits/state.mjs" */
/** @typedef {Record<string, {name: string, text: string}>} Examples */

export const OWN = "own";
const NAMES = ["your card", "your other card"];

/**
 * @param {number} nth  0, or 1 for the one beside it
 * @param {string} key  of the page's state: which example it is
 * @param {Examples} examples
 * @param {State} state
 * @param {() => void} changed  for a text that changes while the state does not
 */
export function side(nth, key, examples, state, changed) {
  let own = ""; // the reader's text
  let unread = ""; // why the text is not there
  const chosen = () => /** @type {string} */ (state.get(key));

  const names = Object.entries(examples).map(([id, { name }]) => [id, name]);
  const none = nth ? [["", "nothing"]] : [];
  const select = choice(Object.fromEntries([...none, ...names, [OWN, "a card of yours"]]), () => {
    state.set({ [key]: select.value });
    if (select.value === OWN) fold.open = true;
  });
  const area = make("textarea", {
    rows: "12",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    "aria-label": nth ? "text of the second card" : "text of the card",
    oninput: () => write(area.value),
  });
  const file = make("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    onchange: () => {
      open(file.files?.[0]);
      file.value = ""; // so that the same file can be chosen again
    },
  });
  const fold = make("details", {}, make("summary", {}, "edit it, or paste another"), area);
  const why = make("p", { class: "card-wrong" });
  const button = make("button", { onclick: () => file.click() }, "open a file");
  const label = nth ? "beside it" : "card";
  const box = make(
    "div",
    { class: "card-side", role: "group", "aria-label": nth ? "second card" : "card" },
    make("div", { class: "switchboard" }, labelled(label, select), button, file),
    fold,
    why,
  );

  /**
   * @param {string} text
   * @param {string} [wrong]  why a file was not read
   */
  const write = (text, wrong = "") => {
    [own, unread] = [text, wrong];
    if (chosen() === OWN) changed();
    else state.set({ [key]: OWN });
  };
  /** @param {File | undefined} given */
  const open = async (given) => {
    if (!given) return;
    fold.open = true;
    if (given.size > LONGEST) {
      const size = `This file has ${many(given.size)} bytes, and a config.json about a thousand.`;
      return write("", `${size} It was not read.`);
    }
    const text = await given.text().catch(() => null); // of a folder there is none
    write(text ?? "", text === null ? "This is no file that can be read." : "");
  };

  /** @returns {Named | string | null} */
  const found = () => {
    const id = chosen();
    select.value = id;
    const text = id === OWN ? own : (examples[id]?.text ?? "");
    if (area.value !== text) area.value = text;
    fold.hidden = !id;
    if (!id) return null;
    if (id === OWN && unread) return unread;
    try {
      return { name: examples[id]?.name ?? NAMES[nth], card: read(text) };
    } catch (error) {
      if (error instanceof Refused) return error.message;
      throw error;
    }
  };

  return {
    box,
    open,
    /** What is in this place: a card with its name, why it cannot be read, or null for nothing. */
    read() {
      const what = found();
      why.textContent = typeof what === "string" ? what : "";
      return what;
    },
  };
}
