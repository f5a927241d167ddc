// Chapter 15: the knobs, and the dart that decides. Temperature reranks nothing.

import { pieces } from "./answers.mjs";
import { Bars, share } from "./bars.mjs";
import { DartLine } from "./dartline.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { ORDERS, choices, hit, ranked, thrower, turn } from "./knobs.mjs";
import { GATHER, LOOK_UP, still } from "./motion.mjs";
import { senseAfter } from "./crane_world.mjs";
import { END } from "./page_model.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

const MOST = 64; // tokens of a text
const SHOWN = 8; // tokens with a bar and a piece of the line of their own
const TEXTS = 4; // continuations
const LONG = 16; // tokens of each
const REST = -1;
const RAIN = 100; // darts that are to be seen
const ALL = 1_000_000; // tokens: more than any model has

/** @type {import("./exhibit.mjs").Kind} */
export function sampling({ settings, state, model, say }) {
  const V = model.present.config.vocabSize;
  const { tokenizer } = model.present;
  state.declare("text", settings.text);
  state.declare("temperature", 1, { min: 0, max: 3 });
  state.declare("k", ALL, { min: 1, max: ALL, whole: true });
  state.declare("p", 1, { min: 0.01, max: 1 });
  state.declare("m", 0, { min: 0, max: 1 });
  state.declare("order", "tkpm", { among: ORDERS.map(([value]) => value) });
  state.declare("dart", 0.3, { min: 0, max: 1 });
  state.declare("draws", 0, { min: 0, max: 10_000, whole: true });
  state.declare("seed", 0, { min: 0, max: 1e9, whole: true });
  const names = ["temperature", "k", "p", "m", "order", "dart", "draws", "seed"];

  const strip = textStrip(state, settings);
  const line = new DartLine(SHOWN + 1, (dart) => state.set({ dart }));
  const bars = new Bars({ rows: SHOWN + 1 });
  const button = (/** @type {string} */ name, /** @type {() => void} */ onclick) =>
    make("button", { onclick }, name);
  const one = button("throw at random", () => {
    const { draws, seed } = read();
    const dart = Array.from({ length: draws + 1 }, thrower(seed)).pop() ?? 0;
    state.set({ dart, draws: draws + 1 });
  });
  const hundred = button("draw 100", () => state.set({ draws: read().draws + 100 }));
  const other = button("new darts", () => state.set({ seed: read().seed + 1 }));
  const write = button("", () => {
    const text = tokenizer.decode([chosen]);
    state.set({ text: state.get("text") + text });
  });
  const texts = Array.from({ length: TEXTS }, () => make("li"));
  const list = make("ol", { class: "texts" }, ...texts);
  const controls = new Switchboard(state, [
    slider("temperature", "temperature τ", {
      max: 3,
      step: 0.05,
      show: (tau) => (tau === 0 ? "0 (greedy)" : fixed(tau, 2)),
    }),
    slider("k", "top-k", {
      log: true,
      max: Math.log10(V),
      step: 0.001,
      show: (k) => (k >= V ? "all" : String(k)),
    }),
    slider("p", "top-p", { min: 0.01, show: (p) => (p === 1 ? "all" : fixed(p, 2)) }),
    slider("m", "min-p", { show: (m) => (m === 0 ? "all" : fixed(m, 2)) }),
    choose("order", "order", ORDERS),
  ]);

  const read = () => Object.fromEntries(names.map((name) => [name, state.get(name)]));
  let chosen = 0; // the token that the dart hits
  let drawn = 0; // how many of the darts count
  let thrown = { draws: 0, seed: 0 }; // when it was shown last
  let frame = 0; // while darts fall
  /** @type {(n: number) => void} */
  let count = () => {}; // shows the first so many of them
  /** @type {(string | number)[][]} */
  let rows = [];
  let writing = ""; // what the continuations are of

  /**
   * @param {Float64Array} p
   * @param {Float64Array} before  as predicted
   * @param {number[]} order
   */
  const sentence = (p, before, order) => {
    const knobs = read();
    const [first] = order;
    const hits = `The dart at ${fixed(knobs.dart, 2)} hits ${quoted(model.show(chosen))}.`;
    const name = quoted(model.show(first));
    const now = `as open as one among ${fixed(choices(p), 1)} equal tokens`;
    if (p.every((value, id) => Math.abs(value - before[id]) < 1e-9)) {
      return `As predicted, ${name} has ${fixed(p[first], 2)}, and the choice is ${now}. ${hits}`;
    }
    const moves = `${name} goes from ${fixed(before[first], 2)} to ${fixed(p[first], 2)}`;
    const same = order.every((id, i) => i === 0 || p[id] <= p[order[i - 1]]);
    const ranks = same ? "no token has overtaken another" : "tokens have changed places";
    const kept = order.filter((id) => p[id] > 0);
    const sum = (/** @type {Float64Array} */ of, /** @type {number[]} */ ids) =>
      fixed(
        ids.reduce((total, id) => total + of[id], 0),
        2,
      );
    const left = `${kept.length} of ${V.toLocaleString("en")} tokens, which had ${sum(before, kept)}`;
    const rest = order.slice(SHOWN);
    const tail = `The ${rest.length.toLocaleString("en")} others together go from ${sum(before, rest)} to ${sum(p, rest)}.`;
    const open = `The choice is ${now}, before among ${fixed(choices(before), 1)}.`;
    const cut = knobs.k < V || knobs.p < 1 || knobs.m > 0 ? `Kept: ${left}.` : tail;
    return `${moves}, and ${ranks}. ${cut} ${open} ${hits}`;
  };

  /**
   * Several texts, each by darts of its own, token by token.
   * @param {number[]} ids
   * @param {Float32Array} logits
   */
  const goOn = async (ids, logits) => {
    const { temperature, k, p, m, order, seed } = read();
    const mine = JSON.stringify([model.present.name, ids, temperature, k, p, m, order, seed]);
    if (mine === writing) return;
    writing = mine;
    list.ariaBusy = "true";
    const all = texts.map((_, n) => ({
      ids,
      logits,
      ended: false,
      random: thrower(1000 * (seed + 1) + n),
    }));
    for (let i = 0; i < LONG; i++) {
      for (const [n, text] of all.entries()) {
        if (text.ended) continue;
        if (i > 0) {
          const result = await model.run({ ids: text.ids, key: `go on ${n}`, lastOnly: true });
          if (!result || writing !== mine) return;
          text.logits = result.logits;
        }
        const shares = turn(text.logits, { temperature, k, p, m }, order);
        const id = hit(text.random(), shares, ranked(shares));
        text.ended = id === tokenizer.eot;
        text.ids = [...text.ids, id];
        const said = tokenizer.decode(text.ids.slice(ids.length, text.ended ? -1 : undefined));
        texts[n].textContent = `…${said}${text.ended ? ` ${END}` : ""}`;
      }
    }
    list.ariaBusy = "false";
  };

  /**
   * The new darts fall, and the counts grow with them.
   * @param {number[]} darts
   * @param {number} seed
   */
  const rain = (darts, seed) => {
    const { length: draws } = darts;
    const fall = Math.min(RAIN, seed === thrown.seed ? draws - thrown.draws : draws);
    if (fall === 0 && frame) return; // they are on their way
    thrown = { draws, seed };
    cancelAnimationFrame(frame);
    frame = 0;
    line.drop(darts.slice(-RAIN), Math.max(0, fall));
    if (fall <= 0 || still()) return;
    const began = performance.now() + LOOK_UP;
    const tick = () => {
      const share = Math.max(0, (performance.now() - began) / GATHER);
      count(Math.min(draws, draws - fall + Math.floor(share * fall)));
      frame = share < 1 && line.element.isConnected ? requestAnimationFrame(tick) : 0;
    };
    frame = requestAnimationFrame(tick);
  };

  return {
    nodes: [
      strip.element,
      line.element,
      make("div", { class: "side-by-side" }, one, hundred, other, write),
      beside(
        [
          make("p", { class: "soft" }, `${TEXTS} ways to continue, each with darts of its own`),
          list,
        ],
        bars.element,
      ),
      controls.element,
    ],
    show: async (latest) => {
      const text = state.get("text");
      const { temperature, k, p: part, m, order: turned, dart, draws, seed } = read();
      const { ids, cut } = await model.encode(text, MOST);
      const result = await model.run({ ids, key: "sampling", lastOnly: true });
      if (!result || !latest()) return;
      strip.set(pieces(ids), { text, cut });
      const before = turn(result.logits, { temperature: 1, k: ALL, p: 1, m: 0 });
      const p = turn(result.logits, { temperature, k, p: part, m }, turned);
      const order = ranked(before);
      chosen = hit(dart, p, order);
      const darts = Array.from({ length: draws }, thrower(seed));
      drawn = draws;
      const [own, sense] = [order.slice(0, SHOWN), senseAfter(text)];
      const pieceOf = (/** @type {number} */ id) => (own.includes(id) ? own.indexOf(id) : SHOWN);
      const hits = darts.map((one) => pieceOf(hit(one, p, order)));
      /** Of the first n darts. */
      const counts = (n = draws) => {
        const all = Array(SHOWN + 1).fill(0);
        for (const piece of hits.slice(0, n)) all[piece]++;
        return all;
      };
      const sum = (/** @type {(id: number) => number} */ of) =>
        order.slice(SHOWN).reduce((total, id) => total + of(id), 0);
      const bits = own.map((id) => ({
        id,
        name: model.show(id),
        p: p[id],
        before: before[id],
        mark: sense(id),
      }));
      bits.push({
        id: REST,
        name: `${(V - SHOWN).toLocaleString("en")} others`,
        p: sum((id) => p[id]),
        before: sum((id) => before[id]),
        mark: "",
      });
      const at = pieceOf(chosen);
      line.set(bits, at, dart);
      bars.set(bits, draws ? `what comes next, and what ${draws} darts hit` : "what comes next");
      const were = bars.rows.map(({ change }) => change.textContent);
      count = (n) =>
        counts(n).forEach((many, i) => {
          const { bar, change } = bars.rows[i];
          bar.classList.toggle("hit", i === at);
          bar.classList.toggle("counted", draws > 0);
          bar.style.setProperty("--drawn", String(many / Math.max(1, draws)));
          if (draws) change.textContent = `${were[i]} · ${many}×`.replace(/^ · /, "");
        });
      count(draws);
      rain(darts, seed);
      const all = counts();
      rows = bits.map((one, i) => [one.name, share(one.p), share(one.before), String(all[i])]);
      const ends = chosen === tokenizer.eot;
      write.textContent = ends ? "the story ends here" : `write ${model.show(chosen)}`;
      write.disabled = ends || tokenizer.decode([chosen]).includes("\ufffd");
      controls.set();
      say(sentence(p, before, order));
      goOn(ids, result.logits).catch(() => {}); // what fails here has failed, and been said, above
    },
    act: async (hand) => {
      await hand.slide("temperature τ", 3);
      await hand.slide("temperature τ", 0.2);
      await hand.slide("temperature τ", 1, 600);
    },
    whole: () => ({ text: state.get("text") || settings.chips?.[0] || "" }),
    table: () => ({
      caption: `What comes next, and what ${drawn} darts hit.`,
      columns: ["token", "now", "as predicted", "darts"],
      rows,
    }),
  };
}
