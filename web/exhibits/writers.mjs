// Chapter 8: silence the writers to the stream, and see what the sum still says. Without the last one,
// the loudest, the likeliest token stays but its probability is wrong; what was written first is read
// by the others: layers add, they do not replace.

import { nextAfter, pieces } from "./answers.mjs";
import { Bars, goes, share } from "./bars.mjs";
import { fixed, make, quoted } from "./dom.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard } from "./switchboard.mjs";

/** @import { Result } from "./page_model.mjs" */

const MOST = 24; // tokens

/** @type {import("./exhibit.mjs").Kind} */
export function writers({ settings, state, model, say }) {
  const { nLayer, nEmbd: C } = model.present.config;
  const inBlocks = Array.from({ length: nLayer }, (_, n) => [`h.${n}.attn.out`, `h.${n}.mlp.out`]);
  const names = ["embd", ...inBlocks.flat()];
  const pathOf = (/** @type {string} */ name) => (name === "embd" ? name : `transformer.${name}`);
  const record = names.map(pathOf);
  state.declare("text", settings.text);
  state.declare("off", [], { among: names });
  state.declare("kept", false);
  state.declare("at", -1, { min: -1, max: MOST - 1, whole: true });

  const areOff = () => names.filter((name) => state.get("off").includes(name));

  const strip = textStrip(state, settings, {
    onText: (text) => state.set({ text, at: -1 }),
    onPick: (at) => state.set({ at }),
  });
  const lengths = new Bars({
    rows: names.length + 1,
    hint: "silence it, or let it write",
    write: (value) => fixed(value, value < 10 ? 1 : 0),
    // Below them stands their sum.
    onPick: (i) => (names[i] ? state.toggle("off", names[i]) : state.set({ off: [] })),
  });
  const bars = new Bars();
  const controls = new Switchboard(state, [
    { kind: "switch", key: "kept", label: "the others still write what they wrote before" },
  ]);

  /**
   * What each writer adds at a position, and all together.
   * @param {Result} result
   * @param {number} at
   */
  const parts = ({ tensor }, at) => {
    const each = record.map((path) => tensor(path).values.subarray(at * C, (at + 1) * C));
    return { each, sum: add(each, C) };
  };

  return {
    nodes: [
      strip.element,
      make("div", { class: "sides" }, lengths.element, bars.element),
      controls.element,
    ],
    show: async (latest) => {
      const text = state.get("text");
      const off = areOff();
      const { ids, cut } = await model.encode(text, MOST);
      const at = state.get("at") < 0 ? ids.length - 1 : Math.min(state.get("at"), ids.length - 1);
      const whole = await model.run({ ids, key: "writers, all", record });
      if (!whole || !latest()) return;
      const before = parts(whole, at);
      const p = model.probabilities(whole.logits, { t: at });

      let now = before;
      let q = p;
      if (off.length && state.get("kept")) {
        const each = before.each.map((part, i) =>
          off.includes(names[i]) ? part.map(() => 0) : part,
        );
        now = { each, sum: add(each, C) };
        const logits = await model.read(now.sum, "writers, sum");
        if (!logits) return;
        q = model.probabilities(logits);
      } else if (off.length) {
        const edits = Object.fromEntries(off.map((name) => [pathOf(name), { scale: 0 }]));
        const result = await model.run({ ids, key: "writers", record, edits });
        if (!result) return;
        now = parts(result, at);
        q = model.probabilities(result.logits, { t: at });
      }
      if (!latest()) return;

      const tokens = ids.map((id) => model.show(id));
      strip.set(pieces(ids), { text, chosen: at, cut });
      const [long, was] = [now, before].map(({ each, sum }) => [...each, sum].map(length));
      const shown = [...names, "their sum"].map((name, id) => {
        const silent = off.includes(name);
        const mark = silent ? "cut" : id === names.length ? "sum" : "";
        const earlier = off.length ? was[id] : undefined;
        const tensor = record[id];
        return {
          id,
          name: silent ? `${name} (off)` : name,
          p: long[id],
          before: earlier,
          mark,
          tensor,
        };
      });
      const full = Math.max(...long, ...was);
      lengths.set(shown, `how long a vector each writes at ${tokens[at]}`, full);
      const ghosts = off.length ? p : undefined;
      bars.set(nextAfter(text, q, ghosts));
      controls.set();

      const [first] = model.best(p, 1);
      const [then] = model.best(q, 1);
      const [a, b] = [was, long].map((row) => row[names.length]);
      const total = was.slice(0, -1).reduce((sum, one) => sum + one);
      const plain = (/** @type {number} */ value) => fixed(value, 0);
      const other =
        then.id === first.id
          ? ""
          : `; now ${quoted(then.name)} is likeliest, with ${share(then.p)}`;
      const said = `${quoted(first.name)} ${goes(first.p, q[first.id])}${other}`;
      if (!off.length) {
        say(
          `${names.length} writers, one sum, ${plain(a)} long: it says ${quoted(first.name)}, with ${share(first.p)}. ` +
            `Their lengths add up to more, ${plain(total)}, because the vectors do not all point the same way.`,
        );
      } else if (off.length === names.length) {
        say(
          `Nobody writes, and the sum is 0: whatever the text, no token gets more than ${share(then.p)}.`,
        );
      } else {
        say(`Without ${off.join(", ")} the length of the sum ${goes(a, b, plain)}, and ${said}.`);
      }
    },
    act: async (hand) => {
      state.set({ off: [] });
      await hand.pause();
      const long = lengths.shown.slice(0, -1).map(({ p }) => p);
      await hand.press(lengths.rows[long.indexOf(Math.max(...long))].bar);
      await hand.pause(900);
      await hand.press(lengths.rows[0].bar);
    },
    whole: () => ({ text: state.get("text"), at: String(state.get("at")) }),
    table: () => ({
      caption: `Length of what each writes. Silent: ${areOff().join(", ") || "none"}.`,
      columns: ["writer", "now", "with all"],
      rows: lengths.table,
    }),
  };
}

/**
 * @param {Float32Array[]} vectors
 * @param {number} C
 */
function add(vectors, C) {
  return Float32Array.from({ length: C }, (_, c) => vectors.reduce((sum, v) => sum + v[c], 0));
}

/** @param {Float32Array} vector */
function length(vector) {
  return Math.hypot(...vector);
}
