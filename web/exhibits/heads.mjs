// Chapter 6: cut heads by a click on their maps, and see what the next token loses. Bright maps are
// not those that matter.

import { nextAfter, pieces } from "./answers.mjs";
import { Arcs } from "./arcs.mjs";
import { Bars, goes, share } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { inWords } from "./rest_of.mjs";
import { textStrip } from "./strip.mjs";

const MOST = 24; // tokens

/** @import { Result } from "./page_model.mjs" */

/** @type {import("./exhibit.mjs").Kind} */
export function heads({ settings, state, model, say }) {
  const { nLayer, nHead } = model.present.config;
  const blocks = Array.from({ length: nLayer }, (_, n) => n);
  const names = blocks.flatMap((n) => Array.from({ length: nHead }, (_, h) => `${n}.${h}`));
  const paths = blocks.map((n) => `transformer.h.${n}.attn.weights`);
  state.declare("text", settings.text);
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("off", [], { among: names });
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true }); // the query; the last token

  const areOff = () => names.filter((name) => state.get("off").includes(name));

  const strip = textStrip(state, settings, {
    onText: (text) => state.set({ text, at: -1 }),
    onPick: (at) => state.set({ at }),
  });
  const arcs = new Arcs(strip);
  const board = new Board({
    onHead: (i) => state.set({ head: names[i] }),
    onCut: (i) => {
      state.toggle("off", names[i]);
      state.set({ head: names[i] });
    },
  });
  const title = make("p", { class: "soft" });
  const how = "heads, as block.head. Point at one to look closer, click it to cut it.";
  board.heads.before(make("p", { class: "soft" }, how));
  board.heads.after(title);
  board.heads.setAttribute("aria-label", "heads; the pressed ones are cut");
  board.heads.style.setProperty("--columns", String(columns(nHead, 6)));
  const bars = new Bars();
  /** @type {{asked: string, whole: Result | null, now: Result | null}} */
  let known = { asked: "", whole: null, now: null }; // another head of it needs no pass

  const { tokenizer } = model.present;
  const rivals = (settings.rivals ?? []).map((/** @type {string} */ w) => tokenizer.encode(w)[0]);

  /**
   * What the cut has done to the lead of the token that was likeliest: over the notebook's other
   * choice, else over the second.
   * @param {Float64Array} now
   * @param {Float64Array | undefined} before
   * @param {string[]} off
   * @param {(name: string) => string} look  of a head
   */
  const sentence = (now, before, off, look) => {
    const [first, second] = model.best(before ?? now, 2);
    const choice =
      rivals.includes(first.id) && rivals.find((/** @type {number} */ id) => id !== first.id);
    const other = choice || second.id;
    const [name, rival] = [first.id, other].map((id) => quoted(model.show(id)));
    const nats = (/** @type {Float64Array} */ p) => Math.log(p[first.id] / p[other]);
    const two = (/** @type {number} */ value) => fixed(value, 2);
    if (!before) {
      const head = state.get("head");
      const leads = `${name} (${share(first.p)}) leads ${rival} by ${two(nats(now))} nats.`;
      return `${leads} Head ${head} ${look(head)}.`;
    }
    const which =
      off.length > 1 ? `heads ${off.join(", ")}` : `head ${off[0]}, which ${look(off[0])},`;
    const leads = `the lead of ${name} over ${rival} ${goes(nats(before), nats(now), two)} nats`;
    return `Without ${which} ${leads}, and the probability of ${name} ${goes(first.p, now[first.id])}.`;
  };

  return {
    nodes: [strip.element, beside(board.element, bars.element)],
    show: async (latest) => {
      const [text, head] = state.all("text", "head");
      const off = areOff();
      const { ids, cut } = await model.encode(text, MOST);
      const last = ids.length - 1;
      const at = state.get("at") < 0 ? last : Math.min(state.get("at"), last);
      const lastOnly = at === last;
      const asked = JSON.stringify([model.present.name, ids, off, lastOnly]);
      if (known.asked !== asked) {
        const request = { ids, record: paths, switches: { headsOff: off }, lastOnly };
        const [all, cutting] = await Promise.all([
          off.length ? model.run({ ids, key: "heads, whole", lastOnly }) : null,
          model.run({ ...request, key: "heads" }),
        ]);
        if (!cutting || (off.length && !all) || !latest()) return;
        known = { asked, whole: all, now: cutting };
      }
      const { whole, now } = known;
      if (!now) return;
      const tokens = model.names(ids);
      strip.set(pieces(ids), { text, cut, chosen: at });
      const maps = paths.flatMap((path) => mapsOf(now.tensor(path)));
      const chosen = names.indexOf(head);
      const most = (/** @type {number} */ of) => {
        const row = maps[of].subarray(at * ids.length, (at + 1) * ids.length);
        const key = row.indexOf(Math.max(...row));
        return { key, weight: row[key] };
      };
      const look = (/** @type {string} */ name) => {
        const { key, weight } = most(names.indexOf(name));
        return `looks from ${quoted(tokens[at])} mainly at ${quoted(tokens[key])} (${fixed(weight, 2)})`;
      };
      const mark = (/** @type {string} */ name) => (off.includes(name) ? "cut" : "");
      board.setHeads(
        maps.map((values, i) => ({ title: names[i], values, mark: mark(names[i]) })),
        chosen,
      );
      const after = ({ row = 0, column = 0 }) => column > row;
      const { key } = most(chosen);
      const own = maps[chosen].subarray(at * ids.length, at * ids.length + at + 1);
      arcs.set(at, off.includes(head) ? own.map(() => 0) : own);
      const lit = ({ row = 0, column = 0 }) => row === at && column === key;
      title.textContent = `head ${head}${off.includes(head) ? " (cut)" : ""}`;
      const place = { row: at, column: key };
      board.set(maps[chosen], { rows: tokens, columns: tokens, off: after, lit, place });
      const t = lastOnly ? -1 : at;
      const p = model.probabilities(now.logits, { t });
      const before = whole ? model.probabilities(whole.logits, { t }) : undefined;
      const shown = nextAfter(text, p, before);
      say(sentence(p, before, off, look));
      const words = { ids: ids.slice(0, at + 1), key: "heads, words", latest };
      await inWords(model, bars, shown, { ...words, title: `what comes after ${tokens[at]}` });
    },
    act: async (hand) => {
      state.set({ off: [], at: -1 });
      await hand.pause();
      const map = (/** @type {string} */ name) => {
        return /** @type {HTMLElement} */ (board.heads.children[names.indexOf(name)]);
      };
      for (const name of ["1.0", "1.0", "1.2"]) await hand.press(map(name)); // put back between
    },
    whole: () => {
      const at = String(state.get("at"));
      return { text: state.get("text"), place: state.get("head"), at, off: areOff().join(" ") };
    },
    table: () => ({
      caption: `What comes next. Heads that are cut: ${areOff().join(", ") || "none"}.`,
      columns: ["token", "now", "with all heads"],
      rows: bars.table,
    }),
  };
}

/**
 * The number of columns for the heads of a block, so that rows are blocks or whole parts of them.
 * @param {number} nHead
 * @param {number} most
 */
function columns(nHead, most) {
  let n = Math.min(most, nHead);
  while (nHead % n) n--;
  return n;
}
