// Token strip: the text, as typed and as the model meets it. A token can be chosen, and where the
// exhibit allows it moved to another place.

import { make } from "./dom.mjs";
import { rove } from "./keys.mjs";

/** @typedef {{name: string, id?: number | string, mark?: string, share?: number, fixed?: boolean}} Piece
 *   `mark` is a class for its colour, `share` (0 to 1) how much of it; `fixed` stays in its place */

export class Strip {
  /**
   * @param {{label?: string, chips?: string[], value?: string, onText?: (text: string) => void,
   *   onPick?: (index: number) => void, onMove?: (from: number, to: number) => void,
   *   what?: string}} options  what its pieces are
   */
  constructor({ label = "text", chips = [], value = "", onText, onPick, onMove, what = "token" }) {
    this.onPick = onPick;
    this.onMove = onMove;
    this.plain = !onPick && !onMove;
    this.chosen = -1;
    /** @type {Piece[]} */
    this.pieces = [];
    /** @type {HTMLElement[]} */
    this.buttons = []; // where nothing can be done with them, plain ones
    this.input = make("input", {
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": label,
      oninput: () => onText?.(this.input.value),
    });
    this.input.value = value;
    this.chips = make(
      "div",
      { class: "chips", role: "group", "aria-label": "examples" },
      ...chips.map((text) =>
        make(
          "button",
          { type: "button", onclick: () => ((this.input.value = text), onText?.(text)) },
          text,
        ),
      ),
    );
    this.note = make("p", { class: "soft" });
    this.list = make("ol", { class: "strip", "aria-label": `${what}s` });
    const hint = onMove
      ? `Drag a ${what}, or choose it and press Alt with an arrow key, to move it.`
      : "";
    this.element = make(
      "div",
      { class: "strip-box" },
      ...(chips.length ? [this.chips] : []),
      ...(onText ? [this.input] : []),
      this.list,
      ...(hint ? [make("p", { class: "soft" }, hint)] : []),
      this.note,
    );
    rove(this.list, "button", (from, step, event) => {
      if (!onMove || !event.altKey) return false;
      this.move(from, from + step);
      return true;
    });
  }

  /**
   * @param {Piece[]} pieces
   * @param {{chosen?: number, text?: string, note?: string, cut?: number}} [more]  `cut`: how many
   *   tokens before them did not fit
   */
  set(pieces, { chosen = -1, text, note = "", cut = 0 } = {}) {
    if (text !== undefined && text !== this.input.value && document.activeElement !== this.input) {
      this.input.value = text;
    }
    this.pieces = pieces;
    this.chosen = chosen;
    const gone = cut === 1 ? "the first token is" : `the first ${cut} tokens are`;
    this.note.textContent = (cut > 0 ? `So that all can be seen, ${gone} left out. ` : "") + note;
    while (this.buttons.length > pieces.length) this.buttons.pop()?.parentElement?.remove();
    while (this.buttons.length < pieces.length) this.buttons.push(this.button(this.buttons.length));
    pieces.forEach(({ name, id, mark = "", share }, i) => {
      const button = this.buttons[i];
      const [title, number] = button.children;
      if (title.textContent !== name) title.textContent = name;
      number.textContent = id === undefined ? "" : String(id);
      button.className = mark;
      button.style.setProperty("--share", String(share ?? 0));
      if (this.onPick) button.setAttribute("aria-pressed", String(i === chosen));
      if (!this.plain) button.tabIndex = i === (chosen < 0 ? 0 : chosen) ? 0 : -1;
    });
  }

  /** @param {number} index */
  button(index) {
    const onclick = () => {
      if (this.dragged) this.dragged = false;
      else this.onPick?.(index);
    };
    const button = this.plain
      ? make("span", {}, make("b"), make("i"))
      : make("button", { type: "button", onclick }, make("b"), make("i"));
    if (this.onMove) this.drag(button, index);
    this.list.append(make("li", {}, button));
    return button;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  move(from, to) {
    const { pieces } = this;
    if (from === to || !pieces[from] || !pieces[to] || pieces[from].fixed || pieces[to].fixed) {
      return;
    }
    this.onMove?.(from, to);
    this.buttons[to]?.focus();
  }

  /**
   * @param {HTMLElement} button
   * @param {number} index
   */
  drag(button, index) {
    button.style.touchAction = "none";
    button.addEventListener("pointerdown", (down) => {
      if (down.button !== 0 || this.pieces[index]?.fixed) return;
      button.setPointerCapture(down.pointerId);
      const shift = (/** @type {PointerEvent} */ event) => {
        const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
        button.style.translate = `${x}px ${y}px`;
      };
      const end = (/** @type {PointerEvent} */ event) => {
        button.removeEventListener("pointermove", shift);
        button.removeEventListener("pointerup", end);
        button.removeEventListener("pointercancel", end);
        button.style.translate = "";
        const [x, y] = [event.clientX, event.clientY];
        this.dragged = Math.hypot(x - down.clientX, y - down.clientY) > 6;
        if (this.dragged && event.type === "pointerup") this.move(index, this.nearest(x, y));
      };
      button.addEventListener("pointermove", shift);
      button.addEventListener("pointerup", end);
      button.addEventListener("pointercancel", end);
    });
  }

  /**
   * The place of the token that is nearest to a point of the window.
   * @param {number} x
   * @param {number} y
   */
  nearest(x, y) {
    const far = this.buttons.map((button) => {
      const box = button.parentElement?.getBoundingClientRect() ?? new DOMRect();
      return Math.hypot(x - box.x - box.width / 2, 3 * (y - box.y - box.height / 2));
    });
    return far.indexOf(Math.min(...far));
  }
}
