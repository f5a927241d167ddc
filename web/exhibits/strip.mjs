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
      ? `To move a ${what}, drag it; or focus it with Tab and press Alt with an arrow key.`
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
    pieces.forEach(({ name, id, mark = "", share, fixed = false }, i) => {
      const button = this.buttons[i];
      const [title, number] = button.children;
      if (title.textContent !== name) title.textContent = name;
      number.textContent = id === undefined ? "" : String(id);
      button.className = mark;
      button.classList.toggle("fixed", fixed);
      button.title = fixed ? "stays in its place" : "";
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
        this.mark(index, this.landing(index, event.clientX, event.clientY));
      };
      const end = (/** @type {PointerEvent} */ event) => {
        button.removeEventListener("pointermove", shift);
        button.removeEventListener("pointerup", end);
        button.removeEventListener("pointercancel", end);
        button.style.translate = "";
        this.mark(index, index);
        const [x, y] = [event.clientX, event.clientY];
        this.dragged = Math.hypot(x - down.clientX, y - down.clientY) > 6;
        if (this.dragged && event.type === "pointerup") this.move(index, this.landing(index, x, y));
      };
      button.addEventListener("pointermove", shift);
      button.addEventListener("pointerup", end);
      button.addEventListener("pointercancel", end);
    });
  }

  /**
   * Where a piece lands that is let go at a point of the window: in the row nearest to it, behind
   * those whose middle lies before it.
   * @param {number} index
   * @param {number} x
   * @param {number} y
   */
  landing(index, x, y) {
    const boxes = [...this.list.children].map((item) => item.getBoundingClientRect());
    const far = boxes.map((box) => Math.abs(y - box.y - box.height / 2));
    const row = boxes[far.indexOf(Math.min(...far))].y;
    const before = boxes.filter(
      (box, i) => i !== index && (box.y < row || (box.y === row && box.x + box.width / 2 < x)),
    );
    const free = this.pieces.flatMap((piece, i) => (piece.fixed ? [] : [i]));
    return Math.min(free[free.length - 1], Math.max(free[0], before.length));
  }

  /**
   * Show where a piece would land.
   * @param {number} from
   * @param {number} to
   */
  mark(from, to) {
    [...this.list.children].forEach((item, i) => {
      item.classList.toggle("lands-before", i === to && to < from);
      item.classList.toggle("lands-behind", i === to && to > from);
    });
  }
}
