// To scale: one camera over models from thousands of numbers to billions. A square pixel is always
// said to be how many numbers.

import { interpolateZoom } from "d3-interpolate";
import { render, svg } from "lit/html.js";
import { still } from "../exhibits/motion.mjs";
import { draw, make } from "../exhibits/dom.mjs";
import { placed } from "./world.mjs";

/** @import { Model, Placed } from "./world.mjs" */
/** @typedef {[number, number, number]} View  its middle, and the width that is seen; in numbers */

const STOP = 1800; // milliseconds from one model to the next
const SIDE = 14; // px beside and above what is shown
const ROW = 19; // px of a name below the ground
const ROWS = 4;
const LETTER = 7.2; // px
const KEYS = /** @type {Record<string, number>} */ ({ "+": -1, "=": -1, "-": 1 });

/** @type {import("../exhibits/exhibit.mjs").Kind} */
export function scale({ settings, state, say, element }) {
  const models = /** @type {Model[]} */ (settings.models);
  const world = placed(models);
  const last = world.length - 1;
  state.declare("zoom", settings.zoom ?? 0, { min: 0, max: last });
  let at = 0; // what is shown: that of the state, or on the way to it
  let frame = 0;
  let size = { width: 0, height: 0 };

  const picture = draw("svg", { class: "scale-picture", role: "img" });
  const slider = make("input", {
    type: "range",
    min: "0",
    max: String(last),
    step: "0.01",
    "aria-label": "zoom, from the smallest model to the largest",
    oninput: () => to(Number(slider.value)),
  });
  const buttons = models.map(({ name }, i) =>
    make("button", { type: "button", onclick: () => fly(i) }, name),
  );
  const play = make("button", { type: "button", onclick: () => (frame ? stop() : run()) }, "play");
  const line = make("p", { class: "soft scale-line" });

  /** @param {number} zoom */
  const to = (zoom) => {
    stop();
    state.set({ zoom: Math.round(zoom * 100) / 100 });
  };
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "play";
  };
  /**
   * The camera goes there; for those who want nothing to move it is there.
   * @param {number} end
   */
  const fly = (end) => {
    stop();
    if (still()) return to(end);
    const [from, began] = [at, performance.now()];
    const time = STOP * Math.max(1, Math.abs(end - from));
    const tick = (/** @type {number} */ now) => {
      const share = Math.min(1, Math.max(0, (now - began) / time));
      if (share === 1) return to(end);
      const eased = share * share * (3 - 2 * share);
      paint(from + eased * (end - from));
      frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame(tick);
    play.textContent = "stop";
  };
  const run = () => {
    if (still()) {
      return to(at >= last ? 0 : Math.floor(at) + 1);
    }
    if (at >= last) paint(0);
    fly(last);
  };
  element.onkeydown = (event) => {
    const step = KEYS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    fly(Math.min(last, Math.max(0, Math.round(at + step))));
  };

  /**
   * What is seen where the camera rests: a model, with all that are smaller.
   * @param {Placed} one
   * @returns {View}
   */
  const view = ({ x, width, height }) => {
    const below = ROWS * ROW + SIDE;
    const room = { width: size.width - 2 * SIDE, height: size.height - SIDE - below };
    const k = Math.min(room.width / (x + width), room.height / height);
    return [(x + width) / 2, (below - SIDE) / 2 / k - height / 2, size.width / k];
  };

  /** @param {number} zoom */
  const paint = (zoom) => {
    const width = Math.max(280, Math.floor(picture.clientWidth || 640));
    const height = Math.round(width * (width < 500 ? 0.95 : 0.6)) + ROWS * ROW;
    size = { width, height };
    at = zoom;
    const i = Math.min(last - 1, Math.floor(zoom));
    const way = interpolateZoom(view(world[i]), view(world[i + 1]));
    const [x, y, wide] = way(zoom - i);
    const k = width / wide;
    const origin = [width / 2 - x * k, height / 2 - y * k];
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.style.height = `${height}px`;
    const near = world[Math.round(zoom)];
    picture.setAttribute("aria-label", `${near.model.name}, to scale`);
    const parts = { world, k, origin, width, height, near };
    render(scene(parts, fly), /** @type {any} */ (picture));
    slider.value = String(zoom);
    slider.setAttribute("aria-valuetext", near.model.name);
    buttons.forEach((button, n) => button.setAttribute("aria-pressed", String(n === zoom)));
    const [least] = models;
    const covers = least.numbers * k ** 2;
    line.textContent =
      `One square pixel here is ${many(1 / k ** 2)}. ` +
      `${least.name[0].toUpperCase()}${least.name.slice(1)} covers ${inWords(covers)} of them.`;
  };
  new ResizeObserver(() => {
    if (
      element.isConnected &&
      picture.clientWidth &&
      Math.floor(picture.clientWidth) !== size.width
    )
      paint(at);
  }).observe(picture);

  return {
    nodes: [
      make("div", { class: "chips", role: "group", "aria-label": "models" }, ...buttons),
      make("div", { class: "scale-controls" }, play, slider),
      picture,
      line,
    ],
    show: () => {
      if (!frame) paint(state.get("zoom"));
      say(models[Math.round(state.get("zoom"))].says);
    },
    table: () => settings.table,
  };
}

/**
 * @param {number} value
 */
function many(value) {
  if (value < 0.95) return `${value.toPrecision(1)} of a number`;
  const whole = Math.round(Number(value.toPrecision(2)));
  return `${whole.toLocaleString("en")} number${whole === 1 ? "" : "s"}`;
}

/** @param {number} value */
function inWords(value) {
  const [unit, name] = [
    /** @type {[number, string]} */ ([1e9, " billion"]),
    /** @type {[number, string]} */ ([1e6, " million"]),
    /** @type {[number, string]} */ ([1e3, " thousand"]),
  ].find(([least]) => value >= least) ?? [1, ""];
  return `${Number((value / unit).toPrecision(3))}${name}`;
}

/**
 * @param {{world: Placed[], k: number, origin: number[], width: number, height: number,
 *   near: Placed}} parts
 * @param {(model: number) => void} fly
 */
function scene({ world, k, origin: [left, ground], width, height, near }, fly) {
  const seen = (/** @type {Placed} */ { x }) => left + x * k < width;
  return svg`<g transform="translate(${left} ${ground}) scale(${k})">
      ${world.map((one, i) => drawn(one, () => fly(i)))}
    </g>
    <path class="ground" d="M0 ${ground}H${width}"></path>
    ${near.areas.map((area) => label(area, { k, left: left + near.x * k, top: ground - near.height * k }))}
    ${names(world.filter(seen), { k, left, ground, width })}
    ${measure(k, width, height)}`;
}

/**
 * @param {Placed} one
 * @param {() => void} go
 */
function drawn({ model, x, height, areas }, go) {
  return svg`<g class="model" transform="translate(${x} ${-height})" @click=${go}>
    ${areas.map(
      (area) => svg`<rect class=${area.kind} x=${area.x} y=${area.y} width=${area.width}
        height=${area.height} stroke-width=${area.kind === "vectors" ? 0 : model.width * 0.03}
        ><title>${model.name}${area.block < 0 ? "" : `, block ${area.block}`}: ${area.name}, ${area.shape}</title></rect>`,
    )}
  </g>`;
}

/**
 * The name of a table, or of a matrix of the first block, where there is room for it.
 * @param {import("./world.mjs").Area} area
 * @param {{k: number, left: number, top: number}} where
 */
function label({ x, y, width, height, kind, name, shape, block }, { k, left, top }) {
  const [wide, high] = [width * k, height * k];
  if (wide < LETTER * name.length) name = name.split(".").at(-1) ?? name;
  if (block > 0 || kind === "vectors" || wide < LETTER * name.length || high < 14) return null;
  const [middle, centre] = [left + x * k + wide / 2, top + y * k + high / 2];
  const two = high >= 36 && wide >= 6 * shape.length;
  return svg`<text class="label" x=${middle} y=${centre + (two ? -3 : 4)}>${name}</text>
    ${two ? svg`<text class="label shape" x=${middle} y=${centre + 12}>${shape}</text>` : null}`;
}

/**
 * Below the ground, each in the first row that has room: the largest first.
 * @param {Placed[]} seen
 * @param {{k: number, left: number, ground: number, width: number}} where
 */
function names(seen, { k, left, ground, width }) {
  /** @type {number[]} */
  const taken = [];
  return [...seen].reverse().map(({ model, x }) => {
    const from = Math.max(2, left + x * k);
    const text = `${model.name} ${inWords(model.numbers)}`;
    const end = from + LETTER * text.length;
    if (end > width) return null;
    let row = 0;
    while ((taken[row] ?? width) < end) row++;
    taken[row] = from;
    const y = ground + (row + 1) * ROW - 4;
    return svg`<path class="ground" d="M${from + 0.5} ${ground}V${y}"></path>
      <text class="name" x=${from + 5} y=${y}>${model.name}
      <tspan class="many">${inWords(model.numbers)}</tspan></text>`;
  });
}

/**
 * A square of a round count of numbers, as a map has a bar of a round length.
 * @param {number} k
 * @param {number} width
 * @param {number} height
 */
function measure(k, width, height) {
  const power = Math.floor(2 * Math.log10(56 / k));
  const side = 10 ** (power / 2) * k;
  const [x, y] = [width - side - 2, height - side - 2];
  return svg`<rect class="measure" x=${x} y=${y} width=${side} height=${side}></rect>
    <text class="many" text-anchor="end" x=${x - 6} y=${height - 6}>${inWords(10 ** power)} numbers</text>`;
}
