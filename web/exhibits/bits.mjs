// Chapter 21: pull the bits of the weights down, and see in which order it falls apart: a story, the
// prediction, the attention map.

import { Grammar } from "../language/grammar.mjs";
import { judge } from "../language/judge.mjs";
import { bundle } from "../page.mjs";
import { GROUP } from "../rounding.mjs";
import { nextAfter, pieces } from "./answers.mjs";
import { row } from "./as_table.mjs";
import { Bars, goes, share } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { Fewer } from "./fewer.mjs";
import { BOOKS } from "./page_model.mjs";
import { RoundedRow } from "./rounded_row.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";
import { farthest } from "./vectors.mjs";

/** @import { Shipped } from "../language/grammar.mjs" */
/** @import { Verdict } from "../language/judge.mjs" */
/** @import { Found } from "./fewer.mjs" */
/** @import { Per } from "../rounding.mjs" */
/** @typedef {{moved: number, p: number, story: string, wrong: boolean}} Rung */

const MOST = 12; // tokens of the text, so that the map has its numbers
const LONG = 111; // tokens of a story
const FIRST = 5; // bits in the beginning: their values can still be told apart
const STOPS = [2, 3, 4, 5, 6, 8, 16]; // bits
const PER = /** @type {[Per, string][]} */ ([
  ["tensor", "matrix"],
  ["row", "row"],
  ["group", `${GROUP} weights`],
]);

/** @type {import("./exhibit.mjs").Kind} */
export function bits({ settings, state, model, say, sentence }) {
  const { nLayer, nHead, nEmbd, blockSize } = model.present.config;
  const { tokenizer, name: who } = model.present;
  const layers = Array.from({ length: nLayer }, (_, n) => n);
  const names = layers.flatMap((n) => Array.from({ length: nHead }, (_, h) => `${n}.${h}`));
  state.declare("text", settings.text);
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("bits", FIRST, { min: 2, max: 16, whole: true });
  state.declare("per", "row", { among: PER.map(([per]) => per) });
  state.declare("seed", settings.seed ?? 1, { min: 0, max: 1e6, whole: true });

  const strip = textStrip(state, settings);
  const controls = new Switchboard(state, [
    slider("bits", "bits of a weight", { stops: STOPS, decimals: 0 }),
    choose("per", "one scale for each", PER),
  ]);
  const weights = new RoundedRow(Math.min(GROUP, nEmbd));
  const board = new Board();
  const title = make("p", { class: "soft" });
  const bars = new Bars({ rows: 5 });
  const wrote = make("p", { class: "wrote" });
  const next = () => state.set({ seed: state.get("seed") + 1 });
  const other = make("button", { onclick: next }, "another story");
  const ladder = make("tbody");
  const columns = ["bits", "the map moves by", "", "the story"];
  const heading = make("tr", {}, ...columns.map((text) => make("th", { scope: "col" }, text)));
  const fewer = new Fewer(model);
  /** @type {Map<number, Rung>} */
  let rungs = new Map(); // of the text, the scales and the story that are shown
  let of = "";

  /** @type {Promise<Grammar> | null} */
  let grammar = null;
  /** @param {string} text @param {boolean} ended */
  const verdict = async (text, ended) => {
    if (who !== BOOKS) return null; // of another model's language nothing is known
    grammar ??= bundle("crane_grammar").then(
      (shipped) => new Grammar(/** @type {Shipped} */ (/** @type {unknown} */ (shipped))),
    );
    const found = judge(await grammar, text, ["story"]);
    if (found.failsAt === null && !ended) return { ...found, failsAt: text.length };
    return found;
  };

  /**
   * The story up to where it leaves the language, and from there on marked.
   * @param {string} text
   * @param {Verdict | null} found
   */
  const paintStory = (text, found) => {
    if (!found) wrote.replaceChildren(make("q", {}, text));
    else if (found.failsAt === null) wrote.replaceChildren(make("q", {}, text), " Right.");
    else {
      const [good, bad] = [text.slice(0, found.failsAt), text.slice(found.failsAt)];
      wrote.replaceChildren(make("q", {}, good, make("mark", {}, bad || "…")), " Wrong.");
    }
  };

  /** @param {string} token  whose probability is followed */
  const paintLadder = (token) => {
    heading.cells[2].textContent = token;
    ladder.replaceChildren(
      ...[...STOPS].reverse().map((n) => {
        const rung = rungs.get(n);
        const cells = rung ? [fixed(rung.moved, 2), fixed(rung.p, 2), rung.story] : ["·", "·", "·"];
        const line = row(`${n}`, cells);
        line.className = n === state.get("bits") ? "now" : "";
        if (rung?.wrong) line.cells[3].className = "differs";
        [rung?.moved ?? 0, rung?.p ?? 0].forEach((share, i) =>
          line.cells[i + 1].style.setProperty("--share", fixed(share)),
        );
        return line;
      }),
    );
  };

  return {
    nodes: [
      strip.element,
      controls.element,
      weights.element,
      sentence,
      beside([title, board.element], bars.element),
      beside(make("table", { class: "parity ladder" }, make("thead", {}, heading), ladder), [
        make(
          "div",
          { class: "side-by-side" },
          make("span", { class: "soft" }, "a story that it writes"),
          other,
        ),
        wrote,
      ]),
    ],
    show: async (latest) => {
      const [text, head, per, seed] = state.all("text", "head", "per", "seed");
      const bits = nearest(state.get("bits"));
      const { ids, cut } = await model.encode(text, MOST);
      const [n, h] = head.split(".").map(Number);
      const path = `transformer.h.${n}.attn.weights`;
      const request = { ids, record: [path], lastOnly: true };
      const long = Math.max(0, Math.min(LONG, blockSize + 1 - ids.length));
      const asked = { bits, per, ids, record: [path], n: long, seed };
      const whole = await model.run({ ...request, key: "bits, as trained" });
      if (!whole || !latest()) return;
      /** @type {Found} */
      const { result, written } = await fewer.run(asked);
      const row = await fewer.row(`h.${n}.attn.c_attn`, h * (nEmbd / nHead), bits, per);
      if (!latest()) return;
      const [before, now] = [whole, result].map(({ logits }) => model.probabilities(logits));
      const [was, is] = [whole, result].map(({ tensor }) => mapsOf(tensor(path))[h]);
      const ended = written.at(-1) === tokenizer.eot;
      const story = tokenizer.decode([...ids, ...written].filter((id) => id !== tokenizer.eot));
      const found = await verdict(story, ended);
      if (!latest()) return;

      const tokens = model.names(ids);
      strip.set(pieces(ids), { text, cut });
      const last = ids.length - 1;
      const own = was.subarray(last * ids.length);
      const most = own.indexOf(Math.max(...own)); // where it looks, as trained
      const place = { row: last, column: most };
      board.set(is, {
        rows: tokens,
        columns: tokens,
        off: (place) => place.column > place.row,
        lit: (place) => place.row === last && place.column === most,
        place,
      });
      weights.set(row, bits, `${row.was.length} weights in a row of the queries of head ${head}`);
      title.textContent = `attention of head ${head}`;
      bars.set(
        nextAfter(text, now, before, 5),
        `what comes after ${tokens[last]} (dashed: as trained)`,
      );
      paintStory(story.trim(), found);
      controls.set();

      const moved = farthest(is, was);
      const [first] = model.best(before, 1);
      const key = JSON.stringify([ids, head, per, seed]);
      if (of !== key) rungs = new Map();
      of = key;
      const wrong = found !== null && found.failsAt !== null;
      const told = !found ? "–" : wrong ? "wrong" : "right";
      rungs.set(bits, { moved, p: now[first.id], story: told, wrong });
      paintLadder(first.name);
      const which = PER.find(([one]) => one === per)?.[1];
      say(
        `${bits} bits, a scale for each ${which}: the map moves by up to ${fixed(moved, 2)}, ` +
          `${quoted(first.name)} ${goes(first.p, now[first.id], (p) => fixed(p, 2))}` +
          (found ? `, and the story is ${told}.` : "."),
      );
    },
    concerns: (name) => ["text", "head", "bits", "per", "seed"].includes(name),
    act: async (hand) => {
      state.set({ bits: 16, per: "row" });
      await hand.pause();
      for (const n of [4, 3, 2]) {
        await hand.slide("bits of a weight", STOPS.indexOf(n), 600);
        await hand.pause(900);
      }
    },
    whole: () => ({ text: state.get("text"), place: state.get("head") }),
    table: () => ({
      caption: `${state.get("text")} What has been tried, with a scale for each ${PER.find(([per]) => per === state.get("per"))?.[1]}.`,
      columns: ["bits", "the map moves by", "the likeliest token", "the story"],
      rows: [...rungs]
        .sort(([a], [b]) => b - a)
        .map(([n, { moved, p, story }]) => [`${n}`, fixed(moved), share(p), story]),
    }),
  };
}

/**
 * The stop of the slider that is nearest.
 * @param {number} bits
 */
function nearest(bits) {
  return STOPS.reduce((best, one) => (Math.abs(one - bits) < Math.abs(best - bits) ? one : best));
}
