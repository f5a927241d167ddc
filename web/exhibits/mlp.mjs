// Chapter 7: change what one token brings to attention and to the MLP. Attention's results move from
// there on, the MLP's at that token alone: one lane for each, tokens above, their results below.

import { pieces } from "./answers.mjs";
import { Board } from "./board.mjs";
import { draw, fixed, make } from "./dom.mjs";
import { Rays, disc, way } from "./rays.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

const MOST = 12; // tokens
const [ABOVE, BELOW, LARGEST] = [16, 30, 26]; // px of a lane: from its edges to tokens and results, whose discs have a radius

const LETTER = 3.2; // px of a disc's radius that a digit needs, else its number stands below it

/** @type {import("./exhibit.mjs").Kind} */
export function mlp({ settings, state, model, say }) {
  const { nLayer, nEmbd: C } = model.present.config;
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  state.declare("text", settings.text);
  state.declare("at", settings.at ?? 0, { min: 0, max: MOST - 1, whole: true });
  state.declare("block", settings.block ?? "0", { among: blocks });
  state.declare("by", 1, { min: -3, max: 3 });

  const strip = textStrip(state, settings, { onPick: (at) => state.set({ at }) });
  const board = new Board({
    role: "plain",
    tensor: "",
    label: "how far results move",
    corner: "result of ↓ at →",
    read: (row, column, number) => [row, ", its result at ", column, `: moves by ${number}`],
  });
  const controls = new Switchboard(state, [
    slider("by", "added to each number of the chosen token", {
      min: -3,
      max: 3,
      step: 0.1,
      decimals: 1,
    }),
    choose("block", "block", blocks),
  ]);
  const rays = new Rays(board.scroll, board.grid);
  let shown = ""; // the change whose light has run
  const note =
    "Above in each lane the tokens, below the results. Each number, and the area of its disc, is the length of the change.";

  /**
   * All the ways there are, and those that the change takes.
   * @param {number[][]} moved
   * @param {number} at
   * @param {number} by
   * @returns {import("./rays.mjs").Painter}
   */
  const lanes = (moved, at, by) => (where) =>
    moved.flatMap((row, lane) => {
      const kind = ["of-attention", "of-mlp"][lane];
      const places = row.map((_, t) => where(board.cells[lane * row.length + t]));
      const [up, down] = [places[0].top + ABOVE, places[0].bottom - BELOW];
      const most = Math.max(...moved.flat()) || 1;
      const widest = Math.max(0, Math.min(LARGEST, places[0].right - places[0].x - 1));
      const ways = places.flatMap(({ x }, to) =>
        places.slice(lane ? to : 0, to + 1).map((from, i) => {
          const lit = (lane ? to : i) === at && row[to] > 0;
          const width = lit ? 2 + 8 * Math.sqrt(row[to] / most) : 1.5;
          return way([from.x, up], [x, down], width, lit ? `lit ${kind}` : kind);
        }),
      );
      const box = { y: (up + down) / 2 - 16, width: 34, height: 22, rx: 4 };
      return [
        ...ways.sort((a, b) => Number(a.matches(".lit")) - Number(b.matches(".lit"))),
        ...places.flatMap(({ x }, t) => {
          const size = row[t] ? widest * Math.sqrt(row[t] / most) : 4;
          const fits = !row[t] || size > LETTER * fixed(row[t], 2).length;
          board.cells[lane * row.length + t].classList.toggle("low", !fits);
          const [is, on] = [`result ${row[t] ? "lit" : ""} ${kind}`, t === at && by ? "on" : ""];
          return [
            ...(lane ? [draw("rect", { ...box, x: x - 17, class: `box ${kind} ${on}` })] : []),
            disc(x, up, on ? 8 : 5, `token ${on}`),
            disc(x, down, size, is),
          ];
        }),
        ...(by
          ? [
              draw(
                "text",
                { x: places[at].x + 13, y: up + 5 },
                `${by > 0 ? "+" : ""}${fixed(by, 1)}`,
              ),
            ]
          : []),
      ];
    });

  return {
    nodes: [strip.element, controls.element, board.element, make("p", { class: "soft" }, note)],
    show: async (latest) => {
      const [text, by] = state.all("text", "by");
      const { ids, cut } = await model.encode(text, MOST);
      const at = Math.min(state.get("at"), ids.length - 1);
      const h = `transformer.h.${state.get("block")}.`;
      const read = ["ln_1", "ln_2"].map((part) => h + part);
      const results = ["attn.out", "mlp.out"].map((part) => h + part);
      const request = { ids, lastOnly: true };
      const record = [...read, ...results];
      const was = await model.run({ ...request, key: "mlp, as it was", record });
      if (!was || !latest()) return;
      const edits = Object.fromEntries(
        read.map((path) => {
          const values = was.tensor(path).values.slice();
          for (let c = at * C; c < (at + 1) * C; c++) values[c] += by;
          return [path, values];
        }),
      );
      const now = await model.run({ ...request, key: "mlp", record: results, edits });
      if (!now || !latest()) return;

      const moved = results.map((path) => {
        const [a, b] = [was, now].map(({ tensor }) => tensor(path).values);
        return ids.map((_, t) => distance(a, b, t * C, C));
      });
      const tokens = pieces(ids);
      const columns = tokens.map(({ name }) => name);
      strip.set(tokens, { text, chosen: at, cut });
      controls.set();
      const scale = Math.max(...moved.flat());
      const lit = ({ row = 0, column = 0 }) => moved[row][column] > 0;
      board.set(moved.flat(), { rows: ["attention", "MLP"], columns, scale, lit });
      const change = JSON.stringify([ids, at, by, state.get("block")]);
      rays.set(lanes(moved, at, by), change !== shown);
      shown = change;

      const [many, few] = moved.map((row) => row.filter((d) => d > 0).length);
      const which = few === 1 ? `at ${columns[at]} alone` : `at ${few} tokens`;
      say(
        by
          ? `With ${fixed(by, 1)} added at ${columns[at]}, attention's result moves at ${many} of ` +
              `${ids.length} tokens, the MLP's ${which}.`
          : "Nothing is added, and nothing moves.",
      );
    },
    act: async (hand) => {
      const at = state.get("at");
      await hand.press(strip.buttons[at > 1 ? at - 1 : at + 1]);
      await hand.slide("added to each number of the chosen token", 2);
    },
    whole: () => {
      const [text, at, block] = state.all("text", "at", "block");
      return { text, at: String(at), place: `${block}.mlp` };
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
