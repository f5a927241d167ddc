// Open the model: all instruments around one text. What is left out shows in the bars, beside a
// ghost of how it was.

import { Bars, share, withGhosts } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { fixed, make, quoted } from "./dom.mjs";
import { leaders } from "./inside.mjs";
import { hit, ranked, thrower, turn } from "./knobs.mjs";
import { Lens } from "./lens.mjs";
import { controls } from "./playground_controls.mjs";
import { Strip } from "./strip.mjs";

/** @import { Result } from "./page_model.mjs" */
/** @typedef {{text: string, at: number, p: Float64Array}} Seen  probabilities that were shown */

const MOST = 64; // tokens
const LOGITS = 1.5e7; // that the lens reads at once: with a large model it has fewer tokens
const LONG = 24; // tokens that are written in one go
const PACE = 140; // milliseconds a token
const ALL = 1_000_000; // tokens: no top-k
const SHOWN = 6; // bars

/** @type {import("./exhibit.mjs").Kind} */
export function playground({ settings, state, model, say, sentence: said, element }) {
  const { config, tokenizer } = model.present;
  const { nLayer, nHead, vocabSize: V } = config;
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  const names = blocks.flatMap((n) => Array.from({ length: nHead }, (_, h) => `${n}.${h}`));
  const paths = blocks.map((n) => `transformer.h.${n}.attn.weights`);
  const stream = ["embd"];
  const stages = ["embeddings"];
  for (const n of blocks) {
    stream.push(`transformer.h.${n}.resid_mid`, `transformer.h.${n}.resid_post`);
    stages.push(`attention ${n}`, `MLP ${n}`);
  }
  state.declare("text", settings.text);
  state.declare("view", "attention", { among: ["attention", "lens"] });
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // the last token
  state.declare("off", [], { among: names });
  state.declare("mlps", [], { among: blocks }); // that are left out
  state.declare("positions", true);
  state.declare("mask", true);
  state.declare("temperature", 1, { min: 0, max: 3 });
  state.declare("seed", 0, { min: 0, max: 1e9, whole: true });

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text, at: -1 }),
    onPick: (at) => state.set({ at }),
  });
  strip.chips.before(strip.input); // beside each other, the field first
  const board = new Board({ onHead: (i) => state.set({ head: names[i] }) });
  const title = make("p", { class: "soft" });
  board.heads.after(title);
  board.heads.style.setProperty("--columns", String(Math.min(nHead, 6)));
  const lens = new Lens({ onPick: ({ column }) => state.set({ at: column }) });
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
    const p = turn(logits, { temperature: state.get("temperature"), k: ALL, p: 1 });
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
      ...(state.get("positions") ? [] : ["positions"]),
      ...(state.get("mask") ? [] : ["the mask"]),
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
    const tau = state.get("temperature");
    const heat = tau === 1 ? "" : `at temperature ${fixed(tau, 2)}`;
    const without = off.length && `without ${off.join(" and ")}`;
    const lead = [without, heat].filter(Boolean).join(", ") || "with this text";
    const [leader] = model.best(p, 1);
    const other = leader.id === first.id ? "" : `, and ${moves(leader.id)}`;
    return `${lead[0].toUpperCase()}${lead.slice(1)} ${moves(first.id)}${other}.`;
  };

  /**
   * @param {Result} now
   * @param {string[]} tokens
   * @param {number} at
   */
  const showHeads = (now, tokens, at) => {
    const T = tokens.length;
    const maps = paths.flatMap((path) => mapsOf(now.tensor(path)));
    const head = state.get("head");
    const cut = state.get("off");
    board.setHeads(
      maps.map((values, i) => ({
        title: names[i],
        values,
        mark: cut.includes(names[i]) ? "cut" : "",
      })),
      names.indexOf(head),
    );
    const map = maps[names.indexOf(head)];
    const row = map.subarray(at * T, (at + 1) * T);
    const key = row.indexOf(Math.max(...row));
    const masked = state.get("mask");
    board.set(map, {
      rows: tokens,
      columns: tokens,
      off: ({ row, column }) => masked && column > row,
      lit: ({ row, column }) => row === at && column === key,
      place: { row: at, column: key },
    });
    const look = `looks from ${quoted(tokens[at])} most at ${quoted(tokens[key])}`;
    const is = cut.includes(head) ? ", which is cut," : "";
    title.textContent = `Head ${head}${is} ${look} (${fixed(row[key], 2)}).`;
  };

  /**
   * @param {Result} now
   * @param {string[]} tokens
   * @param {number} at
   */
  const showLens = async (now, tokens, at) => {
    const T = tokens.length;
    const values = stream.map((path) => now.tensor(path).values);
    const all = new Float32Array(values.reduce((sum, { length }) => sum + length, 0));
    values.forEach((part, s) => all.set(part, s * part.length));
    const said = await model.read(all, "playground, lens");
    if (!said) return false;
    const best = leaders(said, V).map(({ id, p }) => ({ name: model.show(id), p }));
    const rows = stages.map((_, s) => best.slice(s * T, (s + 1) * T)).reverse();
    lens.set(rows, { stages: [...stages].reverse(), tokens, chosen: { row: 0, column: at } });
    return true;
  };

  return {
    nodes: [
      strip.element,
      make(
        "div",
        { class: "play" },
        make("div", {}, view.element, board.element, lens.element),
        make("div", {}, bars.element, make("div", { class: "go" }, write, knobs.element), said),
      ),
      parts.element,
    ],
    show: async (latest) => {
      const [text, tau] = ["text", "temperature"].map((key) => state.get(key));
      const lensed = state.get("view") === "lens";
      const room = Math.max(4, Math.floor(LOGITS / (stages.length * V)));
      const { ids, cut } = await model.encode(text, lensed ? Math.min(MOST, room) : MOST);
      const end = ids.length - 1;
      const at = state.get("at") < 0 ? end : Math.min(state.get("at"), end);
      const off = missing();
      const silent = chosen("mlps", blocks).map((n) => [
        `transformer.h.${n}.mlp.out`,
        { scale: 0 },
      ]);
      const [mask, positions] = ["mask", "positions"].map((key) => state.get(key));
      const whole = off.length ? await model.run({ ids, key: "playground, whole" }) : undefined;
      const now = await model.run({
        ids,
        key: "playground",
        record: lensed ? stream : paths,
        edits: Object.fromEntries(silent),
        switches: { headsOff: chosen("off", names), mask, positions },
      });
      if (!now || whole === null || !latest()) return;
      const tokens = ids.map((id) => model.show(id));
      if (lensed && !((await showLens(now, tokens, at)) && latest())) return;
      if (!lensed) showHeads(now, tokens, at);
      board.element.hidden = lensed;
      lens.element.hidden = !lensed;
      strip.set(
        tokens.map((name, i) => ({ name, id: ids[i] })),
        { text, cut, chosen: at },
      );

      const row = (/** @type {Result} */ { logits }) => logits.subarray(at * V, (at + 1) * V);
      const p = turn(row(now), { temperature: tau, k: ALL, p: 1 });
      if (shown?.text !== text) {
        const typed = document.activeElement === strip.input;
        if (!typed || !typing) last = written === text ? null : shown; // while one types: as it was
        typing = typed;
        if (written !== text) left = 0; // somebody else changed it
      }
      const asIs = turn(row(whole ?? now), { temperature: 1, k: ALL, p: 1 });
      const earlier = last && last.text !== text && last.at < 0 && at === end ? last.p : undefined;
      const before = off.length || tau !== 1 ? asIs : earlier;
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
