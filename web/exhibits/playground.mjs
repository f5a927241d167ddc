// Open the model: all instruments around one text. What is left out shows in the bars, beside a
// ghost of how it was.

import { Bars, share, withGhosts } from "./bars.mjs";
import { fixed, make, quoted } from "./dom.mjs";
import { hit, ranked, thrower, turn } from "./knobs.mjs";
import { controls, MOST_K, PARTS, VIEWS } from "./playground_controls.mjs";
import { views } from "./playground_views.mjs";
import { Strip } from "./strip.mjs";

/** @import { Result } from "./page_model.mjs" */
/** @typedef {{text: string, at: number, p: Float64Array}} Seen  probabilities that were shown */

const MOST = 64; // tokens
const LONG = 24; // tokens that are written in one go
const PACE = 140; // milliseconds a token
const ALL = 1_000_000; // tokens: no top-k
const SHOWN = 6; // bars

/** @type {import("./exhibit.mjs").Kind} */
export function playground(page) {
  const { settings, state, model, say, sentence: said, element } = page;
  const { config, tokenizer } = model.present;
  const { nLayer, nHead, vocabSize: V } = config;
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  const names = blocks.flatMap((n) => Array.from({ length: nHead }, (_, h) => `${n}.${h}`));
  state.declare("text", settings.text);
  state.declare("view", "attention", { among: Object.keys(VIEWS) });
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // the last token
  state.declare("off", [], { among: names });
  state.declare("mlps", [], { among: blocks }); // that are left out
  for (const part of Object.keys(PARTS)) state.declare(part, true);
  state.declare("temperature", 1, { min: 0, max: 3 });
  state.declare("k", 0, { min: 0, max: MOST_K, whole: true }); // 0: no top-k
  state.declare("p", 1, { min: 0.05, max: 1 });
  state.declare("seed", 0, { min: 0, max: 1e9, whole: true });

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text, at: -1 }),
    onPick: (at) => state.set({ at }),
  });
  strip.chips.before(strip.input); // beside each other, the field first
  const all = views(page, names);
  const bars = new Bars({
    rows: SHOWN,
    onPick: (id) => append(id),
    hint: "append it to the text",
  });
  const { view, knobs, parts } = controls(state, names, blocks);
  const write = make("button", { type: "button", onclick: () => toggle() }, "write on");

  let left = 0; // tokens that are still to be written
  let timer = 0;
  /** @type {number[]} */
  let read = []; // the text's ids, as far as the model has read it
  /** @type {Float32Array} */
  let logits = new Float32Array(); // after its last token
  /** @type {Seen | null} */
  let shown = null;
  /** @type {Seen | null} */
  let last = null; // before the text was changed
  let typing = false;
  let written = ""; // the text with the last token that was appended

  /** @param {number} id */
  const append = (id) => {
    const more = tokenizer.decode([id]);
    if (id === tokenizer.eot || more.includes("\ufffd")) {
      left = 0;
      say("Here the model would end its text.");
      return;
    }
    written = state.get("text") + more;
    state.set({ text: written, at: -1 });
  };
  const toggle = () => {
    left = left ? 0 : LONG;
    write.textContent = left ? "stop" : "write on";
    if (left) step();
  };
  const step = () => {
    // A text that does not show yet is somebody's: once it shows, it is seen whose.
    if (!left || !element.isConnected || shown?.text !== state.get("text")) return;
    left--;
    const p = turn(logits, drawing());
    const dart = thrower(1000 * state.get("seed") + read.length)(); // the same for the same text
    append(hit(dart, p, ranked(p)));
    if (!left) write.textContent = "write on";
  };

  const chosen = (/** @type {string} */ key, /** @type {string[]} */ among) =>
    among.filter((name) => state.get(key).includes(name));
  /** What is left out, in words. */
  const missing = () => {
    const list = (/** @type {string} */ one, /** @type {string[]} */ all) =>
      all.length ? [`${one}${all.length > 1 ? "s" : ""} ${all.join(", ")}`] : [];
    return [
      ...list("head", chosen("off", names)),
      ...list("MLP", chosen("mlps", blocks)),
      ...Object.entries(PARTS).flatMap(([part, [, name]]) => (state.get(part) ? [] : [name])),
    ];
  };
  const drawing = () => ({
    temperature: state.get("temperature"),
    k: state.get("k") || ALL,
    p: state.get("p"),
  });
  /** How the draw differs from the prediction, in words. */
  const limits = () => {
    const { temperature, k, p } = drawing();
    return [
      ...(temperature === 1 ? [] : [`at temperature ${fixed(temperature, 2)}`]),
      ...(k === ALL ? [] : [`with top-k ${k}`]),
      ...(p === 1 ? [] : [`with top-p ${fixed(p, 2)}`]),
    ];
  };

  /**
   * @param {Float64Array} p
   * @param {Float64Array | undefined} before
   * @param {string} token  after which they come
   */
  const sentence = (p, before, token) => {
    const call = (/** @type {number} */ id) => quoted(model.show(id));
    const [first, second] = model.best(before ?? p, 2);
    if (!before) {
      const then = `then ${call(second.id)} (${share(second.p)})`;
      return `After ${quoted(token)} comes ${call(first.id)} (${share(first.p)}), ${then}.`;
    }
    const moves = (/** @type {number} */ id) => {
      const [from, to] = [before[id], p[id]].map(share);
      if (from === to) return `${call(id)} stays at ${to}`;
      return `${call(id)} ${p[id] < before[id] ? "falls" : "rises"} from ${from} to ${to}`;
    };
    const off = missing();
    const without = off.length && `without ${off.join(" and ")}`;
    const lead = [without, ...limits()].filter(Boolean).join(", ") || "with this text";
    const [leader] = model.best(p, 1);
    const other = leader.id === first.id ? "" : `, and ${moves(leader.id)}`;
    return `${lead[0].toUpperCase()}${lead.slice(1)} ${moves(first.id)}${other}.`;
  };

  return {
    nodes: [
      strip.element,
      make(
        "div",
        { class: "play" },
        make("div", {}, view.element, ...Object.values(all).map(({ element }) => element)),
        make("div", {}, bars.element, make("div", { class: "go" }, write, knobs.element), said),
      ),
      parts.element,
    ],
    show: async (latest) => {
      const text = state.get("text");
      const looking = all[state.get("view")];
      const { ids, cut } = await model.encode(text, Math.min(MOST, looking.most ?? MOST));
      const end = ids.length - 1;
      const at = state.get("at") < 0 ? end : Math.min(state.get("at"), end);
      const off = missing();
      const silent = chosen("mlps", blocks).map((n) => [
        `transformer.h.${n}.mlp.out`,
        { scale: 0 },
      ]);
      const inUse = Object.fromEntries(Object.keys(PARTS).map((part) => [part, state.get(part)]));
      const whole = off.length ? await model.run({ ids, key: "playground, whole" }) : undefined;
      const now = await model.run({
        ids,
        key: "playground",
        record: looking.record(),
        edits: Object.fromEntries(silent),
        switches: { headsOff: chosen("off", names), ...inUse },
      });
      if (!now || whole === null || !latest()) return;
      const tokens = ids.map((id) => model.show(id));
      if ((await looking.show({ result: now, tokens, at })) === false || !latest()) return;
      for (const one of Object.values(all)) one.element.hidden = one !== looking;
      strip.set(
        tokens.map((name, i) => ({ name, id: ids[i] })),
        { text, cut, chosen: at },
      );

      const row = (/** @type {Result} */ { logits }) => logits.subarray(at * V, (at + 1) * V);
      const p = turn(row(now), drawing());
      if (shown?.text !== text) {
        const typed = document.activeElement === strip.input;
        if (!typed || !typing) last = written === text ? null : shown; // while one types: as it was
        typing = typed;
        if (written !== text) left = 0; // somebody else changed it
      }
      const asIs = turn(row(whole ?? now), { temperature: 1, k: ALL, p: 1 });
      const earlier = last && last.text !== text && last.at < 0 && at === end ? last.p : undefined;
      const before = off.length || limits().length ? asIs : earlier;
      shown = { text, at: state.get("at"), p };
      read = ids;
      logits = now.logits.slice(end * V);
      bars.set(
        withGhosts(p, before, SHOWN, (id) => model.show(id)),
        `what comes after ${tokens[at]}; a click appends it`,
      );
      for (const board of [view, knobs, parts]) board.set();
      write.textContent = left ? "stop" : "write on";
      say(sentence(p, before, tokens[at]));
      clearTimeout(timer);
      if (left) timer = Number(setTimeout(step, PACE));
    },
    table: () => ({
      caption: `What comes next. Left out: ${missing().join(", ") || "nothing"}.`,
      columns: ["token", "now", "before"],
      rows: bars.table,
    }),
  };
}
