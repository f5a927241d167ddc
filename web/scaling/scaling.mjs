// Chapter 24: what the loss of a model is, by its parameters and tokens. Runs are points on the surface
// that was fitted to them. Whoever takes runs away sees the surface move, and with it E, the loss that no
// model could get below; here the true floor is known.

import { html, render } from "lit/html.js";
import { draw, make } from "../exhibits/dom.mjs";
import { glide } from "../exhibits/motion.mjs";
import { Switchboard, flag } from "../exhibits/switchboard.mjs";
import { SplitMix64 } from "../language/splitmix.mjs";
import { biggest, cellsOf, runsOf } from "./cells.mjs";
import { fit, predicted, problem, resampled } from "./fit.mjs";
import { limitsOf, picture } from "./picture.mjs";
import { heed } from "./pointing.mjs";
import { rows } from "./tried.mjs";
import { besides, named, nats, residual, signed, told } from "./words.mjs";

/** @import { Fit } from "./fit.mjs" */
/** @import { Shown } from "./picture.mjs" */
/** @import { View } from "./scene.mjs" */
/** @import { Row, Tried } from "./tried.mjs" */

/** @type {View} */
const SURFACE = { turn: 62, tilt: 24 };
/** @type {[string, View][]} */
const VIEWS = [
  ["surface", SURFACE],
  ["by tokens", { turn: 0, tilt: 0 }],
  ["by parameters", { turn: 90, tilt: 0 }],
  ["from above", { turn: 0, tilt: 90 }],
];
const TURNS = [-20, 110]; // degrees
const DRAWS = 200; // resamplings of the runs
const ABOVE = 64; // degrees, from where on the picture is a map
const OWN = 2; // rows for sets of the reader's
const OUT = 0.025; // of them beyond either end of the interval
const SLICE = 12; // milliseconds of work between two of the page

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function scaling({ settings, state, say, sentence, element, update }) {
  const runs = /** @type {number[][]} */ (settings.runs).map(([n, d, loss]) => ({ n, d, loss }));
  const { floor } = settings;
  const cells = cellsOf(runs);
  const keyOf = (/** @type {string[]} */ away) => [...away].sort().join(" ");
  const sets = /** @type {[string, string[]][]} */ (settings.sets).map(([name, away]) => ({
    ...{ key: keyOf(away), name, away },
  }));
  const [largest, limits] = [biggest(cells), limitsOf(cells, floor)];
  state.declare("away", [], { among: cells.map(({ name }) => name) });
  state.declare("known", false);
  state.declare("best", false);
  state.declare("turn", SURFACE.turn, { min: TURNS[0], max: TURNS[1] });
  state.declare("tilt", SURFACE.tilt, { min: 0, max: 90 });

  /** What is shown, or on its way. @type {Shown} */
  let shown = {
    ...{ cells, largest, limits, floor, away: new Set(), best: false, stale: false },
    ...{ form: fit(runs), view: SURFACE, near: "", stop: largest.name, width: 0, height: 0 },
  };
  /** @type {Fit} */
  let fitted = /** @type {Fit} */ (shown.form);
  /** @type {Map<string, Tried>} */
  const tried = new Map();
  /** Of the reader's own. @type {Row[]} */
  let own = [];
  let fittedNow = ""; // which runs, and whether with E known
  let finish = () => {}; // of what moves
  let draws = 0; // the timer of the resampling

  const box = draw("svg", {
    class: "surface",
    role: "group",
    "aria-label": "runs on the fitted surface; each can be taken away",
  });
  const line = make("p", { class: "soft" });
  const list = make("div", { class: "sets", role: "group", "aria-label": "runs that are fitted" });
  const controls = new Switchboard(state, [
    flag("known", "hold E at the true floor"),
    flag("best", "best size for each budget"),
  ]);
  const views = make("div", { class: "views", role: "group", "aria-label": "seen from" });

  const kept = () => cells.filter(({ name }) => !state.get("away").includes(name));

  /** The fit to what is left; where there is none, why. */
  function compute() {
    const [away, known] = state.all("away", "known");
    const [key, left] = [keyOf(away), runsOf(kept())];
    const wrong = problem(left, known ? floor : undefined);
    const now = `${key}|${known}`;
    if (wrong || now === fittedNow) return wrong;
    fittedNow = now;
    fitted = fit(left, { floor: known ? floor : undefined });
    if (known || tried.has(key)) return "";
    tried.set(key, { E: fitted.E, interval: null });
    if (sets.every((one) => one.key !== key)) {
      const name = `${cells.length - away.length} of ${cells.length} points`;
      own = [...own, { key, name, away }].slice(-OWN);
    }
    return "";
  }

  /** In slices, so that the page stays free. */
  function resample() {
    clearTimeout(draws);
    const key = keyOf(state.get("away"));
    const one = tried.get(key);
    if (!one || one.interval || state.get("known")) return;
    const [left, from, random] = [runsOf(kept()), fitted, new SplitMix64(0)];
    /** @type {number[]} */
    const found = [];
    const some = () => {
      const began = performance.now();
      while (found.length < DRAWS && performance.now() - began < SLICE)
        found.push(resampled(left, (n) => random.below(n), from));
      if (found.length < DRAWS) {
        draws = Number(setTimeout(some));
        return;
      }
      found.sort((a, b) => a - b);
      one.interval = { low: found[OUT * DRAWS - 1], high: found[DRAWS - OUT * DRAWS] };
      if (element.isConnected) update();
    };
    draws = Number(setTimeout(some));
  }

  const says = () => {
    const [away, known] = state.all("away", "known");
    const interval = tried.get(keyOf(away))?.interval ?? null;
    return told(fitted, { kept: kept(), cells, floor, known, interval });
  };

  /** @param {string} name */
  const toggle = (name) => {
    shown.stop = name;
    state.toggle("away", name);
  };

  /** What is said of a cell. @param {string} name */
  function read(name) {
    const cell = cells.find((one) => one.name === name);
    const numbers =
      shown.view.tilt > ABOVE ? " The numbers: by how many percent a loss lies above." : "";
    if (!cell) return `Press a run to take it away, or to bring it back; drag to turn.${numbers}`;
    const { n, d, loss, losses } = cell;
    const said = predicted(fitted, n, d);
    const seeds = losses.length > 1 ? ` (${losses.map(nats).join(", ")})` : "";
    return `${named(cell)}: loss ${nats(loss)}${seeds}, ${besides(residual(loss, said))} the surface, ${nats(said)}`;
  }

  function paint() {
    const { width, height } = size();
    shown = { ...shown, width, height };
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = `${height}px`;
    box.classList.toggle("stale", shown.stale);
    render(picture(shown), /** @type {any} */ (box));
    line.textContent = read(shown.near);
    const E = shown.form.E;
    const onPick = (/** @type {string[]} */ away) => state.set({ away, known: false });
    const now = state.get("known") || shown.stale ? "" : keyOf(state.get("away"));
    render(rows([...sets, ...own], { tried, floor, now, E, onPick }), list);
  }

  function size() {
    const width = Math.max(280, box.clientWidth || 640);
    return { width, height: Math.round(Math.min(430, Math.max(320, 0.62 * width))) };
  }

  function buttons() {
    const [turn, tilt] = state.all("turn", "tilt");
    const button = (/** @type {[string, View]} */ [name, view]) => {
      const on = view.turn === turn && view.tilt === tilt;
      return html`<button
        type="button"
        aria-pressed=${on ? "true" : "false"}
        @click=${() => state.set(view)}
      >
        ${name}
      </button>`;
    };
    render(VIEWS.map(button), views);
  }

  heed(box, {
    shown: () => shown,
    point,
    toggle,
    turn: (to) => state.set(to),
    step: (name) => {
      shown.stop = name;
      paint();
      /** @type {SVGElement | null} */ (box.querySelector(`[data-name="${name}"]`))?.focus();
    },
  });
  new ResizeObserver(() => {
    if (shown.width && box.clientWidth && box.clientWidth !== shown.width) paint();
  }).observe(box);

  /** @param {string} name */
  function point(name) {
    if (shown.near === name) return;
    shown = { ...shown, near: name };
    paint();
  }

  const { log, exp } = Math;
  const vector = (/** @type {Shown} */ { form, view }) => [
    ...[form.E, log(form.A), log(form.B), form.alpha, form.beta, view.turn, view.tilt],
  ];
  /** @param {number[]} now */
  const paintAt = ([E, a, b, alpha, beta, turn, tilt]) => {
    const form = { E, A: exp(a), B: exp(b), alpha, beta };
    shown = { ...shown, form, view: { turn, tilt } };
    paint();
  };

  return {
    nodes: [views, box, line, sentence, list, controls.element],
    show: () => {
      const [known, best, turn, tilt] = state.all("known", "best", "turn", "tilt");
      const wrong = compute();
      const away = new Set(/** @type {string[]} */ (state.get("away")));
      const target = vector({ ...shown, form: fitted, view: { turn, tilt } });
      const first = shown.width === 0;
      const from = vector(shown);
      shown = { ...shown, away, best, stale: wrong !== "" };
      finish();
      controls.set();
      buttons();
      if (first || box.matches(".turning") || from.every((value, i) => value === target[i]))
        paintAt(target);
      else finish = glide(from, target, paintAt);
      say(wrong ? `${wrong} The surface is that of before.` : says());
      if (!wrong && !known) resample();
    },
    act: async (hand) => {
      state.set({ away: [], known: false, best: false, ...SURFACE });
      await hand.press(hand.find(".tried button", 4));
      await hand.pause(900);
      await hand.press(hand.find(".tried button", 1));
      await hand.pause(900);
      await hand.press(hand.find(".tried button", 6));
    },
    table: () => ({
      caption: `${says()} A = ${number(fitted.A)}, α = ${nats(fitted.alpha)}, B = ${number(fitted.B)}, β = ${nats(fitted.beta)}.`,
      columns: ["parameters, tokens", "runs", "loss", "the surface", "% above it", ""],
      rows: cells.map((cell) => {
        const said = predicted(fitted, cell.n, cell.d);
        const off = signed(residual(cell.loss, said));
        const away = state.get("away").includes(cell.name) ? "taken away" : "";
        return [named(cell), `${cell.losses.length}`, nats(cell.loss), nats(said), off, away];
      }),
    }),
  };
}

/** @param {number} value */
function number(value) {
  return value >= 1e6 || value < 0.01
    ? value.toExponential(2)
    : String(Number(value.toPrecision(4)));
}
