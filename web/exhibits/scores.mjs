// Chapter 4: where a score comes from, a row of Q times a column of Kᵀ, each product an area; and why
// scores are divided by √d: without that a row of weights saturates, the sooner the longer the vectors are.

import { softmax } from "../numbers.mjs";
import { Areas } from "./areas.mjs";
import { Bars, share, withGhosts } from "./bars.mjs";
import { Board } from "./board.mjs";
import { fixed, grouped, make } from "./dom.mjs";
import { thrower } from "./knobs.mjs";
import { LOOK_UP, WRITE, fly } from "./motion.mjs";
import { Rays, band } from "./rays.mjs";
import { Switchboard, flag, slider } from "./switchboard.mjs";
import { dot } from "./vectors.mjs";

const KEYS = 16; // and as many queries
const LONGEST = 1024; // numbers of a vector

/** @type {import("./exhibit.mjs").Kind} */
export function scores(page) {
  return page.settings.q ? product(page) : saturation(page);
}

/**
 * The chapter's own small vectors: settings have `words`, `names` of the numbers, `q` and `k`.
 * @type {import("./exhibit.mjs").Kind}
 */
function product({ settings, state, say, element }) {
  const { words, names } = settings;
  const [q, k] = /** @type {number[][][]} */ ([settings.q, settings.k]);
  const cells = words.flatMap((/** @type {string} */ _, /** @type {number} */ i) =>
    words.map((/** @type {string} */ _, /** @type {number} */ j) => `${i} ${j}`),
  );
  state.declare("cell", settings.cell ?? cells[0], { among: cells });
  const choose = (/** @type {{row?: number, column?: number}} */ place) => {
    const { row, column } = { ...board.place, ...place };
    state.set({ cell: `${row} ${column}` });
  };
  const left = new Board({
    ...{ role: "q", tensor: "q", corner: "Q", label: "queries", least: 0 },
    onCell: ({ row }) => choose({ row }),
  });
  const top = new Board({
    ...{ role: "k", tensor: "k", corner: "Kᵀ", label: "keys, on their side", least: 0 },
    onCell: ({ column }) => choose({ column }),
  });
  const board = new Board({
    ...{ tensor: "scores", corner: "Q Kᵀ", label: "scores", least: 0 },
    onCell: choose,
  });
  const table = q.map((a) => k.map((b) => dot(a, b)));
  const longest = Math.max(...[...words, ...names].map(({ length }) => length));
  const style = `--names: ${longest}ch`; // of both tables that stand one above the other
  const product = make(
    "div",
    { class: "product", style },
    top.element,
    left.element,
    board.element,
  );
  const rays = new Rays(product, product);
  const areas = new Areas(names, "score");
  let met = ""; // the cell whose row and column have met

  /**
   * The row is lifted, turns and meets the column; their products fall into the score.
   * @param {number} row
   * @param {number} column
   */
  const meet = async (row, column) => {
    const before = met;
    met = `${row} ${column}`;
    if (!before || before === met) return;
    for (const one of element.querySelectorAll(":scope > .flies")) one.remove();
    const origin = element.getBoundingClientRect();
    const at = (/** @type {HTMLElement} */ cell, x = 0) => {
      const { left, top } = cell.getBoundingClientRect();
      return `${left - origin.left + x}px ${top - origin.top}px`;
    };
    const score = board.cells[row * words.length + column];
    const pairs = names.map((/** @type {string} */ _, /** @type {number} */ c) => {
      const [from, to] = [left.cells[row * names.length + c], top.cells[c * words.length + column]];
      const beside = at(to, from.offsetWidth * 0.7);
      const frames = [{ translate: at(from) }, { translate: beside, rotate: "360deg" }];
      const chip = make("span", { class: "term q" }, from.textContent ?? "");
      return { beside, c, lands: fly(element, chip, frames, { duration: LOOK_UP }) };
    });
    await Promise.all(pairs.map((/** @type {{lands: Promise<void>}} */ { lands }) => lands));
    if (met !== `${row} ${column}`) return;
    for (const { beside, c } of pairs) {
      const chip = make("span", { class: "term" }, fixed(q[row][c] * k[column][c], 2));
      fly(element, chip, [{ translate: beside }, { translate: at(score) }], { duration: WRITE });
    }
  };
  return {
    nodes: [make("div", { class: "times g2" }, product, areas.element)],
    show: () => {
      const [row, column] = state.get("cell").split(" ").map(Number);
      const both = { scale: 1, rows: words, columns: words };
      left.set(q.flat(), {
        ...both,
        columns: names,
        lit: (place) => place.row === row,
        place: { ...left.place, row },
      });
      top.set(
        names.flatMap((/** @type {string} */ _, /** @type {number} */ c) => k.map((b) => b[c])),
        {
          ...both,
          rows: names,
          lit: (place) => place.column === column,
          place: { ...top.place, column },
        },
      );
      board.set(table.flat(), { ...both, place: { row, column } });
      const n = words.length;
      rays.set((at) => {
        const [x, y] = [at(left.cells[row * names.length]), at(top.cells[column])];
        const end = at(board.cells[row * n + column]);
        return [
          band("of-q", x.left, x.top, end.right, end.bottom),
          band("of-k", y.left, y.top, end.right, end.bottom),
        ];
      }, false);
      areas.set(q[row], k[column]);
      const terms = q[row].map((a, c) => `${fixed(a, 2)} · ${fixed(k[column][c], 2)}`);
      const whose = `row ${words[row]} of Q times column ${words[column]} of Kᵀ`;
      meet(row, column);
      const sum = `${terms.join(" + ")} = ${fixed(table[row][column], 2)}`;
      say(`${words[row]} looks at ${words[column]}: ${whose}, ${sum}.`);
    },
    act: async (hand) => {
      for (const at of [1, words.length, words.length + 2]) {
        const cell = board.cells[at % board.cells.length];
        await hand.to(cell);
        state.set({ cell: cell.dataset.place ?? cells[0] });
        await hand.pause(700);
      }
    },
    whole: () => ({ place: "1.0.6.3" }),
    table: () => ({ caption: "Every query's product with every key.", ...board.table }),
    concerns: (name) => name === "cell",
  };
}

/**
 * Random queries and keys of d numbers, and the weights of their scores, divided or not.
 * @type {import("./exhibit.mjs").Kind}
 */
function saturation({ settings, state, say }) {
  state.declare("d", settings.d ?? 4, { min: 1, max: LONGEST, whole: true });
  state.declare("root", false);
  state.declare("seed", settings.seed ?? 1, { min: 0, max: 2 ** 32 - 1, whole: true });
  state.declare("query", 0, { min: 0, max: KEYS - 1, whole: true });
  const board = new Board({ onCell: ({ row }) => state.set({ query: row }) });
  const bars = new Bars({ rows: 5 });
  const controls = new Switchboard(state, [
    slider("d", "d, entries of a vector", {
      min: 0,
      max: Math.log10(LONGEST),
      step: Math.log10(2),
      log: true,
      show: grouped,
    }),
    flag("root", "divide by √d"),
  ]);
  const onclick = () => state.set({ seed: state.get("seed") + 1 });
  controls.element.append(make("button", { onclick }, "draw other random vectors"));
  const names = (/** @type {string} */ letter) =>
    Array.from({ length: KEYS }, (_, i) => `${letter}${i}`);
  /** @type {{seed: number, vectors: Float64Array[]}} */
  let drawn = { seed: -1, vectors: [] };

  return {
    nodes: [
      controls.element,
      make("div", { class: "sides many-keys" }, board.element, bars.element),
    ],
    show: () => {
      const [d, root, seed, query] = state.all("d", "root", "seed", "query");
      if (drawn.seed !== seed) drawn = { seed, vectors: draw(seed) };
      const [queries, keys] = [drawn.vectors.slice(0, KEYS), drawn.vectors.slice(KEYS)];
      const raw = queries.map((q) => keys.map((k) => dot(q.subarray(0, d), k)));
      const weigh = (by = 1) =>
        raw.map((row) => softmax(Float64Array.from(row, (score) => score / by)));
      const [plain, divided] = [weigh(), weigh(Math.sqrt(d))];
      const [now, other] = root ? [divided, plain] : [plain, divided];
      controls.set();
      const place = { ...board.place, row: query };
      board.set(
        now.flatMap((row) => [...row]),
        { rows: names("q"), columns: names("k"), place },
      );
      bars.set(
        withGhosts(
          now[query],
          root ? plain[query] : undefined,
          5,
          (id) => `k${id}`,
          () => "weights",
        ),
        `weights of q${query}: 5 of ${KEYS}${root ? " (dashed: not divided)" : ""}`,
      );
      const size =
        Math.sqrt(mean(raw.flat().map((score) => score ** 2))) / (root ? Math.sqrt(d) : 1);
      const how = root
        ? `Divided by √${grouped(d)} = ${fixed(Math.sqrt(d), 1)}, scores`
        : `With d = ${grouped(d)} and no division, scores`;
      const largest = fixed(mean(now.map((row) => Math.max(...row))), 2);
      const takes = `the best of ${KEYS} keys gets ${largest} of a row on average`;
      const [moves, instead] = [now, other].map((rows) => share(reacts(rows)));
      const than = `${root ? "not divided" : "divided"}: ${instead}`;
      say(
        `${how} have a typical size of ${fixed(size, 1)}, and ${takes}. When a score changes a little, the weights of its row change ${moves} times as much (${than}). Random vectors, seed ${seed}.`,
      );
    },
    act: async (hand) => {
      state.set({ root: false });
      await hand.slide("d, entries of a vector", Math.log10(LONGEST));
      await hand.press(hand.find("input[type=checkbox]"));
    },
    whole: () => ({ place: "1.0", step: "1" }),
    table: () => ({
      caption: `Weights of random queries and keys of ${grouped(state.get("d"))} entries, ${state.get("root") ? "divided by √d" : "not divided"}.`,
      ...board.table,
    }),
    concerns: (name) => ["d", "root", "seed", "query"].includes(name),
  };
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((a, b) => a + b) / values.length;
}

/**
 * How much the weights of a row change in all, on average, per change of one of its scores.
 * @param {Float64Array[]} rows
 */
function reacts(rows) {
  return mean(rows.flatMap((row) => Array.from(row, (w) => 2 * w * (1 - w))));
}

/**
 * Vectors of normally distributed numbers (Box and Muller), the same for the same seed.
 * @param {number} seed
 */
function draw(seed) {
  const uniform = thrower(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return Array.from({ length: 2 * KEYS }, () => Float64Array.from({ length: LONGEST }, normal));
}
