// What the reader may switch off: parts of the model, and heads.

import { labelled, make } from "../exhibits/dom.mjs";

const PARTS = /** @type {Record<string, string>} */ ({
  mask: "mask",
  positions: "positions",
  scale: "√D",
  layerNorm: "LayerNorm",
});

export class Switches {
  /** @param {() => void} turned */
  constructor(turned) {
    this.boxes = Object.keys(PARTS).map((value) =>
      make("input", { type: "checkbox", value, checked: true, onchange: turned }),
    );
    this.heads = make("input", { type: "text", placeholder: "none", size: "8", oninput: turned });
    this.element = make(
      "fieldset",
      { class: "controls" },
      make("legend", {}, "parts in use"),
      ...this.boxes.map((box) => make("label", { class: "switch" }, box, PARTS[box.value])),
      labelled("heads off, such as 1.0", this.heads),
    );
  }

  /** As model.mjs takes them; heads as "block.head". */
  get settings() {
    const off = this.boxes.filter((box) => !box.checked).map((box) => [box.value, false]);
    return { ...Object.fromEntries(off), headsOff: this.heads.value.match(/[^\s,]+/g) ?? [] };
  }
}
