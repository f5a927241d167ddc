// The field for a text of the reader's, what its tokens are, and what is known of it.

import { choice as select, labelled, make } from "../exhibits/dom.mjs";
import { textOf } from "./start.mjs";
import { count } from "./words.mjs";

const SHOWN = 20_000; // characters, beyond which a field would be slow

export class OwnText {
  /**
   * @param {(why: unknown) => void} complain
   * @param {() => void} changed
   */
  constructor(complain, changed) {
    this.complain = complain;
    this.changed = changed;
    this.text = "";
    this.unit = /** @type {"characters" | "merges"} */ ("characters");
    this.facts = make("span", { class: "soft" });
    this.area = make("textarea", {
      rows: "7",
      dir: "auto",
      spellcheck: "false",
      placeholder:
        "Paste a text in any language, such as a book or your notes, or drop a file here.",
      "aria-label": "the text to learn from",
      oninput: () => this.take(this.area.value),
      ondragover: (/** @type {DragEvent} */ event) => event.preventDefault(),
      ondrop: (/** @type {DragEvent} */ event) => {
        const [file] = event.dataTransfer?.files ?? [];
        if (!file) return;
        event.preventDefault();
        this.read(file);
      },
    });
    const input = make("input", {
      type: "file",
      hidden: true,
      accept: "text/*,.txt,.md,.csv,.json,.py,.html,.tex",
      onchange: () => input.files?.[0] && this.read(input.files[0]),
    });
    const open = () => {
      input.value = "";
      input.click();
    };
    this.units = select(
      { characters: "characters", merges: "byte-pair merges, learned from it" },
      () => {
        this.unit = /** @type {OwnText["unit"]} */ (this.units.value);
        changed();
      },
    );
    this.element = make(
      "div",
      { class: "own-text" },
      this.area,
      make(
        "div",
        { class: "switchboard" },
        make("button", { onclick: open }, "choose a file"),
        input,
        labelled("Its tokens are", this.units),
        this.facts,
      ),
    );
  }

  /** @param {File} file */
  async read(file) {
    try {
      this.fill(await textOf(file));
    } catch (error) {
      this.complain(error);
    }
  }

  /** @param {string} text  that nobody has typed */
  fill(text) {
    this.area.value = text.slice(0, SHOWN);
    this.take(text);
  }

  /** @param {string} text */
  take(text) {
    this.text = text;
    this.complain("");
    const shown = text.length > SHOWN ? "; the field shows their beginning" : "";
    this.facts.textContent = text
      ? `${count(text.length)} characters${shown}. They stay on this machine.`
      : "";
    this.changed();
  }

  /** @param {boolean} fixed  the model to begin with brings its tokens */
  set(fixed) {
    if (fixed) this.unit = "merges";
    this.units.disabled = fixed;
    this.units.value = this.unit;
  }
}
