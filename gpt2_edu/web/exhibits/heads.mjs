// Chapter 6: cut heads, and see what the next token loses. Bright maps are not those that matter.

import { Bars, withGhosts } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { fixed, make } from "./dom.mjs";
import { Strip } from "./strip.mjs";
import { Switchboard } from "./switchboard.mjs";

const MOST = 24; // tokens

/** @type {import("./exhibit.mjs").Kind} */
export function heads({ settings, state, model, say }) {
  const { nLayer, nHead } = model.present.config;
  const blocks = Array.from({ length: nLayer }, (_, n) => n);
  const names = blocks.flatMap((n) => Array.from({ length: nHead }, (_, h) => `${n}.${h}`));
  const paths = blocks.map((n) => `transformer.h.${n}.attn.weights`);
  state.declare("text", settings.text);
  state.declare("head", settings.head ?? "0.0", { among: names });
  state.declare("off", [], { among: names });

  const strip = new Strip({
    value: state.get("text"),
    chips: settings.chips,
    onText: (text) => state.set({ text }),
  });
  const board = new Board({ onHead: (i) => state.set({ head: names[i] }) });
  const bars = new Bars();
  const controls = new Switchboard(state, [
    {
      kind: "many",
      key: "off",
      label: "cut heads (block.head)",
      options: names.map((name) => [name, name]),
    },
  ]);

  const { tokenizer } = model.present;
  const rivals = (settings.rivals ?? []).map((/** @type {string} */ w) => tokenizer.encode(w)[0]);

  /**
   * What the cut has done to the lead of the token that was likeliest: over the notebook's other
   * choice, else over the second.
   * @param {Float64Array} now
   * @param {Float64Array | undefined} before
   * @param {(name: string) => string} look  of a head
   */
  const sentence = (now, before, look) => {
    const [first, second] = model.best(before ?? now, 2);
    const choice =
      rivals.includes(first.id) && rivals.find((/** @type {number} */ id) => id !== first.id);
    const other = choice || second.id;
    const rival = model.show(other);
    const nats = (/** @type {Float64Array} */ p) => fixed(Math.log(p[first.id] / p[other]), 2);
    if (!before) {
      const head = state.get("head");
      const leads = `${first.name} (${fixed(first.p, 2)}) leads ${rival} by ${nats(now)} nats.`;
      return `${leads} Head ${head} ${look(head)}.`;
    }
    const off = /** @type {string[]} */ (state.get("off"));
    const which =
      off.length > 1 ? `heads ${off.join(", ")}` : `head ${off[0]}, which ${look(off[0])},`;
    const shares = `from ${fixed(first.p, 2)} to ${fixed(now[first.id], 2)}`;
    const leads = `its lead over ${rival} from ${nats(before)} to ${nats(now)} nats`;
    return `Without ${which} ${first.name} goes ${shares}, and ${leads}.`;
  };

  return {
    nodes: [
      strip.element,
      make("div", { class: "sides" }, board.element, bars.element),
      controls.element,
    ],
    show: async (latest) => {
      const [text, head, off] = ["text", "head", "off"].map((key) => state.get(key));
      const { ids, cut } = await model.encode(text, MOST);
      const whole = off.length && (await model.run({ ids, key: "heads, whole", lastOnly: true }));
      const now = await model.run({
        ids,
        key: "heads",
        record: paths,
        switches: { headsOff: off },
        lastOnly: true,
      });
      if (!now || whole === null || !latest()) return;
      const tokens = ids.map((id) => model.show(id));
      strip.set(
        ids.map((id, i) => ({ name: tokens[i], id })),
        { text, cut },
      );
      const maps = paths.flatMap((path) => mapsOf(now.tensor(path)));
      const chosen = names.indexOf(head);
      const look = (/** @type {string} */ name) => {
        const row = maps[names.indexOf(name)].subarray(-ids.length);
        const most = row.indexOf(Math.max(...row));
        return `looks most at ${tokens[most]} (${fixed(row[most], 2)})`;
      };
      const mark = (/** @type {string} */ name) => (off.includes(name) ? "cut" : "");
      board.setHeads(
        maps.map((values, i) => ({ title: names[i], values, mark: mark(names[i]) })),
        chosen,
      );
      const after = ({ row = 0, column = 0 }) => column > row;
      board.set(maps[chosen], { rows: tokens, columns: tokens, off: after });
      const p = model.probabilities(now.logits);
      const before = whole ? model.probabilities(whole.logits) : undefined;
      bars.set(withGhosts(p, before, 6, (id) => model.show(id)));
      controls.set();
      say(sentence(p, before, look));
    },
    table: () => ({
      caption: `What comes next. Heads that are cut: ${state.get("off").join(", ") || "none"}.`,
      columns: ["token", "now", "with all heads"],
      rows: bars.table,
    }),
  };
}
