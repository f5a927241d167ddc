// Inside the model while it learns: where each head looks, and how large the gradients of each layer are.

import { fixed, make, visible } from "../exhibits/dom.mjs";
import { Board } from "../exhibits/board.mjs";
import { rateText } from "./words.mjs";

/** @import { Look, Side } from "./drive.mjs" */

const LEAST = -6; // exponents of 10 that the bars of gradients begin and end with
const MOST = 2;
const WILD = 10; // a gradient larger than this is named

/**
 * The head that looks most firmly at one earlier token, from the last token of the text.
 * @param {Look} look
 * @param {string[]} tokens
 * @param {number} nHead
 */
export function firmest({ heads }, tokens, nHead) {
  const T = tokens.length;
  let best = { weight: 0, head: 0, at: 0 };
  heads.forEach((map, head) => {
    for (let at = 1; at < T - 1; at++) {
      const weight = map[(T - 1) * T + at];
      if (weight > best.weight) best = { weight, head, at };
    }
  });
  const { weight, head, at } = best;
  if (weight < 2 / T) return "";
  const name = `${Math.floor(head / nHead)}.${head % nHead}`;
  return `From ${said(tokens[T - 1])}, head ${name} attends most to ${said(tokens[at])} (${fixed(weight, 2)}).`;
}

/** @param {string} token */
function said(token) {
  return `“${visible(token.trim() || token)}”`;
}

export class Inside {
  constructor() {
    this.chosen = 0;
    this.side = /** @type {Side | null} */ (null);
    this.board = new Board({
      onHead: (head) => {
        this.chosen = head;
        if (this.side) this.set(this.side, []);
      },
    });
    this.says = make("p", { class: "soft" });
    this.rows = make("div", { class: "layers" });
    this.heads = make(
      "section",
      { class: "heads", "aria-label": "attention heads" },
      make("p", { class: "head" }, "Where its heads look"),
      this.says,
      this.board.element,
    );
    this.gradients = make(
      "section",
      { class: "gradients", "aria-label": "gradients by layer" },
      make("p", { class: "head" }, "The largest gradient of each layer"),
      this.rows,
    );
    this.element = make("div", { class: "inside" }, this.heads, this.gradients);
  }

  /**
   * @param {Side} side  whose heads are shown
   * @param {Side[]} sides  whose gradients are; none: they stay
   */
  set(side, sides) {
    this.side = side;
    const { look, plan, opened } = side;
    this.element.hidden = !look;
    if (!look || !plan || !opened) return;
    const { nHead } = plan.model;
    const T = Math.round(Math.sqrt(look.heads[0].length));
    /** @type {string[]} */
    const tokens = opened.tokens.slice(0, T);
    const names = tokens.map((token, i) =>
      i || token !== "<|endoftext|>" ? visible(token) : "⟨start⟩",
    );
    this.chosen = Math.min(this.chosen, look.heads.length - 1);
    this.board.setHeads(
      look.heads.map((values, i) => ({
        title: `${Math.floor(i / nHead)}.${i % nHead}`,
        values,
      })),
      this.chosen,
    );
    const off = ({ row = 0, column = 0 }) => column > row && plan.switches.mask !== false;
    this.board.set(look.heads[this.chosen], { rows: names, columns: names, off });
    this.says.textContent = firmest(look, tokens, nHead);
    if (sides.length) this.draw(sides);
  }

  /** @param {Side[]} sides */
  draw(sides) {
    const [first] = sides;
    const all = sides.map(({ look }) => look?.layers ?? []);
    const rows = (first.look?.layers ?? []).map(({ name }, i) => {
      const bars = all.map((layers, nth) => {
        const largest = layers[i]?.largest ?? 0;
        const bar = make("i", { class: nth ? "second" : "now" });
        const share = (Math.log10(largest || 1e-9) - LEAST) / (MOST - LEAST);
        bar.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
        return bar;
      });
      const numbers = all.map((layers) => rateText(layers[i]?.largest ?? 0)).join(" · ");
      const wild = all.some((layers) => !((layers[i]?.largest ?? 0) <= WILD));
      return make(
        "div",
        { class: wild ? "wild" : "" },
        make("b", {}, nameOf(name)),
        make("span", {}, ...bars),
        make("small", {}, numbers),
      );
    });
    this.rows.replaceChildren(...rows);
  }
}

const LAYERS = /** @type {Record<string, string>} */ ({
  wte: "token table",
  wpe: "positions",
  ln_f: "last norm",
});

/** @param {string} name  as parameters are called */
function nameOf(name) {
  return LAYERS[name] ?? name.replace(/^h\./, "block ");
}
