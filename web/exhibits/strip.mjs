// Token strip: the text, as typed and as the model meets it. A token can be chosen, and where the
// exhibit allows it moved to another place.

import { make } from "./dom.mjs";
import { rove } from "./keys.mjs";
import { flip } from "./motion.mjs";

/** @typedef {{name: string, id?: number | string, mark?: string, share?: number, fixed?: boolean}} Piece
 *   `mark` is a class for its colour, `share` (0 to 1) how much of it; `fixed` stays in its place */

/** @typedef {{label?: string, chips?: string[], value?: string, onText?: (text: string) => void,
 *   onPick?: (index: number) => void, onMove?: (from: number, to: number) => void,
 *   what?: string}} Options  what: its pieces are */

/**
 * The strip of the page's text.
 * @param {import("./state.mjs").State} state
 * @param {{chips?: string[]}} settings
 * @param {Options} [more]
 */
export function textStrip(state, { chips }, more) {
  const onText = (/** @type {string} */ text) => state.set({ text });
  return new Strip({ value: state.get("text"), chips, onText, ...more });
}

export class Strip {
  /** @param {Options} options */
  constructor({ label = "text", chips = [], value = "", onText, onPick, onMove, what = "token" }) {
    this.onPick = onPick;
    this.onMove = onMove;
    this.plain = !onPick && !onMove;
    /** @type {Piece[]} */
    this.pieces = [];
    /** @type {HTMLElement[]} */
    this.buttons = []; // where nothing can be done with them, plain ones
    /** @type {HTMLElement | null} */
    this.held = null; // the one that is dragged
    this.late = () => {}; // what came meanwhile
    this.input = make("input", {
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": label,
      oninput: () => onText?.(this.input.value),
    });
    this.input.value = value;
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "examples" });
    this.offer = (/** @type {string[]} */ texts) =>
      this.chips.replaceChildren(
        ...texts.map((text) =>
          make("button", { onclick: () => ((this.input.value = text), onText?.(text)) }, text),
        ),
      );
    this.offer(chips);
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
    rove(this.list, (from, step, event) => {
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
    if (this.held) {
      this.late = () => this.set(pieces, { chosen, text, note, cut });
      return;
    }
    if (this.onMove) this.follow(pieces);
    if (text !== undefined && text !== this.input.value && document.activeElement !== this.input) {
      this.input.value = text;
    }
    this.pieces = pieces;
    const gone = cut === 1 ? "the first token is" : `the first ${cut} tokens are`;
    this.note.textContent = (cut > 0 ? `So that all can be seen, ${gone} left out. ` : "") + note;
    while (this.buttons.length > pieces.length) this.buttons.pop()?.parentElement?.remove();
    while (this.buttons.length < pieces.length) this.buttons.push(this.button());
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

  button() {
    const onclick = () => {
      if (this.dragged) this.dragged = false;
      else this.onPick?.(this.buttons.indexOf(button));
    };
    const button = this.plain
      ? make("span", {}, make("b"), make("i"))
      : make("button", { onclick }, make("b"), make("i"));
    if (this.onMove) this.drag(button);
    this.list.append(make("li", {}, button));
    return button;
  }

  /**
   * The same pieces in another order go to their new places.
   * @param {Piece[]} pieces
   */
  follow(pieces) {
    const left = this.pieces.map((_, i) => i);
    const order = pieces.map(({ name }) => {
      const at = left.findIndex((i) => this.pieces[i].name === name);
      return at < 0 ? -1 : left.splice(at, 1)[0];
    });
    if (!left.length && !order.includes(-1)) this.reorder(order);
  }

  /**
   * The one that is dragged, or has the focus, stays in the document, and the others go around it.
   * @param {number[]} order  where each stood before
   */
  reorder(order) {
    if (order.every((from, i) => from === i)) return;
    this.buttons = order.map((i) => this.buttons[i]);
    this.pieces = order.map((i) => this.pieces[i]);
    const rest = this.buttons.indexOf(
      this.held ?? /** @type {HTMLElement} */ (document.activeElement),
    );
    const items = this.buttons.map(
      ({ parentElement }) => /** @type {HTMLElement} */ (parentElement),
    );
    flip(
      this.buttons.filter((one) => one !== this.held),
      () => {
        if (rest > 0) items[rest].before(...items.slice(0, rest));
        this.list.append(...items.slice(rest + 1));
      },
    );
  }

  /**
   * The order in which one piece has moved.
   * @param {number} from
   * @param {number} to
   */
  moved(from, to) {
    const order = this.buttons.map((_, i) => i);
    order.splice(to, 0, ...order.splice(from, 1));
    return order;
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
    this.reorder(this.moved(from, to));
    this.onMove?.(from, to);
    this.buttons[to]?.focus({ preventScroll: true });
  }

  /**
   * A piece follows the pointer, and the others step aside.
   * @param {HTMLElement} button
   */
  drag(button) {
    button.style.touchAction = "none";
    button.addEventListener("pointerdown", (down) => {
      const first = this.buttons.indexOf(button);
      if (down.button !== 0 || this.held || this.pieces[first]?.fixed) return;
      const item = /** @type {HTMLElement} */ (button.parentElement);
      const { offsetLeft: x0, offsetTop: y0 } = item;
      button.setPointerCapture(down.pointerId);
      this.held = button;
      const shift = (/** @type {PointerEvent} */ event) => {
        const here = this.buttons.indexOf(button);
        this.reorder(this.moved(here, this.landing(here, event.clientX, event.clientY)));
        const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
        button.style.translate = `${x0 + x - item.offsetLeft}px ${y0 + y - item.offsetTop}px`;
      };
      const end = (/** @type {PointerEvent} */ event) => {
        button.removeEventListener("pointermove", shift);
        button.removeEventListener("pointerup", end);
        button.removeEventListener("pointercancel", end);
        const to = this.buttons.indexOf(button);
        flip([button], () => (button.style.translate = ""));
        const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
        this.dragged = Math.hypot(x, y) > 6;
        const done = this.dragged && event.type === "pointerup";
        if (!done) this.reorder(this.moved(to, first));
        this.held = null;
        this.late();
        this.late = () => {};
        if (done && to !== first) this.onMove?.(first, to);
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
    const origin = this.list.getBoundingClientRect();
    const [right, down] = [x - origin.x - 1, y - origin.y]; // offsets are whole numbers
    const items = /** @type {HTMLElement[]} */ ([...this.list.children]); // where they come to rest
    const far = items.map((one) => Math.abs(down - one.offsetTop - one.offsetHeight / 2));
    const row = items[far.indexOf(Math.min(...far))].offsetTop;
    const before = items.filter(
      ({ offsetTop, offsetLeft, offsetWidth }, i) =>
        i !== index &&
        (offsetTop < row || (offsetTop === row && offsetLeft + offsetWidth / 2 < right)),
    );
    const free = this.pieces.flatMap((piece, i) => (piece.fixed ? [] : [i]));
    return Math.min(free[free.length - 1], Math.max(free[0], before.length));
  }
}
