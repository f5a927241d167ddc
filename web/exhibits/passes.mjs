// The passes of a large model that reads what a small one has drafted: a cell for each token, with both
// bars and the dart.

import { make } from "./dom.mjs";
import { share } from "./bars.mjs";
import { rove } from "./keys.mjs";
import { COPY, GATHER, WRITE, move } from "./motion.mjs";

/** @import { Drafted, Next, Pass } from "./drafting.mjs" */
/** @typedef {Drafted | Next} Token */

const MARKS = { stays: "✓", goes: "✗", unread: "–" };
const FALL = [
  { opacity: 0, translate: "0 -1.5rem" },
  { opacity: 1, translate: "0 0" },
];

export class Passes {
  /** @param {(token: string) => void} onPick  "2.0": the third pass, the first of its tokens */
  constructor(onPick) {
    this.onPick = onPick;
    /** @type {Pass[]} */
    this.passes = [];
    this.list = make("ol", { class: "passes", "aria-label": "passes of the large model" });
    rove(this.list);
  }

  /**
   * The first passes of a text. One that joins those that are there is seen to happen; returned are
   * the milliseconds that it takes.
   * @param {Pass[]} passes  of the whole text
   * @param {number} many
   */
  set(passes, many) {
    const { list } = this;
    if (passes !== this.passes) list.replaceChildren();
    const before = list.children.length;
    while (list.children.length > many) list.lastElementChild?.remove();
    for (let n = before; n < many; n++) list.append(this.row(passes[n], n));
    this.passes = passes;
    return before && many > before ? arrive(list.children[before]) : 0;
  }

  /**
   * @param {number} pass
   * @param {number} token
   * @returns {Token}
   */
  choose(pass, token) {
    [...this.list.children].forEach((item, n) =>
      item.querySelectorAll("button").forEach((one, i) => {
        const chosen = n === pass && i === token;
        one.setAttribute("aria-pressed", String(chosen));
        one.tabIndex = chosen ? 0 : -1;
      }),
    );
    return tokensOf(this.passes[pass])[token];
  }

  /**
   * @param {Pass} pass
   * @param {number} n
   */
  row(pass, n) {
    const cells = tokensOf(pass).map((token, i) => this.cell(token, `${n}.${i}`));
    const title = make("span", { class: "soft" }, `pass ${n + 1}`);
    return make("li", {}, title, make("div", { class: "cells" }, ...cells));
  }

  /**
   * @param {Token} token
   * @param {string} id
   */
  cell(token, id) {
    const drafted = "fate" in token;
    const tracks = drafted
      ? [bar("q", token.q), ...(token.dart === null ? [] : [bar("p", token.p)])]
      : [bar("p", token.p)];
    if (drafted && token.dart !== null) tracks.push(dart(token));
    return make(
      "button",
      {
        class: drafted ? token.fate : "next",
        "aria-label": aloud(token),
        onclick: () => this.onPick(id),
      },
      make("b", {}, token.name),
      make("s", {}, drafted ? MARKS[token.fate] : "+"),
      make("span", { class: "tracks" }, ...tracks),
    );
  }
}

/** @param {Pass} pass @returns {Token[]} */
export function tokensOf({ drafted, next }) {
  return next ? [...drafted, next] : drafted;
}

/**
 * @param {"q" | "p"} name
 * @param {number} value
 */
export function bar(name, value) {
  const one = make("i", { class: name });
  one.style.setProperty("--share", value.toFixed(4));
  return one;
}

/**
 * Where the dart lands on q.
 * @param {Drafted} token  that was judged
 */
export function dart({ dart, q }) {
  const one = make("u", {});
  one.style.left = `${(100 * Number(dart) * q).toFixed(2)}%`;
  return one;
}

/** The drafted tokens come one after the other, p of all at once, then dart by dart, then one more. */
function arrive(/** @type {Element} */ row) {
  const cells = [...row.querySelectorAll("button")];
  const read = cells.filter((one) => one.className !== "next").length * COPY;
  cells.forEach((one, i) => {
    const judged = read + GATHER + i * COPY;
    const next = one.className === "next";
    move(one, [{ opacity: 0 }, { opacity: 1 }], { delay: next ? judged : i * COPY });
    if (next) return;
    const [p, dart, mark] = [".p", "u", "s"].map((part) => one.querySelector(part));
    if (p) move(p, [{ scale: "0 1" }, { scale: "1 1" }], { delay: read, duration: WRITE });
    if (dart) move(dart, FALL, { delay: judged });
    if (mark) move(mark, [{ opacity: 0 }, { opacity: 1 }], { delay: judged + COPY });
  });
  return read + GATHER + cells.length * COPY;
}

/** @param {Token} token */
function aloud(token) {
  if (!("fate" in token)) return `${token.name}: one token more, p ${share(token.p)}`;
  const { name, fate, q, p } = token;
  if (fate === "unread") return `${name}: thrown away, q ${share(q)}`;
  return `${name}: ${fate}, q ${share(q)}, p ${share(p)}`;
}
