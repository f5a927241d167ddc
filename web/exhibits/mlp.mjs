// Chapter 7: change what one token brings to attention and to the MLP. Attention's results move from
// there on, the MLP's at that token alone; and each of its units answers by itself.

import { pieces } from "./answers.mjs";
import { Board } from "./board.mjs";
import { fixed, make } from "./dom.mjs";
import { Plot } from "./plot.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard } from "./switchboard.mjs";

const MOST = 12; // tokens
const WIDE = 32; // units in a row
const SIDE = 9; // pixels of a unit
const REACH = 6; // of the curve

/** @type {import("./exhibit.mjs").Kind} */
export function mlp({ settings, state, model, say }) {
  const { nLayer, nEmbd: C } = model.present.config;
  const F = 4 * C;
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  state.declare("text", settings.text);
  state.declare("at", settings.at, { min: 0, max: MOST - 1, whole: true });
  state.declare("block", settings.block ?? "0", { among: blocks });
  state.declare("by", 1, { min: -3, max: 3 });
  state.declare("unit", settings.unit ?? 0, { min: 0, max: F - 1, whole: true });

  const strip = textStrip(state, settings, { onPick: (at) => state.set({ at }) });
  const board = new Board({
    role: "plain",
    tensor: "",
    label: "how far results move",
    corner: "result of ↓ at →",
    read: (row, column, number) => `${row}, its result at ${column}: moves by ${number}`,
  });
  const told = make("p", { class: "soft" });
  const controls = new Switchboard(state, [
    {
      kind: "slider",
      key: "by",
      label: "added to each number of the chosen token",
      min: -3,
      max: 3,
      step: 0.1,
      decimals: 1,
    },
    { kind: "choice", key: "block", label: "block", options: blocks.map((n) => [n, n]) },
  ]);
  const unit = new Switchboard(state, [
    { kind: "slider", key: "unit", label: "unit", max: F - 1, step: 1, decimals: 0 },
  ]);
  const field = make("canvas", {
    class: "units",
    width: String(WIDE * SIDE),
    height: String(Math.ceil(F / WIDE) * SIDE),
    role: "img",
    "data-name": "mlp.act",
    "aria-label": `the answers of ${F} units`,
    onclick: (/** @type {MouseEvent} */ event) => {
      const box = field.getBoundingClientRect();
      const column = Math.floor((WIDE * (event.clientX - box.x)) / box.width);
      const row = Math.floor((Math.ceil(F / WIDE) * (event.clientY - box.y)) / box.height);
      state.set({ unit: row * WIDE + Math.min(WIDE - 1, Math.max(0, column)) });
    },
  });
  const ticks = [-5, 0, 5].map((n) => /** @type {[number, string]} */ ([n, fixed(n, 0)]));
  const plot = new Plot({
    label: "GELU",
    x: { from: -REACH, to: REACH, name: "before", ticks },
    y: { from: -1, to: REACH, name: "after", ticks: ticks.slice(1) },
    height: 180,
  });
  const curve = Array.from({ length: 121 }, (_, i) => REACH * (i / 60 - 1));

  /**
   * The units' answers, those below zero hollow, and a frame around the chosen one.
   * @param {Float32Array} act
   */
  const paint = (act) => {
    const brush = /** @type {CanvasRenderingContext2D} */ (field.getContext("2d"));
    const hue = getComputedStyle(field).getPropertyValue("--up").trim();
    brush.clearRect(0, 0, field.width, field.height);
    const loudest = Math.max(...act);
    act.forEach((value, i) => {
      const [x, y] = [(i % WIDE) * SIDE, Math.floor(i / WIDE) * SIDE];
      brush.fillStyle = `rgb(${hue} / ${0.06 + 0.94 * Math.max(0, value / loudest || 0)})`;
      brush.fillRect(x + 0.5, y + 0.5, SIDE - 1, SIDE - 1);
    });
    const chosen = state.get("unit");
    brush.strokeStyle = getComputedStyle(field).color;
    brush.lineWidth = 2;
    brush.strokeRect((chosen % WIDE) * SIDE, Math.floor(chosen / WIDE) * SIDE, SIDE, SIDE);
  };

  return {
    nodes: [
      strip.element,
      controls.element,
      board.element,
      make(
        "p",
        { class: "soft" },
        "Each number is the length of the change. Dashed: that result moves.",
      ),
      make(
        "div",
        { class: "sides" },
        make("div", {}, told, field),
        make("div", {}, unit.element, plot.element),
      ),
    ],
    show: async (latest) => {
      const [text, by, i] = state.all("text", "by", "unit");
      const { ids, cut } = await model.encode(text, MOST);
      const at = Math.min(state.get("at"), ids.length - 1);
      const h = `transformer.h.${state.get("block")}.`;
      const read = ["ln_1", "ln_2"].map((part) => h + part);
      const results = ["attn.out", "mlp.out"].map((part) => h + part);
      const units = ["mlp.pre", "mlp.act"].map((part) => h + part);
      const request = { ids, lastOnly: true };
      const was = await model.run({
        ...request,
        key: "mlp, as it was",
        record: [...read, ...results, ...units],
      });
      if (!was || !latest()) return;
      const edits = Object.fromEntries(
        read.map((path) => {
          const values = was.tensor(path).values.slice();
          for (let c = at * C; c < (at + 1) * C; c++) values[c] += by;
          return [path, values];
        }),
      );
      const now = await model.run({
        ...request,
        key: "mlp",
        record: [...results, ...units],
        edits,
      });
      if (!now || !latest()) return;

      const moved = results.map((path) => {
        const [a, b] = [was, now].map(({ tensor }) => tensor(path).values);
        return ids.map((_, t) => distance(a, b, t * C, C));
      });
      const tokens = ids.map((id) => model.show(id));
      strip.set(pieces(ids), { text, chosen: at, cut });
      controls.set();
      unit.set();
      const scale = Math.max(...moved.flat());
      const lit = ({ row = 0, column = 0 }) => moved[row][column] > 0;
      board.set(moved.flat(), { rows: ["attention", "MLP"], columns: tokens, scale, lit });
      const [[a, ga], [b, gb]] = [was, now].map(({ tensor }) =>
        units.map((path) => tensor(path).values[at * F + i]),
      );
      told.textContent =
        `The MLP's ${F} units at ${tokens[at]}${by ? `, with the ${fixed(by, 1)} added` : ""}: ` +
        "the deeper the colour, the larger the unit's answer.";
      paint(now.tensor(units[1]).values.subarray(at * F, (at + 1) * F));
      const inSight = (/** @type {number} */ x) => Math.min(REACH, Math.max(-REACH, x));
      plot.set([
        { points: curve.map((x) => [x, gelu(x)]) },
        { points: [[inSight(a), inSight(ga)]], kind: "goal", dots: true },
        { points: [[inSight(b), inSight(gb)]], kind: "now", dots: true, name: fixed(gb, 2) },
      ]);

      const [many, few] = moved.map((row) => row.filter((d) => d > 0).length);
      const which = few === 1 ? `at ${tokens[at]} alone` : `at ${few} tokens`;
      const change = by
        ? `With ${fixed(by, 1)} added at ${tokens[at]}, attention's result moves at ${many} of ` +
          `${ids.length} tokens, the MLP's ${which}.`
        : "Nothing is added, and nothing moves.";
      say(`${change} Unit ${i} there: GELU(${fixed(b, 2)}) = ${fixed(gb, 2)}.`);
    },
    act: async (hand) => {
      const at = state.get("at");
      await hand.press(strip.buttons[at > 1 ? at - 1 : at + 1]);
      await hand.pause(600);
      const next = (state.get("unit") + 5 * WIDE + 7) % F;
      const [x, y] = [next % WIDE, Math.floor(next / WIDE)];
      await hand.to(field, (x + 0.5) / WIDE, (y + 0.5) / Math.ceil(F / WIDE));
      state.set({ unit: next });
    },
    whole: () => {
      const [text, at, block, unit] = state.all("text", "at", "block", "unit");
      return { text, at: String(at), place: `${block}.mlp.${unit}` };
    },
    table: () => ({ caption: "How far the results move.", ...board.table }),
  };
}

/**
 * How far apart two vectors are.
 * @param {Float32Array} a
 * @param {Float32Array} b
 * @param {number} start  where they begin
 * @param {number} C
 */
function distance(a, b, start, C) {
  let sum = 0;
  for (let c = start; c < start + C; c++) sum += (a[c] - b[c]) ** 2;
  return Math.sqrt(sum);
}

/** @param {number} x  the tanh form */
function gelu(x) {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}
