// Chapter 5: change a later word, and see which earlier positions notice. Behind the mask none
// does; without it all do, and no error tells.

import { Bars, share, withGhosts } from "./bars.mjs";
import { Board } from "./board.mjs";
import { fixed, make } from "./dom.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { Bar } from "./bars.mjs" */
/** @import { Result } from "./page_model.mjs" */

const MOST = 24; // tokens

/** @type {import("./exhibit.mjs").Kind} */
export function mask({ settings, state, model, say }) {
  const { nLayer, nEmbd: C, vocabSize: V } = model.present.config;
  const blocks = Array.from({ length: nLayer }, (_, n) => `transformer.h.${n}.resid_post`);
  const paths = ["embd", ...blocks];
  const stages = ["embedding", ...blocks.map((_, n) => `block ${n}`), "logits"].reverse();
  state.declare("text", settings.text);
  state.declare("word", settings.word);
  state.declare("at", settings.at, { min: 1, max: MOST - 1, whole: true });
  state.declare("watch", settings.watch, { min: 0, max: MOST - 1, whole: true }); // of the bars
  state.declare("mask", true);

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text }),
    onPick: (at) => state.set({ at }),
  });
  const other = new Strip({
    label: "in its place",
    value: state.get("word"),
    chips: settings.words,
    onText: (word) => state.set({ word }),
  });
  const which = make("span");
  const board = new Board({
    label: "largest changes",
    corner: "stage ↓ token →",
    decimals: 1,
    onCell: ({ column }) => state.set({ watch: column }),
  });
  const bars = new Bars({ rows: 4 });
  const controls = new Switchboard(state, [{ kind: "switch", key: "mask", label: "causal mask" }]);

  /**
   * The two texts, of the same length: the chosen word exchanged, and what follows moved along.
   * @param {number[]} ids
   * @param {number} at
   */
  const exchanged = (ids, at) => {
    const { tokenizer } = model.present;
    const word = state.get("word");
    const space = /^\s/.test(tokenizer.show(ids[at])) && !/^\s|^$/.test(word) ? " " : "";
    const instead = tokenizer.encode(space + word);
    if (!instead.length) instead.push(ids[at]);
    const changed = [...ids.slice(0, at), ...instead, ...ids.slice(at + 1)];
    const length = Math.min(ids.length, changed.length, MOST);
    return [ids.slice(0, length), changed.slice(0, length)];
  };

  /**
   * What the change has done to the positions before it.
   * @param {number} first  position that is changed
   * @param {string[]} names  of the two tokens there
   * @param {number[]} changes  of the logits, by position
   * @param {string} seen  what has happened to the bars
   */
  const sentence = (first, [was, is], changes, seen) => {
    const before = Math.max(0, ...changes.slice(0, first));
    const those = first === 1 ? "the position" : `the ${first} positions`;
    const begin = `${is} in place of ${was}: at ${those} before it`;
    if (before) {
      return `${begin} logits change by up to ${short(before)}. No error, no warning.${seen}`;
    }
    const how = state.get("mask")
      ? "every number is the same to the last bit, the change exactly 0"
      : "nothing changes";
    return `${begin} ${how}. From there on logits change by up to ${short(Math.max(...changes))}.`;
  };

  return {
    nodes: [
      strip.element,
      make("p", { class: "soft" }, "Choose a token. In place of ", which, " stands:"),
      make("div", { class: "side-by-side instead" }, other.chips, other.input),
      controls.element,
      board.element,
      bars.element,
    ],
    show: async (latest) => {
      const text = state.get("text");
      const { ids: whole, cut } = await model.encode(text, MOST);
      const at = Math.min(state.get("at"), whole.length - 1);
      const [ids, changed] = exchanged(whole, at);
      const request = { record: paths, switches: { mask: state.get("mask") } };
      const [was, is] = await Promise.all([
        model.run({ ids, key: "mask, as it was", ...request }),
        model.run({ ids: changed, key: "mask, changed", ...request }),
      ]);
      if (!was || !is || !latest()) return;
      const tokens = ids.map((id) => model.show(id));
      const first = ids.findIndex((id, t) => id !== changed[t]);
      const values = (/** @type {Result} */ { tensor, logits }) => [
        ...paths.map((path) => tensor(path).values),
        logits,
      ];
      const after = values(is);
      const table = values(was)
        .map((one, s) => changes(one, after[s], s < paths.length ? C : V))
        .reverse();
      const [logits] = table;
      const most = Math.max(...logits) || 1;
      strip.set(
        tokens.map((name, t) => ({
          name,
          id: logits[t] ? fixed(logits[t], 1) : "0",
          share: Math.min(1, logits[t] / most),
        })),
        { chosen: at, text, cut },
      );
      which.textContent = model.show(whole[at]);
      other.set([], { text: state.get("word") });
      board.set(table.flat(), {
        rows: stages,
        columns: tokens,
        scale: most,
        off: ({ row, column }) => !table[row][column],
        lit: ({ row, column }) => column < first && table[row][column] > 0,
      });
      controls.set();
      if (first < 1) {
        bars.set([], "what comes next");
        say(ids.length > 1 ? "The same word: nothing changes." : "No text, no words to change.");
        return;
      }
      const names = [ids[first], changed[first]].map((id) => model.show(id));
      const t = Math.min(state.get("watch"), ids.length - 1);
      const [p, now] = [was, is].map(({ logits }) => model.probabilities(logits, { t }));
      const shown = withGhosts(now, p, 4, (id) => model.show(id));
      bars.set(shown, `what comes after ${tokens[t]}, with ${names[1]} (dashed: with ${names[0]})`);
      const { id } = shown.reduce((a, b) => (moved(b) > moved(a) ? b : a));
      const goes = `goes from ${share(p[id])} to ${share(now[id])}`;
      const seen = t < first ? ` After ${tokens[t]}, ${model.show(id)} ${goes}.` : "";
      say(sentence(first, names, logits, seen));
    },
    table: () => ({
      caption: `Largest changes at every stage. Mask: ${state.get("mask") ? "on" : "off"}.`,
      ...board.table,
    }),
  };
}

const moved = (/** @type {Bar} */ { p, before = p }) => Math.abs(p - before);

/** @param {number} value */
function short(value) {
  return value < 0.005 ? value.toExponential(1).replace("-", "−") : fixed(value, 2);
}

/**
 * For each position the largest difference of two tensors (T, size).
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @param {number} size
 */
function changes(a, b, size) {
  const most = Array(a.length / size).fill(0);
  for (let i = 0; i < a.length; i++) {
    const t = Math.floor(i / size);
    most[t] = Math.max(most[t], Math.abs(a[i] - b[i]));
  }
  return most;
}
