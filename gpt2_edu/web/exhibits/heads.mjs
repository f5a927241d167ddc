// Chapter 6: cut heads, and see what the next token loses. Bright maps are not those that matter.

import { Bars, withGhosts } from "./bars.mjs";
import { Board, heads as mapsOf } from "./board.mjs";
import { make } from "./dom.mjs";
import { fixed } from "./exhibit.mjs";
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

  /**
   * What the cut has done to the token that was likeliest.
   * @param {Float64Array} now
   * @param {Float64Array} [before]
   */
  const sentence = (now, before) => {
    const [first] = model.best(before ?? now, 1);
    if (!before) return `The next token is ${first.name} with ${fixed(first.p, 2)}.`;
    const off = /** @type {string[]} */ (state.get("off"));
    const which = off.length === 1 ? `head ${off[0]}` : `heads ${off.join(", ")}`;
    const nats = Math.log(first.p) - Math.log(now[first.id]);
    const shares = `from ${fixed(first.p, 2)} to ${fixed(now[first.id], 2)}`;
    return `Without ${which} ${first.name} goes ${shares}: it loses ${fixed(nats, 2)} nats.`;
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
        { text, note: cut ? `The first ${cut} tokens are left out.` : "" },
      );
      const maps = paths.flatMap((path) => mapsOf(now.tensor(path)));
      const chosen = names.indexOf(head);
      const mark = (/** @type {string} */ name) => (off.includes(name) ? "cut" : "");
      board.setHeads(
        maps.map((values, i) => ({ title: names[i], values, mark: mark(names[i]) })),
        chosen,
      );
      const after = ({ row = 0, column = 0 }) => column > row;
      board.set(maps[chosen], { rows: tokens, columns: tokens, off: after });
      const p = model.probabilities(now.logits);
      const before = whole ? model.probabilities(whole.logits) : undefined;
      bars.set(withGhosts(model.best(p, 20), before, 6, (id) => model.show(id)));
      controls.set();
      say(sentence(p, before));
    },
    table: () => ({
      caption: `What comes next. Heads that are cut: ${state.get("off").join(", ") || "none"}.`,
      columns: ["token", "now", "with all heads"],
      rows: bars.table,
    }),
  };
}
