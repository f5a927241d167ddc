// What the model writes while it learns: the latest text, how far the judge could read it, and how far
// he could read those before.

import { make } from "../exhibits/dom.mjs";
import { count, percent, rightOf } from "./words.mjs";

/** @import { Mark, Side } from "./drive.mjs" */

const MOST = 60; // stories in the strip

/**
 * A text with the place marked where it leaves the language.
 * @param {string} text
 * @param {number | null} failsAt
 */
export function marked(text, failsAt) {
  if (failsAt === null) return [text];
  return [text.slice(0, failsAt), make("mark", {}, `⟦${text.slice(failsAt)}`)];
}

/**
 * A text up to its last whole word, if a full window has cut it.
 * @param {string} text
 */
export function whole(text) {
  const cut = !/[.!?…。！？؟][\s"'”’»)\]]*$/u.test(text);
  const end = cut ? text.search(/\s\S*$/u) : -1;
  return { cut, text: end > text.length / 2 ? `${text.slice(0, end)} …` : text };
}

/**
 * What is to be said of a text: pieces of a sentence. Expected words are isolated, as they may run
 * from right to left.
 * @param {Pick<Mark, "right" | "read" | "expected" | "failsAt" | "story">} mark
 * @param {Side["plan"]} plan
 * @returns {(Node | string)[]}
 */
export function verdict({ right, read, expected, failsAt, story }, plan) {
  if (right === null) return []; // a text of the reader's own has no end to reach
  if (right)
    return [`A ${plan?.data.kind === "sentences" ? "sentence" : "story"} by all the rules.`];
  if (failsAt === null)
    return [
      whole(story).cut
        ? `The window of ${plan?.model.T} tokens is full here.`
        : "It ends too early.",
    ];
  const some = (expected ?? []).slice(0, 3).flatMap((one, i) => [i ? " or " : "", quoted(one)]);
  const next = some.length ? [", where ", ...some, " could follow"] : [];
  return [`Right for ${percent(read ?? 0)}`, ...next, "."];
}

/** @param {string} token */
export function quoted(token) {
  return make("bdi", {}, `“${token.trim() || token}”`);
}

export class Stories {
  /** @param {string} kind  the class of its run */
  constructor(kind) {
    this.title = make("p", { class: "soft" });
    this.text = make("p", { class: "story", dir: "auto" });
    this.verdict = make("p", { class: "verdict" });
    this.strip = make("div", { class: "read-marks", role: "img" });
    this.caption = make(
      "p",
      { class: "soft" },
      "How far each story is right, the latest on the right. One by all the rules is coloured.",
    );
    this.counted = make("p", { class: "soft counted" });
    this.element = make(
      "div",
      { class: `stories ${kind}` },
      this.title,
      make("div", { class: "latest" }, this.text, this.verdict),
      this.strip,
      this.caption,
      this.counted,
    );
  }

  /**
   * @param {Side} side
   * @param {string} [name]  of the run, where there are two
   */
  set(side, name = "") {
    const { marks, counted } = side;
    const last = marks.at(-1);
    const own = side.plan?.data.kind === "text";
    const begin = name ? `${name}: what it writes` : "What it writes";
    this.title.textContent = last ? `${begin} after ${count(last.step)} steps` : begin;
    if (!last) {
      const wait =
        side.state === "none"
          ? "Every four seconds the model writes a text. The first ones are noise."
          : "The first text comes in a few seconds …";
      this.text.replaceChildren(make("span", { class: "soft" }, wait));
      this.verdict.textContent = "";
      this.strip.hidden = this.caption.hidden = true;
      this.counted.textContent = "";
      return;
    }
    this.text.replaceChildren(...marked(whole(last.story).text, last.failsAt));
    this.text.classList.toggle("own", own);
    this.verdict.replaceChildren(...verdict(last, side.plan));
    this.verdict.classList.toggle("right", Boolean(last.right));
    this.strip.hidden = this.caption.hidden = last.read === null;
    if (last.read !== null) this.draw(marks.slice(-MOST));
    const twenty = counted.at(-1);
    this.counted.textContent = twenty ? rightOf(twenty) : "";
  }

  /** @param {Mark[]} marks */
  draw(marks) {
    const right = marks.filter((mark) => mark.right).length;
    this.strip.setAttribute(
      "aria-label",
      `How far the last ${marks.length} stories could be read, the latest on the right: ${marks
        .slice(-8)
        .map(({ read }) => percent(read ?? 0))
        .join(", ")}; ${right} were right.`,
    );
    this.strip.replaceChildren(
      ...marks.map(({ read, right, step }) => {
        const one = make("i", { class: right ? "right" : "", title: `step ${count(step)}` });
        one.style.setProperty("--read", String(Math.max(0.02, read ?? 0)));
        return one;
      }),
    );
  }
}
