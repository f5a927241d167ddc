// Chapter 8: silence the writers to the stream, and see what the sum still says. Without the last one,
// the loudest, the likeliest token stays but its probability is wrong; what was written first is read
// by the others: layers add, they do not replace.

import { nextAfter, pieces } from "./answers.mjs";
import { Bars, goes, share } from "./bars.mjs";
import { sensesOf } from "./crane_world.mjs";
import { beside, fixed, make, quoted } from "./dom.mjs";
import { glide } from "./motion.mjs";
import { Plot } from "./plot.mjs";
import { inWords } from "./rest_of.mjs";
import { River } from "./river.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, flag } from "./switchboard.mjs";
import { dot } from "./vectors.mjs";

const LEAST = 0.08; // of the drawing: shorter vectors have no name in it
const [LEFT, RIGHT, UP] = [-0.1, 1.1, 0.45]; // its ends, where 1 is the length of the longest sum
const WHY =
  "The vectors are drawn head to tail, and their sum is the thick line. The path turns, so it is " +
  "longer than the sum. Outside this plane the vectors cancel each other.";

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
    // The last row is their sum.
    onPick: (i) => (names[i] ? state.toggle("off", names[i]) : state.set({ off: [] })),
  });
  const bars = new Bars();
  const plane = new Plot({
    label: "the vectors, head to tail",
    x: { from: LEFT, to: RIGHT, name: "the rest of the sum" },
    y: { from: -UP, to: UP },
    height: 268,
  });
  const river = new River((i) => state.toggle("off", names[i]));
  const meaning = make("span");
  /** @type {Map<string, Float32Array>} */
  const directions = new Map();

  /** @param {number[]} ids  the mean of their rows of the table, (C) */
  const meanRow = async (ids) => {
    const columns = [0, C];
    const part = (/** @type {number} */ id) =>
      model.part({ module: "transformer.wte", rows: [id, id + 1], columns });
    const rows = await Promise.all(ids.map(part));
    return add(
      rows.map(({ weight }) => weight),
      C,
    ).map((value) => value / ids.length);
  };

  /**
   * What raises the logits of some tokens and lowers those of others, as ln_f and the table read it.
   * @param {number[][]} tokens  for, against
   * @returns {Promise<Float32Array>} (C), of length 1
   */
  const direction = async (tokens) => {
    const key = `${model.present.name} ${tokens.join(" against ")}`;
    const known = directions.get(key);
    if (known) return known;
    const [up, down] = await Promise.all(tokens.map(meanRow));
    const norm = { module: "transformer.ln_f", rows: [0, C], columns: [0, 1] };
    const { weight } = await model.part(norm);
    const raw = up.map((value, c) => weight[c] * (value - down[c]));
    const middle = raw.reduce((sum, value) => sum + value) / C;
    const found = unit(raw.map((value) => value - middle));
    directions.set(key, found);
    return found;
  };

  let path = /** @type {number[]} */ ([]); // of two numbers each: where the vectors end, one by one
  let end = () => {};

  /**
   * @param {number[]} now
   * @param {number[]} before
   * @param {string[]} off
   */
  const bend = (now, before, off) => {
    const far = Math.max(
      1e-9,
      ...[now, before].flat().map((v, i) => Math.abs(v) / (i % 2 ? UP : 1)),
    );
    const at = (/** @type {number[]} */ way, /** @type {number} */ n) =>
      /** @type {[number, number]} */ (n ? [way[2 * n - 2] / far, way[2 * n - 1] / far] : [0, 0]);
    end();
    end = glide(path, now, (way) => {
      path = way;
      const N = names.length;
      plane.set([
        ...(off.length
          ? [{ points: [...names, ""].map((_, n) => at(before, n)), kind: "ghost" }]
          : []),
        {
          points: [
            [LEFT, 0],
            [RIGHT, 0],
          ],
          kind: "level",
        },
        { points: [at(way, 0), at(way, N)], kind: "sum" },
        ...names.map((name, n) => {
          const [from, to] = [at(way, n), at(way, n + 1)];
          const long = Math.hypot(to[0] - from[0], to[1] - from[1]);
          const left = to[1] >= from[1];
          const kind = left ? "bird" : "machine";
          return { points: [from, to], kind, dots: true, left, name: long > LEAST ? name : "" };
        }),
      ]);
    });
  };
  const controls = new Switchboard(state, [
    flag("kept", "the others still write what they wrote before"),
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
      river.element,
      beside(
        [lengths.element, controls.element],
        [bars.element, plane.element, make("p", { class: "soft" }, meaning, WHY)],
      ),
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
      const senses = sensesOf(text);
      const [first, second] = model.best(p, 2);
      const rivals = senses ? [senses.bird, senses.machine] : [[first.id], [second.id]];
      const up = await direction(rivals);
      if (!latest()) return;
      const along = unit(before.sum.map((value, c) => value - up[c] * dot(before.sum, up)));
      const [way, was] = [now, before].map(({ each }) => {
        let [x, y] = [0, 0];
        return each.flatMap((part) => [(x += dot(part, along)), (y += dot(part, up))]);
      });
      bend(way, was, off);
      const [high, low] = senses
        ? ["bird verbs", "machine verbs"]
        : [first, second].map(({ name }) => quoted(name));
      meaning.textContent = `Upward, and teal in the stream above, means in favour of ${high} over ${low}. `;

      const tokens = model.names(ids);
      strip.set(pieces(ids), { text, chosen: at, cut });
      const [long, earlier] = [now, before].map(({ each, sum }) => [...each, sum].map(length));
      const shown = [...names, "their sum"].map((name, id) => {
        const silent = off.includes(name);
        const mark = silent ? "cut" : id === names.length ? "sum" : "";

        const tensor = record[id];
        return {
          id,
          name: silent ? `${name} (off)` : name,
          p: long[id],
          before: off.length ? earlier[id] : undefined,
          mark,
          tensor,
        };
      });
      const full = Math.max(...long, ...earlier);
      let so = /** @type {Float32Array} */ (new Float32Array(C));
      const writes = names.map((name, i) => {
        so = add([so, now.each[i]], C);
        const kind = dot(now.each[i], up) >= 0 ? "bird" : "machine";
        return { name, long: long[i], sum: length(so), kind, off: off.includes(name) };
      });
      lengths.set(shown, `length of the vector that each writes at ${tokens[at]}`, full);
      const ghosts = off.length ? p : undefined;
      controls.set();

      const [then] = model.best(q, 1);
      river.set(writes, full, `${then.name} ${share(then.p)}`);
      const [a, b] = [earlier, long].map((row) => row[names.length]);
      const total = earlier.slice(0, -1).reduce((sum, one) => sum + one);
      const plain = (/** @type {number} */ value) => fixed(value, 0);
      const other =
        then.id === first.id
          ? ""
          : `; now ${quoted(then.name)} is likeliest, with ${share(then.p)}`;
      const said = `${quoted(first.name)} ${goes(first.p, q[first.id])}${other}`;
      if (!off.length) {
        say(
          `${names.length} writers, one sum of length ${plain(a)}. It predicts ${quoted(first.name)}, with ${share(first.p)}. ` +
            `The lengths of all vectors add up to more, ${plain(total)}, because they do not all point the same way.`,
        );
      } else if (off.length === names.length) {
        say(
          `All are silent, so the sum is 0. Whatever the text, no token gets more than ${share(then.p)}.`,
        );
      } else {
        say(`Without ${off.join(", ")} the length of the sum ${goes(a, b, plain)}, and ${said}.`);
      }
      const words = { ids: ids.slice(0, at + 1), key: "writers, words", latest };
      await inWords(model, bars, nextAfter(text, q, ghosts), words);
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
      caption: `Length of the vector that each writes. Silent: ${areOff().join(", ") || "none"}.`,
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
function unit(vector) {
  const long = length(vector) || 1;
  return vector.map((value) => value / long);
}

/** @param {Float32Array} vector */
function length(vector) {
  return Math.hypot(...vector);
}
