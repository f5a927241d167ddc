// Chapter 1: a text as bytes, and how merges fuse them into tokens; GPT-2's list beside Crane
// World's. Tokens are no words.

import { loadTokenizer } from "../page.mjs";
import { grouped, make, visible } from "./dom.mjs";
import { glue } from "./glue.mjs";
import { COPY, still } from "./motion.mjs";
import { Strip } from "./strip.mjs";

/** @import { Tokenizer } from "../tokenizer.mjs" */
/** @typedef {{name: string, key: string, merges: number}} List */

const GPT2 = { name: "GPT-2", key: "gpt2", merges: 50_000 };
const CRANE = { name: "Crane World", key: "crane", merges: 767 };
const LISTS = /** @type {List[]} */ ([GPT2, CRANE]);
const BYTES = 256; // ids before the first merge
const MOST = 200; // tokens that are drawn
const TENTHS = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
/** Where the slider stops: every number is about a fifth more than the one before. */
const STOPS = [0, 1, 2, 3, 4, 5, 6, 8, CRANE.merges]
  .concat([1, 10, 100, 1000].flatMap((times) => TENTHS.map((n) => n * times)))
  .filter((n) => n <= GPT2.merges)
  .sort((a, b) => a - b);

/** @type {import("./exhibit.mjs").Kind} */
export function tokens({ settings, state, say, element }) {
  state.declare("text", settings.text);
  state.declare("merges", GPT2.merges, { min: 0, max: GPT2.merges, whole: true });
  state.declare("token", ""); // "gpt2 3": the one whose making is shown

  const strips = LISTS.map(({ key }) => {
    return new Strip({
      value: state.get("text"),
      chips: settings.chips,
      onText: (text) => state.set({ text, token: "" }),
      onPick: (at) => {
        const token = `${key} ${at}`;
        state.set({ token: state.get("token") === token ? "" : token });
      },
    });
  });
  const range = make("input", {
    type: "range",
    "aria-label": "merges",
    min: "0",
    max: String(STOPS.length - 1),
    step: "1",
    oninput: () => state.set({ merges: STOPS[range.valueAsNumber], token: "" }),
  });
  const output = make("output");
  const heads = LISTS.map(() => make("p", { class: "soft" }));
  const steps = make("p", { class: "soft steps" });
  const maker = new Strip({ what: "piece" });
  /** @type {number[][]} */
  const lengths = [[], []]; // bytes of the pieces that are shown
  let made = ""; // whose making is shown
  const [first] = strips;
  /** @type {(string | number)[][][]} */
  let rows = [];

  /**
   * How the chosen token came about.
   * @param {Tokenizer[]} lists
   * @param {number[][]} ids
   */
  const making = (lists, ids) => {
    const [key, at] = state.get("token").split(" ");
    const which = LISTS.findIndex((list) => list.key === key);
    const id = ids[which]?.[Number(at)];
    if (id === undefined) play([]);
    if (id === undefined) return "Choose a token to see how it was made.";
    const list = lists[which];
    const bytes = list.tokens[id];
    const name = visible(list.show(id));
    /** @type {number[][]} */
    const rounds = [];
    if (id >= BYTES) list.merge(bytes, (round) => rounds.push([...round]));
    const pieces = rounds.map((round) =>
      round.map((part) => ({ name: visible(list.show(part)), bytes: list.tokens[part].length })),
    );
    play(pieces);
    if (id < BYTES) return `${name} is a single byte, number ${bytes.charCodeAt(0)}.`;
    const told = pieces.map((round) => round.map((part) => part.name).join(" | "));
    return `${name}, made by merge ${grouped(id - BYTES + 1)}: ${told.join(" → ")}`;
  };

  /**
   * The merges that made a token, one after the other.
   * @param {{name: string, bytes: number}[][]} rounds
   */
  const play = async (rounds) => {
    const mine = JSON.stringify(rounds);
    if (made === mine) return;
    made = mine;
    maker.set([]);
    /** @type {number[]} */
    let before = [];
    for (const round of still() ? rounds.slice(-1) : rounds) {
      const after = round.map(({ bytes }) => bytes);
      glue(element, maker, before, after, () => maker.set(round));
      before = after;
      await new Promise((done) => setTimeout(done, 2 * COPY));
      if (made !== mine || !element.isConnected) return;
    }
  };

  return {
    nodes: [
      make("div", { class: "strip-box" }, first.chips, first.input),
      make("label", { class: "slider" }, make("span", {}, "merges ", output), range),
      make(
        "div",
        { class: "halves" },
        ...strips.map((strip, i) => make("div", {}, heads[i], strip.list, strip.note)),
      ),
      maker.list,
      steps,
    ],
    show: async (latest) => {
      const lists = await Promise.all(LISTS.map(({ key }) => loadTokenizer(key)));
      if (!latest()) return;
      const [text, merges] = [state.get("text"), state.get("merges")];
      const bytes = new TextEncoder().encode(text).length;
      const now = lists.map((list) => cut(list, text, merges));
      const all = lists.map((list) => cut(list, text, GPT2.merges).ids.length);
      range.value = String(STOPS.filter((stop) => stop <= merges).length - 1);
      output.textContent = merges ? grouped(merges) : "0: bytes";
      range.setAttribute("aria-valuetext", output.textContent);
      const [key, at] = state.get("token").split(" ");
      now.forEach(({ ids, parts }, i) => {
        const { name, merges: most } = LISTS[i];
        const with_ = merges < most ? grouped(merges) : `all ${grouped(most)}`;
        heads[i].textContent = `${name}, ${with_} merges: ${plural(ids.length, "token")}`;
        const note = ids.length > MOST ? `These are the first ${MOST}.` : "";
        const pieces = ids.slice(0, MOST).map((id, t) => ({
          name: visible(lists[i].show(id)),
          id,
          mark: `${parts[t] === "on" ? "part" : ""} ${parts[t + 1] === "on" ? "joined" : ""}`,
          share: parts[t] ? 0.45 : 0,
        }));
        const chosen = key === LISTS[i].key ? Number(at) : -1;
        const fresh = ids.slice(0, MOST).map((id) => lists[i].tokens[id].length);
        glue(element, strips[i], lengths[i], fresh, () => {
          strips[i].set(pieces, { chosen: pieces[chosen] ? chosen : -1, text, note });
          widen(strips[i], fresh, bytes);
        });
        lengths[i] = fresh;
      });
      steps.textContent = bytes
        ? making(
            lists,
            now.map(({ ids }) => ids),
          )
        : "";
      rows = now.map(({ ids }, i) => ids.slice(0, MOST).map((id) => [lists[i].show(id), id]));
      say(sentence({ bytes, merges, now, all }));
    },
    table: () => ({
      caption: `The tokens with at most ${grouped(state.get("merges"))} merges.`,
      columns: ["position", ...LISTS.flatMap(({ name }) => [name, "id"])],
      rows: Array.from({ length: Math.max(...rows.map((list) => list.length)) }, (_, t) => [
        t,
        ...rows.flatMap((list) => {
          const [name = "", id = ""] = list[t] ?? [];
          return [visible(String(name)), String(id)];
        }),
      ]),
    }),
    act: async (hand) => {
      const top = STOPS.length - 1;
      await hand.slide("merges", 0);
      await hand.slide("merges", top, 2400);
    },
    whole: () => ({ text: state.get("text") }),
    concerns: (name) => ["text", "merges", "token"].includes(name),
  };
}

/**
 * Each piece is as wide as it has bytes, so that what both lists cut stands one below the other.
 * @param {Strip} strip
 * @param {number[]} lengths
 * @param {number} all  of the text
 */
function widen({ list, buttons }, lengths, all) {
  list.style.setProperty("--all", String(Math.max(1, all)));
  buttons.forEach(({ parentElement }, i) =>
    parentElement?.style.setProperty("--bytes", String(lengths[i])),
  );
}

/**
 * A text's ids with only the first merges of a list, and of each whether a word is cut there: ""
 * (no), "begins", "on".
 * @param {Tokenizer} list
 * @param {string} text
 * @param {number} merges
 */
function cut(list, text, merges) {
  /** @type {string[]} */
  const parts = [];
  let [words, whole] = [0, 0];
  const few = Object.assign(Object.create(list), {
    known: { get: () => undefined, size: Infinity }, // so that each piece is merged, and seen here
    ranks: {
      get: (/** @type {string} */ bytes) => {
        const id = list.ranks.get(bytes);
        return id !== undefined && id < BYTES + merges ? id : undefined; // an id is a rank
      },
    },
    merge: (/** @type {string} */ bytes) => {
      /** @type {number[]} */
      const ids = list.merge.call(few, bytes);
      const several = ids.length > 1;
      ids.forEach((_, i) => parts.push(several ? (i ? "on" : "begins") : ""));
      if (/\p{L}/u.test(list.decode(ids))) {
        words++;
        if (!several) whole++;
      }
      return ids;
    },
  });
  const ids = /** @type {number[]} */ (few.encode(text));
  return { ids, parts, words, whole };
}

/**
 * @param {{bytes: number, merges: number, now: ReturnType<typeof cut>[], all: number[]}} seen
 */
function sentence({ bytes, merges, now, all }) {
  if (!bytes) return "No text, no tokens.";
  const counts = now.map(({ ids }) => ids.length);
  const [{ words }] = now;
  const [whole, other] = now.map((list) => list.whole);
  const those = `${plural(counts[0], "token")} for GPT-2, ${counts[1]} for Crane World`;
  const before = counts.some((count, i) => count !== all[i])
    ? ` (with all: ${all.join(", ")})`
    : "";
  const merged = merges < GPT2.merges ? `With ${plural(merges, "merge")}, ` : "";
  const begin = `${merged}${plural(bytes, "byte")} are ${those}${before}.`;
  if (!words) return begin;
  if (words > 1) {
    return `${begin} Of ${words} words GPT-2 keeps ${whole} whole, Crane World ${other}.`;
  }
  const both = whole ? "one token for both" : "cut by both";
  const one = `one token only for ${whole ? "GPT-2" : "Crane World"}`;
  return `${begin} The only word is ${whole === other ? both : one}.`;
}

/**
 * @param {number} n
 * @param {string} what
 */
function plural(n, what) {
  return `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;
}
