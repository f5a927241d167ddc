// Chapter 7: the units of an MLP at one token, as a field. One of them is dragged along the curve of
// GELU, and the pass goes on with it: what does the model say then?

import { geluTanh } from "../numbers.mjs";
import { nextAfter, pieces } from "./answers.mjs";
import { Bars, goes } from "./bars.mjs";
import { beside, fixed, make, quoted, within } from "./dom.mjs";
import { Plot } from "./plot.mjs";
import { textStrip } from "./strip.mjs";
import { Switchboard, choose, slider } from "./switchboard.mjs";

const MOST = 12; // tokens
const WIDE = 32; // units in a row
const SIDE = 9; // pixels of a unit
const REACH = 6; // of the curve
const SHOWN = 4; // tokens that come next
const FAR = 40; // how far a unit's input can be moved

/** @type {import("./exhibit.mjs").Kind} */
export function units({ settings, state, model, say }) {
  const { nLayer, nEmbd: C } = model.present.config;
  const F = 4 * C;
  const high = Math.ceil(F / WIDE);
  const blocks = Array.from({ length: nLayer }, (_, n) => String(n));
  state.declare("text", settings.text);
  state.declare("token", -1, { min: -1, max: MOST - 1, whole: true }); // the last
  state.declare("block", settings.block ?? "0", { among: blocks });
  state.declare("unit", settings.unit ?? 0, { min: 0, max: F - 1, whole: true });
  state.declare("push", 0, { min: -FAR, max: FAR });

  const strip = textStrip(state, settings, {
    onText: (text) => state.set({ text, token: -1, push: 0 }),
    onPick: (token) => state.set({ token, push: 0 }),
  });
  const told = make("p", { class: "soft" });
  const controls = new Switchboard(state, [
    choose("block", "block", blocks),
    slider("unit", "unit", { max: F - 1, step: 1, decimals: 0 }),
  ]);
  const pushed = new Switchboard(state, [
    slider("push", "added to its input", { min: -FAR, max: FAR, step: 0.1, decimals: 1 }),
  ]);
  const field = make("canvas", {
    class: "units",
    width: String(WIDE * SIDE),
    height: String(high * SIDE),
    role: "img",
    "data-name": "mlp.act",
    "aria-label": `the answers of ${F} units`,
    onclick: (/** @type {MouseEvent} */ { clientX, clientY }) => {
      const box = field.getBoundingClientRect();
      const column = Math.floor((WIDE * (clientX - box.x)) / box.width);
      const row = Math.floor((high * (clientY - box.y)) / box.height);
      state.set({ unit: row * WIDE + within(column, 0, WIDE - 1), push: 0 });
    },
  });
  let own = 0; // the input of the chosen unit, when nothing is added
  const ticks = [-5, 0, 5].map((n) => /** @type {[number, string]} */ ([n, fixed(n, 0)]));
  const plot = new Plot({
    label: "GELU; drag along the curve to change the unit's input",
    x: { from: -REACH, to: REACH, name: "its input", ticks },
    y: { from: -1, to: REACH, name: "its answer", ticks: ticks.slice(1) },
    height: 180,
    onPoint: (x) => {
      const input = within(REACH * (2 * x - 1), -REACH, REACH);
      state.set({ push: Number((input - own).toFixed(2)) });
    },
  });
  const curve = Array.from({ length: 121 }, (_, i) => REACH * (i / 60 - 1));
  const bars = new Bars({ rows: SHOWN });

  /**
   * The units' answers, and a frame around the chosen one.
   * @param {Float32Array} act
   */
  const paint = (act) => {
    const brush = /** @type {CanvasRenderingContext2D} */ (field.getContext("2d"));
    const style = getComputedStyle(field);
    const hue = style.getPropertyValue("--up").trim();
    brush.clearRect(0, 0, field.width, field.height);
    const loudest = Math.max(...act);
    act.forEach((value, i) => {
      const [x, y] = [(i % WIDE) * SIDE, Math.floor(i / WIDE) * SIDE];
      brush.fillStyle = `rgb(${hue} / ${0.06 + 0.94 * Math.max(0, value / loudest || 0)})`;
      brush.fillRect(x + 0.5, y + 0.5, SIDE - 1, SIDE - 1);
    });
    const chosen = state.get("unit");
    brush.strokeStyle = style.color;
    brush.lineWidth = 2;
    brush.strokeRect((chosen % WIDE) * SIDE, Math.floor(chosen / WIDE) * SIDE, SIDE, SIDE);
  };

  /** @param {number} x  of the curve */
  const seen = (x) =>
    /** @type {[number, number]} */ ([x, geluTanh(x)].map((v) => within(v, -REACH, REACH)));

  return {
    nodes: [
      strip.element,
      beside([told, field, controls.element], [plot.element, pushed.element]),
      bars.element,
    ],
    show: async (latest) => {
      const [text, unit, push, block] = state.all("text", "unit", "push", "block");
      const { ids, cut } = await model.encode(text, MOST);
      const last = ids.length - 1;
      const at = state.get("token") < 0 ? last : Math.min(state.get("token"), last);
      const [pre, act] = ["pre", "act"].map((name) => `transformer.h.${block}.mlp.${name}`);
      const request = { ids, record: [pre, act], lastOnly: true };
      const was = await model.run({ ...request, key: "units, as they were" });
      if (!was || !latest()) return;
      const values = was.tensor(pre).values.slice();
      const before = values[at * F + unit];
      values[at * F + unit] += push;
      const edits = { [pre]: values };
      const now = push ? await model.run({ ...request, key: "units", edits }) : was;
      if (!now || !latest()) return;

      own = before;
      const tokens = pieces(ids);
      strip.set(tokens, { text, chosen: at, cut });
      controls.set();
      pushed.set();
      const input = before + push;
      const answers = now.tensor(act).values.subarray(at * F, (at + 1) * F);
      told.textContent = `The ${F} units at ${tokens[at].name}: the deeper the colour, the larger the answer.`;
      paint(answers);
      const answer = fixed(geluTanh(input), 2);
      plot.set([
        { points: curve.map((x) => [x, geluTanh(x)]) },
        ...(push ? [{ points: [seen(before)], kind: "goal", dots: true }] : []),
        { points: [seen(input)], kind: "now", dots: true, name: answer },
      ]);
      const [p, q] = [was, now].map(({ logits }) => model.probabilities(logits));
      const dashed = push ? " (dashed: with the unit as it was)" : "";
      bars.set(nextAfter(text, q, push ? p : undefined, SHOWN), `what comes next${dashed}`);

      const larger = answers.filter((value) => value > answers[unit]).length;
      const is = `Unit ${unit}: GELU(${fixed(input, 2)}) = ${answer}, and ${larger} of the ${F} answers are larger.`;
      const moves = p.reduce(
        (most, _, id) => (Math.abs(q[id] - p[id]) > Math.abs(q[most] - p[most]) ? id : most),
        0,
      );
      const said = push
        ? ` Before it was ${fixed(geluTanh(before), 2)}. ${quoted(model.show(moves))} ${goes(p[moves], q[moves])}.`
        : "";
      say(is + said);
    },
    act: async (hand) => {
      state.set({ push: 0 });
      await hand.pause();
      await hand.slide("added to its input", REACH - own, 1200);
    },
    whole: () => {
      const [text, token, block, unit] = state.all("text", "token", "block", "unit");
      return { text, at: String(token), place: `${block}.mlp.${unit}` };
    },
    table: () => ({
      caption: "What comes next.",
      columns: ["token", "now", "before"],
      rows: bars.table,
    }),
  };
}
