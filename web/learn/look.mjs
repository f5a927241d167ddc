// Inside the model while it learns: where each head looks, and how large the gradients of each layer are.

import { fixed, make, visible } from "../exhibits/dom.mjs";
import { Board } from "../exhibits/board.mjs";
import { quoted } from "./stories.mjs";
import { rateText } from "./words.mjs";

/** @import { Side } from "./drive.mjs" */

const LEAST = -6; // exponents of 10 that the bars of gradients begin and end with
const MOST = 2;
const WILD = 10; // a gradient larger than this is named

/**
 * The earlier token that a head looks at most firmly, from the last token of the text.
 * @param {Float32Array} map
 */
function firmest(map) {
  const T = Math.round(Math.sqrt(map.length));
  const row = map.subarray((T - 1) * T);
  let at = Math.min(1, T - 1);
  for (let other = 2; other < T - 1; other++) if (row[other] > row[at]) at = other;
  return { at, weight: row[at] };
}

export class Inside {
  constructor() {
    this.chosen = 0;
    this.plan = /** @type {Side["plan"]} */ (null);
    this.picked = false; // by the reader; else it is the head that looks most firmly
    /** @type {{row: number, column: number} | null} */
    this.place = null; // that the reader has pointed at
    this.side = /** @type {Side | null} */ (null);
    this.board = new Board({
      onHead: (head) => {
        this.chosen = head;
        this.picked = true;
        if (this.side) this.set(this.side, []);
      },
      onCell: (place) => (this.place = place),
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
    if (plan !== this.plan) [this.plan, this.place, this.picked] = [plan, null, false];
    if (!look || !plan || !opened) return;
    const { nHead } = plan.model;
    const T = Math.round(Math.sqrt(look.heads[0].length));
    /** @type {string[]} */
    const tokens = opened.tokens.slice(0, T);
    const names = tokens.map((token, i) =>
      i || token !== "<|endoftext|>" ? visible(token) : "⟨start⟩",
    );
    const all = look.heads.map(firmest);
    this.chosen = Math.min(this.chosen, all.length - 1);
    const best = all.reduce((most, { weight }, i) => (weight > all[most].weight ? i : most), 0);
    const clearly = all[best].weight > all[this.chosen].weight + 0.1; // so that it does not flicker
    if (!this.picked && clearly) this.chosen = best;
    this.board.setHeads(
      look.heads.map((values, i) => ({
        title: `${Math.floor(i / nHead)}.${i % nHead}`,
        values,
      })),
      this.chosen,
    );
    const off = ({ row = 0, column = 0 }) => column > row && plan.switches.mask !== false;
    const { at, weight } = all[this.chosen];
    const place = this.place ?? { row: T - 1, column: at };
    this.board.set(look.heads[this.chosen], { rows: names, columns: names, off, place });
    const [block, head] = [Math.floor(this.chosen / nHead), this.chosen % nHead];
    const [from, to] = [tokens[T - 1], tokens[at]].map((token) =>
      quoted(visible(token.trim() || token)),
    );
    this.says.replaceChildren("From ", from, `, head ${block}.${head} attends `);
    this.says.append(weight < 2 / T ? "to no token much more than to others" : "most to ");
    this.says.append(...(weight < 2 / T ? ["."] : [to, ` (${fixed(weight, 2)}).`]));
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
