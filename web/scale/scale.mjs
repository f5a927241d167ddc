// To scale: models as buildings on one ground, under one camera that goes from a single number to 175
// billion. A number is everywhere a square of the same size.

import { grouped, make } from "../exhibits/dom.mjs";
import { still } from "../exhibits/motion.mjs";
import { between, bounds, camera, corners, stops } from "./camera.mjs";
import { faceAt, hands } from "./hands.mjs";
import { inWords, labels } from "./labels.mjs";
import { measured, names } from "./names.mjs";
import { drawing, lookOf, paint } from "./stage.mjs";
import { placed } from "./world.mjs";

/** @import { Model, Plate } from "./world.mjs" */

const FLIGHT = 1200; // milliseconds to another model
const LEG = 1600; // from one stop to the next, where all are played
const SLOW = 40; // milliseconds of a picture
const FIRST = -1; // a single number
const DEGREE = Math.PI / 180;
const TILTS = [-30, 60];
const NEARER = /** @type {Record<string, number>} */ ({ "+": -1, "=": -1, "-": 1 });
const TURNS = /** @type {Record<string, [number, number]>} */ ({
  ArrowLeft: [-10, 0],
  ArrowRight: [10, 0],
  ArrowUp: [0, -5],
  ArrowDown: [0, 5],
});
const ALIKE = "In every model a number is a square of this size.";
const HOW =
  "a picture of buildings. Arrow keys turn it, plus and minus zoom, Enter names one matrix after the other";

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function scale({ settings, state, say, element }) {
  const models = /** @type {Model[]} */ (settings.models);
  const world = placed(models);
  const last = world.length - 1;
  state.declare("zoom", settings.zoom ?? last, { min: FIRST, max: last });
  state.declare("turn", 0, { min: -180, max: 180 });
  state.declare("tilt", 0, { min: TILTS[0], max: TILTS[1] });
  let at = 0; // what is shown: that of the state, or on the way to it
  let frame = 0; // of a flight
  let quick = false; // without what takes time, while the camera flies
  let asked = 0; // a picture for the next frame
  let hand = { turn: 0, tilt: 0 }; // degrees
  let size = { width: 0, height: 0 };
  /** @type {import("./camera.mjs").Stop[]} */
  let rests = [];
  /** @type {Plate | null} */
  let chosen = null;
  /** @type {import("./faces.mjs").Face[]} */
  let shown = [];
  /** @type {import("./stage.mjs").Scene} */
  let scene;

  const canvas = make("canvas", { "aria-hidden": "true" });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const measure = measured(context);
  Object.assign(canvas, { drawing: () => drawing(scene) }); // for take-svg.js
  const over = names((nth) => fly(nth));
  const told = make("p", { class: "scale-told", role: "status" });
  const parts = [canvas, over.lines, over.element, told];
  const stage = make("div", { class: "scale-stage", tabindex: "0", role: "group" }, ...parts);
  let look = lookOf(stage);
  const slider = make("input", {
    type: "range",
    min: String(FIRST),
    max: String(last),
    step: "0.01",
    "aria-label": "zoom, from a single number to the largest model",
    oninput: () => to(Number(slider.value)),
  });
  const buttons = models.map(({ name }, i) => make("button", { onclick: () => fly(i) }, name));
  const play = make("button", { class: "scale-play", onclick: () => (frame ? stop() : run()) });
  const further = make("button", { "aria-label": "further away", onclick: () => step(1) }, "−");
  const nearer = make("button", { "aria-label": "nearer", onclick: () => step(-1) }, "+");
  const line = make("p", { class: "soft scale-line" }, settings.line ?? "");
  let said = "";

  /** @param {number} value */
  const within = (value) => Math.min(last, Math.max(FIRST, value));
  /** @param {number} zoom */
  const to = (zoom) => {
    stop();
    at = Math.round(within(zoom) * 100) / 100;
    state.set({ zoom: at });
    ask();
  };
  const tell = () => {
    const { says, name, numbers } = models[Math.max(0, Math.round(at))];
    const told = at < -0.6 ? `One of the ${grouped(numbers)} numbers of ${name}. ${ALIKE}` : says;
    if (told !== said) say((said = told));
  };
  const does = (/** @type {string} */ what) => (play.textContent = play.dataset.is = what);
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    does("play");
  };
  does("play");
  /**
   * The camera goes there; for those who want nothing to move it is there.
   * @param {number} end
   * @param {number} [time]
   * @param {(share: number) => number} [pace]
   */
  const fly = (end, time = FLIGHT, pace = eased) => {
    stop();
    if (still()) return to(end);
    const [from, began] = [at, performance.now()];
    let before = began;
    const tick = (/** @type {number} */ now) => {
      quick ||= now - before > SLOW && before > began;
      before = now;
      const share = Math.min(1, Math.max(0, (now - began) / time));
      if (share === 1 || !element.isConnected) return to(end);
      at = from + pace(share) * (end - from);
      show();
      tell();
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    does("stop");
  };
  /** To the largest; it lingers at each model. */
  const run = () => {
    if (still()) return to(at >= last ? FIRST : Math.floor(at) + 1);
    if (at >= last) at = FIRST;
    const [from, way] = [at, last - at];
    fly(last, LEG * Math.max(1, way), (share) => {
      const along = from + share * way;
      const [n, part] = [Math.floor(along), along - Math.floor(along)];
      return Math.max(0, (n + 0.3 * part + 0.7 * eased(part) - from) / way);
    });
  };
  /** @param {number} by */
  const step = (by) => fly(within(by < 0 ? Math.ceil(at) - 1 : Math.floor(at) + 1));

  /** @param {number} across @param {number} down  degrees */
  const turn = (across, down) => {
    const turned = hand.turn + across;
    const tilt = Math.min(TILTS[1], Math.max(TILTS[0], hand.tilt + down));
    hand = { turn: turned - 360 * Math.round(turned / 360), tilt };
    ask();
  };
  const rest = () => state.set({ turn: Math.round(hand.turn), tilt: Math.round(hand.tilt) });

  /** @param {Plate | null} plate @param {{x: number, y: number}} [point] */
  const choose = (plate, point) => {
    if (!point && plate === chosen) return;
    if (plate !== chosen) ask();
    chosen = plate;
    const of = plate && world.find(({ floors }) => floors.flat().includes(plate));
    told.textContent = plate && of ? nameOf(plate, of.model) : "";
    if (!plate || !point) return;
    const [w, h] = [told.offsetWidth, told.offsetHeight];
    const x = Math.min(size.width - w - 6, Math.max(6, point.x - w / 2));
    const y = point.y > h + 24 ? point.y - h - 14 : point.y + 22;
    told.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  };
  /** The matrices of the roof and of the ground floor of the model that is near, one by one. */
  const next = () => {
    const { floors } = near();
    const all = [...(floors.at(-1) ?? []), ...floors[0]].filter(({ kind }) => kind !== "vectors");
    const plate = all[all.indexOf(/** @type {Plate} */ (chosen)) + 1] ?? null;
    const { left, right, top } = bounds(scene.camera, corners(plate ?? floors[0][0]));
    choose(plate, { x: (left + right) / 2, y: top });
  };
  const near = () => world[Math.max(0, Math.round(at))];

  hands(stage, {
    turn,
    rest,
    scale: (factor) => {
      const i = Math.min(last, Math.max(0, Math.floor(at + 1 - (factor < 1 ? 1e-6 : 0))));
      const by = Math.log(factor) / Math.log(rests[i + 1].distance / rests[i].distance);
      const goal = within(at + by);
      const moves = Math.abs(goal - at) > 1e-4;
      stop();
      at = goal;
      ask();
      clearTimeout(waits);
      waits = Number(setTimeout(() => to(at), 200));
      return moves;
    },
    point: (x, y) => choose(faceAt(shown, x, y)?.plate ?? null, { x, y }),
    leave: () => choose(null),
    press: (x, y) => {
      const face = faceAt(shown, x, y);
      if (face?.of && face.of !== near()) fly(face.of.nth);
      else choose(face?.plate ?? null, { x, y });
    },
  });
  let waits = 0;
  element.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [by, turns] = [NEARER[event.key], TURNS[event.key]];
    const here = event.target === stage;
    if (by) step(by);
    else if (here && turns) {
      turn(...turns);
      rest();
    } else if (here && event.key === "Enter") next();
    else if (here && event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  };

  const ask = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      if (element.isConnected) show();
    });
  };
  const fit = () => {
    const width = Math.max(280, Math.floor(stage.clientWidth || 640));
    const height = Math.max(240, Math.floor(stage.clientHeight || 0.5625 * width));
    if (size.width === width && size.height === height) return;
    size = { width, height };
    rests = stops(world, size);
    const dense = Math.min(2, devicePixelRatio || 1);
    Object.assign(canvas, { width: width * dense, height: height * dense });
    context.setTransform(dense, 0, 0, dense, 0, 0);
    over.lines.setAttribute("viewBox", `0 0 ${width} ${height}`);
  };
  const show = () => {
    fit();
    const turned = { turn: hand.turn * DEGREE, tilt: hand.tilt * DEGREE };
    const eye = camera(between(rests, at), turned, size);
    scene = {
      world,
      camera: eye,
      look,
      chosen,
      values: settings.values,
      plain: plain(),
      quick: quick && frame > 0,
    };
    shown = paint(context, scene);
    over.write(labels(world, eye, at, measure, settings.values));
    const { name } = near().model;
    stage.setAttribute("aria-label", `${name}, to scale: ${HOW}`);
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", at < -0.5 ? "a single number" : name);
    buttons.forEach((button, n) => button.setAttribute("aria-pressed", String(n === at)));
  };
  new ResizeObserver(() => {
    const { clientWidth, clientHeight } = stage;
    if (!element.isConnected || !clientWidth) return;
    if (clientWidth !== size.width || clientHeight !== size.height) show();
  }).observe(stage);
  for (const query of QUERIES) {
    matchMedia(query).addEventListener("change", () => element.isConnected && scene && show());
  }

  const chips = make("div", { class: "chips", role: "group", "aria-label": "models" }, ...buttons);
  const zooms = make("span", { class: "scale-zooms" }, further, nearer);
  return {
    nodes: [stage, make("div", { class: "scale-controls" }, play, slider, chips, zooms), line],
    show: () => {
      look = lookOf(stage);
      if (!frame) {
        at = state.get("zoom");
        hand = { turn: state.get("turn"), tilt: state.get("tilt") };
        show();
      }
      said = "";
      if (!frame) tell();
    },
    table: () => settings.table,
  };
}

const QUERIES = ["(forced-colors: active)", "print"];

/** The colours of faces and outlines, where the reader or paper has its own. @returns {[string, string] | null} */
function plain() {
  const [forced, print] = QUERIES.map((query) => matchMedia(query).matches);
  if (print) return ["#fff", "#222"];
  return forced ? ["Canvas", "CanvasText"] : null;
}

/** @param {number} share */
function eased(share) {
  return share * share * (3 - 2 * share);
}

/**
 * @param {Plate} plate
 * @param {Model} model
 */
function nameOf({ floor, name, shape, numbers }, model) {
  const many = shape.includes("×") ? `, ${inWords(numbers)} parameters` : "";
  return `${model.name}: ${floor < 0 ? "" : `h.${floor} `}${name}, ${shape}${many}`;
}
