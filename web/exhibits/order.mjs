// Chapter 5: the same words in another order. What tells the model? Positions, and the mask; with
// both off the last word gets the same answer, whatever the order of the earlier ones.

import { nextAfter } from "./answers.mjs";
import { Bars, share } from "./bars.mjs";
import { Board } from "./board.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, flag } from "./switchboard.mjs";
import { farthest } from "./vectors.mjs";

const MOST = 20; // tokens
const CASES = [true, false].flatMap((positions) =>
  [true, false].map((mask) => ({ positions, mask })),
);
const ROUNDING = 1e-4; // sums in another order differ in their last digits

/** @type {import("./exhibit.mjs").Kind} */
export function order({ settings, state, model, say }) {
  state.declare("text", settings.text);
  state.declare("order", settings.order ?? []); // places as typed, of all words but the last
  state.declare("positions", true);
  state.declare("mask", true);

  const strip = textStrip(state, settings, {
    onText: (text) => state.set({ text, order: [] }),
    onMove: (from, to) => {
      const next = places(now.length); // what is painted may be older
      next.splice(to, 0, ...next.splice(from, 1));
      put(next);
    },
  });
  const controls = new Switchboard(state, [
    flag("positions", "positions"),
    flag("mask", "causal mask"),
  ]);
  const shuffle = make("button", { onclick: () => put(shuffled(now, start)) }, "shuffle");
  const back = make("button", { onclick: () => state.set({ order: [] }) }, "as typed");
  const board = new Board({
    role: "plain",
    tensor: "",
    least: 0,
    label: "largest change of a probability",
    corner: "largest change",
    decimals: 3,
    read: (row, column, number) => {
      if (isSame(now)) return [row, ", ", column, ": no word has moved yet"];
      const kept = Number(number) < ROUNDING ? "✗ the order is lost" : "✓ the order matters";
      return [row, ", ", column, `: ${kept}, the largest change is ${number}`];
    },
  });
  const bars = new Bars({ rows: 5 });
  let start = 0; // places before it hold no word
  /** @type {number[]} */
  let now = []; // places as typed, in the order shown
  /** @type {{text: string, all: Float64Array[] | null}} */
  let typed = { text: "", all: null }; // what comes next in each case, in the order of the text

  /** @param {number[]} next */
  const put = (next) => {
    state.set({ order: isSame(next) ? [] : next.slice(start, -1).map(String) });
  };

  /**
   * The order that the state asks for, if it is one of these tokens.
   * @param {number} n  tokens
   */
  const places = (n) => {
    const plain = Array.from({ length: n }, (_, i) => i);
    const asked = /** @type {string[]} */ (state.get("order")).map(Number);
    const whole = [...plain.slice(0, start), ...asked, n - 1];
    return whole.length === n && new Set(whole).size === n && whole.every((p) => p in plain)
      ? whole
      : plain;
  };

  /**
   * What comes next, in each of the four cases; null if that is out of date.
   * @param {number[]} ids
   * @param {string} key
   */
  const next = async (ids, key) => {
    const passes = CASES.map((switches, i) =>
      model.run({ ids, switches, key: `order ${key} ${i}`, lastOnly: true }),
    );
    const done = await Promise.all(passes);
    const all = done.flatMap((one) => (one ? [model.probabilities(one.logits)] : []));
    return all.length === CASES.length ? all : null;
  };

  /**
   * @param {Float64Array} p
   * @param {Float64Array} before  in the order as typed
   * @param {number} change
   * @param {boolean} same  the order is as typed
   */
  const sentence = (p, before, change, same) => {
    const [first] = model.best(p, 1);
    if (same) {
      const move = now.length > start + 2 ? "Move a word." : "Type more words to move them.";
      return `As typed, ${quoted(first.name)} comes next with ${fixed(first.p, 2)}. ${move}`;
    }
    const [positions, mask] = [state.get("positions"), state.get("mask")];
    if (change < ROUNDING) {
      const how =
        positions || mask
          ? "In this order no bar moves"
          : "Without positions and without the mask no bar moves, whatever the order";
      const most = change ? change.toExponential(0).replace("-", "−") : "0";
      return `${how}: the largest change is ${most}${change ? ", rounding" : ""}.`;
    }
    const { id } = model.best(
      p.map((now, id) => Math.abs(now - before[id])),
      1,
    )[0];
    const moves = `${quoted(model.show(id))} goes from ${share(before[id])} to ${share(p[id])}`;
    if (positions && mask) return `Positions and the mask tell the order: ${moves}.`;
    return `Only ${positions ? "the positions tell" : "the mask tells"} the order: ${moves}.`;
  };

  return {
    nodes: [
      strip.element,
      make("div", { class: "side-by-side" }, controls.element, shuffle, back),
      beside(bars.element, board.element),
    ],
    show: async (latest) => {
      const text = state.get("text");
      const { ids, cut } = await model.encode(text, MOST);
      start = ids[0] === model.present.tokenizer.eot ? 1 : 0;
      now = places(ids.length);
      const same = isSame(now);
      if (typed.text !== text || !typed.all) typed = { text, all: await next(ids, "typed") };
      const moved = same
        ? typed.all
        : await next(
            now.map((place) => ids[place]),
            "moved",
          );
      if (!typed.all || !moved || !latest()) return;
      const tokens = model.names(ids);
      strip.set(
        now.map((place, i) => ({
          name: tokens[place],
          id: ids[place],
          share: place === i ? 0 : 0.4,
          fixed: i < start || i === ids.length - 1,
        })),
        { text, cut, note: "Framed tokens stay in place." },
      );
      const { all } = typed;
      const changes = moved.map((p, i) => farthest(p, all[i]));
      const at = CASES.findIndex(({ positions, mask }) => {
        return positions === state.get("positions") && mask === state.get("mask");
      });
      const [p, before] = [moved[at], all[at]];
      board.set(changes, {
        rows: ["positions", "no positions"],
        columns: ["mask", "no mask"],
        lit: ({ row, column }) => 2 * row + column === at,
        place: { row: at >> 1, column: at & 1 },
      });
      const last = tokens[tokens.length - 1];
      const shown = nextAfter(text, p, same ? undefined : before, 5);
      bars.set(shown, `what comes after ${last}${same ? "" : " (dashed: as typed)"}`);
      controls.set();
      say(sentence(p, before, changes[at], same));
    },
    act: async (hand) => {
      state.set({ order: [], positions: true, mask: true });
      await hand.pause();
      const city = strip.pieces.findIndex(({ name }) => name === "␣city");
      await hand.carry(strip, city < 0 ? now.length - 2 : city, start);
      await hand.press(hand.find("input[type=checkbox]"));
      await hand.press(hand.find("input[type=checkbox]", 1));
    },
    whole: () => ({ text: state.get("text") }),
    table: () => ({
      caption: `What the order of "${state.get("text")}" changes: the largest change of a probability.`,
      ...board.table,
    }),
  };
}

const isSame = (/** @type {number[]} */ places) => places.every((place, i) => place === i);

/**
 * The places between start and the last by chance.
 * @param {number[]} places
 * @param {number} start
 */
function shuffled(places, start) {
  const next = [...places];
  for (let i = next.length - 2; i > start; i--) {
    const j = start + Math.floor(Math.random() * (i - start + 1));
    [next[i], next[j]] = [next[j], next[i]];
  }
  return next;
}
