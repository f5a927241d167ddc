// Two passes in one picture: only what differs is coloured. The upper half of a lane is the text that
// is shown, the lower half the other.

import { fixed, make, quoted } from "../exhibits/dom.mjs";
import { headOf, lengthOf, rowOf } from "./cells.mjs";
import { stagePaths } from "./pass.mjs";
import { readPass, wholeWords } from "./read.mjs";

/** @import { model as PageModel } from "../exhibits/page_model.mjs" */
/** @import { State } from "../exhibits/state.mjs" */
/** @import { Next, Pass } from "./pass.mjs" */
/**
 * `lane`: how far two vectors of the stream are apart, in their mean length; `ribbon`: how far what
 * is taken is apart, the share times v, in the largest such distance.
 * @typedef {{lane: (stage: number, t: number) => number,
 *   ribbon: (block: number, head: number, query: number, key: number) => number}} Gaps
 */
/** @typedef {{block: number, head: number, key: number, gap: number}} Way */

const MOST = 3; // texts that are offered

/**
 * @param {Pass} a
 * @param {Pass} b  with as many tokens
 * @returns {Gaps | null}  null: one of them was not computed here
 */
export function gapsOf(a, b) {
  if (!a.tensor || !b.tensor) return null;
  const T = a.ids.length;
  const tensors = (/** @type {string} */ path) =>
    [a, b].map(({ tensor }) => /** @type {any} */ (tensor)(path));
  const lanes = stagePaths(a.nLayer).map((path) => {
    const both = tensors(path);
    return a.ids.map((_, t) => {
      const [x, y] = both.map((noted) => rowOf(noted, t, noted.values.length / T));
      const mean = (lengthOf(x) + lengthOf(y)) / 2;
      return (
        lengthOf(x.map((/** @type {number} */ v, /** @type {number} */ i) => v - y[i])) /
        (mean || 1)
      );
    });
  });
  const heads = a.weights.map((block, n) => {
    const values = tensors(`transformer.h.${n}.attn.v`);
    return block.map((_, h) => {
      const [on, alsoOn] = [a, b].map(({ off = [] }) => Number(!off.includes(`${n}.${h}`)));
      const D = values[0]?.shape.at(-1) ?? 1;
      const [v, w] = values.map((noted) =>
        noted ? headOf(noted, h) : new Float32Array(T).fill(1),
      );
      return Float32Array.from({ length: T * T }, (_, i) => {
        const from = (i % T) * D;
        let squares = 0;
        for (let d = from; d < from + D; d++) {
          squares += (on * a.weights[n][h][i] * v[d] - alsoOn * b.weights[n][h][i] * w[d]) ** 2;
        }
        return Math.sqrt(squares);
      });
    });
  });
  const most = Math.max(...heads.flat().map((all) => all.reduce((x, y) => Math.max(x, y), 0))) || 1;
  return {
    lane: (stage, t) => lanes[stage][t],
    ribbon: (block, head, query, key) => (key < 0 ? 0 : heads[block][head][query * T + key] / most),
  };
}

/**
 * The ways on which a difference comes to a token from others, the widest first.
 * @param {Gaps} gaps
 * @param {Pass} pass
 * @param {number} at
 * @returns {Way[]}
 */
export function waysTo(gaps, { nLayer, nHead }, at) {
  const ways = Array.from({ length: nLayer * nHead * at }, (_, i) => {
    const [key, n] = [i % at, Math.floor(i / at)];
    const [block, head] = [Math.floor(n / nHead), n % nHead];
    return { block, head, key, gap: gaps.ribbon(block, head, at, key) };
  });
  return ways.sort((a, b) => b.gap - a.gap);
}

/**
 * What either text expects next: the best three of both.
 * @param {Pass} a
 * @param {Pass} b
 * @returns {Next[]}
 */
export function bothNext(a, b) {
  const best = [...a.next.slice(0, 3), ...b.next.slice(0, 3)];
  const first = best.filter(({ id }, i) => best.findIndex((one) => one.id === id) === i);
  const of = (/** @type {Pass} */ pass, /** @type {number} */ id) => pass.shares?.[id] ?? 0;
  return first.map((one) => ({ ...one, p: of(a, one.id), other: of(b, one.id) }));
}

/**
 * @param {Pass} a
 * @param {Pass} b
 * @param {number} at
 */
export function saysOf(a, b, at) {
  const gaps = gapsOf(a, b);
  if (!gaps) return "";
  const apart = a.ids.flatMap((id, t) =>
    id === b.ids[t] ? [] : [`${quoted(a.tokens[t])} / ${quoted(b.tokens[t])}`],
  );
  const begins = apart.length
    ? `The texts differ at ${apart.slice(0, 3).join(", ")}.`
    : "The lower halves are the same text, untouched.";
  const ways = waysTo(gaps, a, at).filter(({ gap }) => gap >= 0.5);
  const come = ways
    .slice(0, 2)
    .map(({ block, head, key }) => `head ${block}.${head} from ${quoted(a.tokens[key])}`);
  const comes = come.length
    ? ` To ${quoted(a.tokens[at])} the difference comes most by ${come.join(" and ")}.`
    : "";
  const [x, y] = [a.next[0], b.next[0]];
  const next =
    x.id === y.id
      ? `${quoted(x.name)} in both (${fixed(x.p, 2)} and ${fixed(y.p, 2)})`
      : `${quoted(x.name)} (${fixed(x.p, 2)}) or ${quoted(y.name)} (${fixed(y.p, 2)})`;
  return `${begins}${comes} What comes next: ${next}.`;
}

export class Versus {
  /**
   * @param {typeof PageModel} model
   * @param {State} state
   * @param {Pass[]} stored
   * @param {string[]} texts  that may be compared
   */
  constructor(model, state, stored, texts) {
    this.model = model;
    this.state = state;
    this.stored = stored;
    this.texts = texts;
    this.before = ""; // the text that was shown before
    this.now = "";
    this.offered = "";
    /** @type {{of: string, pass: Pass} | null} */
    this.kept = null;
    this.element = make("div", {
      class: "flow-versus chips",
      role: "group",
      "aria-label": "comparison",
    });
  }

  /**
   * The pass that is compared; null where there is none.
   * @param {Pass} pass
   * @param {(text: string, ids: number[], key: string, off?: string[]) => Parameters<typeof readPass>[1]} ask
   * @param {string} bug
   * @returns {Promise<Pass | null>}
   */
  async find(pass, ask, bug) {
    const text = this.state.get("versus");
    if (!text || !pass.tensor) return null;
    const { ids } = await this.model.encode(text, 128);
    if (ids.length !== pass.ids.length) return null;
    const request = ask(text, ids, "flow, other", text === pass.text ? [] : undefined);
    const of = JSON.stringify([request, bug, this.model.loaded?.name]);
    if (this.kept?.of === of) return this.kept.pass;
    const other = await readPass(this.model, request);
    const whole = other && (await wholeWords(this.model, other));
    if (whole) this.kept = { of, pass: whole };
    return whole;
  }

  /** @param {string} text */
  length(text) {
    const { loaded } = this.model;
    const stored = this.stored.find((one) => one.text === text);
    if (!loaded) return stored?.ids.length;
    return loaded.tokenizer.encode(text).length + Number(loaded.story);
  }

  /**
   * After a pass is shown.
   * @param {Pass} pass
   * @param {{other: Pass | null, whole: boolean, touched: boolean}} more  `whole`: the picture is that
   *   of the whole pass; `touched`: heads are cut, or numbers set
   */
  set(pass, { other, whole, touched }) {
    const { state } = this;
    if (pass.text !== this.now) [this.before, this.now] = [this.now, pass.text];
    const button = (/** @type {string} */ name, /** @type {string} */ versus) =>
      make("button", { type: "button", onclick: () => state.set({ versus }) }, name);
    const texts = [...new Set([this.before, ...this.texts])].filter((text) => {
      return text && text !== pass.text && this.length(text) === pass.ids.length;
    });
    this.element.hidden = !whole || Boolean(pass.only) || !(texts.length || touched || other);
    const offers = [
      make("span", { class: "soft" }, "compare with:"),
      ...(touched ? [button("itself, untouched", pass.text)] : []),
      ...texts.slice(0, MOST).map((text) => button(text, text)),
    ];
    const told = `Coloured is what differs from “${other?.text}”, the lower half of a lane. A ribbon is as wide as what is taken there differs.`;
    const offered = JSON.stringify([other?.text, touched, texts]);
    if (offered === this.offered) return; // a button that is being pressed stays
    this.offered = offered;
    const shown = other ? [make("span", { class: "soft" }, told), button("show all", "")] : offers;
    this.element.replaceChildren(...shown);
  }
}
