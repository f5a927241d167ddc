// Chapter 5: replace a later word, and see which earlier positions change. With the mask none
// does; without it all do, and there is no error.

import { nextAfter } from "./answers.mjs";
import { Bars, share } from "./bars.mjs";
import { Board } from "./board.mjs";
import { draw, fixed, make, quoted } from "./dom.mjs";
import { WRITE, move } from "./motion.mjs";
import { Rays, band, way } from "./rays.mjs";
import { inWords } from "./rest_of.mjs";
import { Strip, textStrip } from "./strip.mjs";
import { Switchboard, flag } from "./switchboard.mjs";

/** @import { Bar } from "./bars.mjs" */
/** @import { Result } from "./page_model.mjs" */

const MOST = 24; // tokens
const LEGEND =
  "The largest change of any entry there, from the embedding upward. Hatched cells do not change at all. Red " +
  "lines lead back to words before the replaced one, whose cells are dashed. Point at a column to see what comes after its token.";
const NUMBERED = 12; // tokens up to which all ways are drawn
const ALL = 2000; // milliseconds until a change has come to the top

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

  const strip = textStrip(state, settings, { onPick: (at) => state.set({ at }) });
  const other = new Strip({
    label: "in its place",
    value: state.get("word"),
    chips: settings.words,
    onText: (word) => state.set({ word }),
  });
  const which = make("span");
  const choose = make("p", { class: "soft" }, "Choose a token. Replace ", which, " with:");
  const board = new Board({
    role: "plain",
    tensor: "",
    label: "largest changes",
    corner: "stage ↓ token →",
    decimals: 1,
    read: (row, column, number) => [row, ", at ", column, `: changes by up to ${number}`],
    onCell: ({ column }) => state.set({ watch: column }),
  });
  const bars = new Bars({ rows: 4 });
  const controls = new Switchboard(state, [flag("mask", "causal mask")]);

  /**
   * The two texts, of the same length: the chosen word exchanged, and what follows moved along; and
   * the tokens that stand in its place, of how many.
   * @param {number[]} ids
   * @param {number} at
   */
  const exchanged = (ids, at) => {
    const { tokenizer } = model.present;
    const word = state.get("word");
    const space = /^\s/.test(tokenizer.show(ids[at])) && !/^\s|^$/.test(word) ? " " : "";
    const given = at ? tokenizer.encode(space + word) : [];
    const instead = given.length ? given : [ids[at]];
    const changed = [...ids.slice(0, at), ...instead, ...ids.slice(at + 1)];
    const length = Math.min(ids.length, changed.length, MOST);
    const used = given.slice(0, length - at);
    return { ids: ids.slice(0, length), changed: changed.slice(0, length), given, used };
  };

  /**
   * What the change has done to the positions before it.
   * @param {number} first  position that is changed
   * @param {string[]} names  of the two tokens there
   * @param {number[]} changes  of the logits, by position
   * @param {string} seen  what has happened to the bars
   */
  const sentence = (first, [was, is], changes, seen) => {
    [was, is] = [was, is].map(quoted);
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

  const rays = new Rays(board.scroll, board.grid);
  let rippled = ""; // the exchange that was shown last

  /**
   * The ways that the change takes, from the exchanged token up; a way back is a leak.
   * @param {number} first
   * @param {number[][]} table
   * @param {string} name  of the new token
   * @returns {import("./rays.mjs").Painter}
   */
  const ways = (first, table, name) => (at) => {
    const [top, columns] = [table.length - 1, table[0].length];
    const cell = (/** @type {number} */ row, /** @type {number} */ t) =>
      at(board.cells[row * columns + t]);
    const all = table[0].map((_, t) => t);
    const lines = table.slice(1).flatMap((below, row) =>
      all.flatMap((t) =>
        all.flatMap((s) => {
          const lit = below[s] > 0 && table[row][t] > 0;
          if (t !== s && (!row || (t < s && state.get("mask")))) return []; // each logit is one token's
          if (!lit && columns > NUMBERED) return [];
          const [from, end] = [cell(row + 1, s), cell(row, t)];
          const kind = t < s ? "of-leak" : t > s ? "of-weights" : "";
          const alone = lit && (t === s || below.filter(Boolean).length < 3);
          const [low, high] = [
            [from.x, from.top],
            [end.x, end.bottom],
          ];
          const line = way(
            low,
            high,
            alone ? 4 : 1.25,
            lit ? `lit ${kind}` : "",
            delay(top - 1 - row, top),
          );
          line.setAttribute("d", `M${low}L${high}`); // the gaps are too low for bends
          return line;
        }),
      ),
    );
    const [head, foot] = [at(board.grid.rows[0].cells[first + 1]), cell(top, first)];
    return [
      ...[":not(.lit)", ".lit:not(.of-leak)", ".of-leak"].flatMap((kind) =>
        lines.filter((one) => one.matches(kind)),
      ),
      band("", head.left + 4, head.top + 4, head.right - 4, head.bottom - 4),
      draw("text", { x: foot.right, y: foot.bottom + 20, "text-anchor": "end" }, `↑ ${name}`),
    ];
  };

  /**
   * @param {number} steps  up
   * @param {number} all
   */
  const delay = (steps, all) => steps * Math.min(WRITE, ALL / all);

  /**
   * The change runs up through the map, from the exchanged token to where it has an effect.
   * @param {number[][]} table
   */
  const ripple = (table) => {
    const top = table.length - 1;
    board.cells.forEach((cell, i) => {
      const [row, column] = [Math.floor(i / board.columns), i % board.columns];
      if (!table[row]?.[column]) return;
      move(cell, [{ scale: 0.4, opacity: 0 }, {}], { delay: delay(top - row, top) });
    });
  };

  return {
    nodes: [
      strip.element,
      choose,
      make("div", { class: "side-by-side instead" }, other.chips, other.input, controls.element),
      board.element,
      make("p", { class: "soft" }, LEGEND),
      bars.element,
    ],
    show: async (latest) => {
      const text = state.get("text");
      const { ids: whole, cut } = await model.encode(text, MOST);
      const at = Math.min(state.get("at"), whole.length - 1);
      const { ids, changed, given, used } = exchanged(whole, at);
      const request = { record: paths, switches: { mask: state.get("mask") } };
      const [was, is] = await Promise.all([
        model.run({ ids, key: "mask, as it was", ...request }),
        model.run({ ids: changed, key: "mask, changed", ...request }),
      ]);
      if (!was || !is || !latest()) return;
      const tokens = model.names(ids);
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
      choose.hidden = !at;
      which.textContent = quoted(model.show(whole[at]));
      other.set([], { text: state.get("word") });
      const t = Math.min(state.get("watch"), ids.length - 1);
      board.set(table.flat(), {
        rows: stages,
        columns: tokens,
        scale: most,
        off: ({ row, column }) => !table[row][column],
        lit: ({ row, column }) => column < first && table[row][column] > 0,
        place: { row: board.place.row, column: t },
      });
      controls.set();
      const exchange = JSON.stringify([ids, changed, state.get("mask")]);
      const runs = rippled !== "" && rippled !== exchange;
      rays.set(first < 1 ? () => [] : ways(first, table, model.show(changed[first])), runs);
      if (runs) ripple(table);
      rippled = exchange;
      if (first < 1) {
        bars.set([], "");
        if (!at) say("There is no word to replace yet. Type a few.");
        else if (given.length) say("It is the same word, so nothing changes.");
        else say("Type a word to put in its place.");
        return;
      }
      const names = [ids[first], changed[first]].map((id) => model.show(id));
      const [p, now] = [was, is].map(({ logits }) => model.probabilities(logits, { t }));
      const shown = nextAfter(text, now, p, 4);
      const title =
        ids[t] === changed[t]
          ? `what comes after ${tokens[t]}, with ${names[1]} (dashed: with ${names[0]})`
          : `what comes after ${model.show(changed[t])} (dashed: after ${tokens[t]})`;
      const { id } = shown.reduce((a, b) => (moved(b) > moved(a) ? b : a));
      const goes = `goes from ${share(p[id])} to ${share(now[id])}`;
      const seen = t < first ? ` After ${tokens[t]}, ${quoted(model.show(id))} ${goes}.` : "";
      const fitting = used.map((id) => model.show(id)).join(" ");
      const kept =
        used.length < given.length ? `The text keeps its length, so only ${fitting} fits. ` : "";
      say(kept + sentence(first, names, logits, seen));
      const words = { ids: changed.slice(0, t + 1), key: "mask, words", latest, title };
      await inWords(model, bars, shown, words);
    },
    act: async (hand) => {
      state.set({ mask: true });
      await hand.pause();
      await hand.to(board.cells[board.columns + Math.max(0, state.get("at") - 2)]);
      await hand.pause(600);
      await hand.press(hand.find("input[type=checkbox]"));
    },
    whole: () => ({ text: state.get("text"), place: "1.0", step: "2" }),
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
