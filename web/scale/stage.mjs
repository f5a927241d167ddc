// The stage: the ground, then the faces; on a canvas or, to be taken along, as an SVG drawing.

import { draw } from "../exhibits/dom.mjs";
import { cells, LETTERS } from "./cells.mjs";
import { css, faces, presence, shadow } from "./faces.mjs";
import { backdrop, bloom, GROUND, grid, horizon, lie, MIST, SKY, trace } from "./ground.mjs";

/** @import { Camera } from "./camera.mjs" */
/** @import { Colour, Face, Look } from "./faces.mjs" */
/** @import { Building, Plate } from "./world.mjs" */

const INK = "#ffffff"; // of values
const LARGE = 110; // px of a face that is lighter on one side

/** @param {HTMLElement} element @returns {Look} */
export function lookOf(element) {
  const style = getComputedStyle(element);
  const dot = document.createElement("canvas").getContext("2d");
  const read = (/** @type {string} */ name) => {
    if (!dot) return /** @type {Colour} */ ([128, 128, 128]);
    dot.fillStyle = style.getPropertyValue(name).trim() || "#888";
    const hex = parseInt(String(dot.fillStyle).slice(1), 16);
    return /** @type {Colour} */ ([hex >> 16, (hex >> 8) & 255, hex & 255]);
  };
  const [attn, mlp, table, vectors, light] = ["attn", "mlp", "table", "vectors", "light"].map(
    (name) => read(`--${name}`),
  );
  return { attn, mlp, table, vectors, light, mist: MIST };
}

/**
 * @typedef {{world: Building[], camera: Camera, look: Look, chosen: Plate | null, values?: number[][],
 *   plain: [string, string] | null, quick?: boolean}} Scene  plain: the colours of faces and of their outlines, where
 *   no light is shown
 */

/** @param {Scene} scene */
export function seenFaces({ world, camera, look, chosen, values }) {
  const near = cells(world[0], camera, look, values);
  return { all: [...faces(world, camera, look, chosen), ...near.faces], written: near.written };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @returns {Face[]}
 */
export function paint(context, scene) {
  const { world, camera, look, plain } = scene;
  const { width, height } = camera;
  const { all, written } = seenFaces(scene);
  context.clearRect(0, 0, width, height);
  if (!plain) {
    backdrop(context, camera);
    grid(context, camera);
    for (const one of world) if (presence(one, camera) > 0.9) lie(context, one, camera, look);
  }
  context.lineJoin = "round";
  for (const { points, fill, edge, alpha = 1, plate } of all) {
    if (plain && !plate) continue;
    trace(context, points);
    context.globalAlpha = plain ? 1 : alpha;
    context.fillStyle = plain?.[0] ?? lit(context, points, fill);
    context.fill();
    if (!plain && !edge) continue;
    context.strokeStyle = plain?.[1] ?? edge ?? fill;
    context.lineWidth = plain ? 0.6 : 1;
    context.stroke();
  }
  context.globalAlpha = 1;
  if (!plain && !scene.quick) bloom(context);
  if (!plain) letters(context, written);
  return all;
}

/**
 * Values, on their squares.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./cells.mjs").Written[]} all
 */
function letters(context, all) {
  context.font = `600 ${LETTERS}px ui-monospace, Menlo, Consolas, monospace`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = INK;
  for (const { words, matrix, alpha } of all) {
    context.save();
    context.globalAlpha = alpha;
    context.transform(.../** @type {[number, number, number, number, number, number]} */ (matrix));
    context.fillText(words, 0, 0);
    context.restore();
  }
}

/**
 * A large face is lighter where the light comes from.
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} points
 * @param {string} fill
 */
function lit(context, points, fill) {
  if (points.length !== 8) return fill;
  const [x, y, u, v, s, t] = points;
  if (Math.hypot(s - x, t - y) < LARGE || Math.hypot(u - x, v - y) < LARGE / 6) return fill;
  const [r, g, b] = (fill.match(/\d+/g) ?? []).map(Number);
  const tone = (/** @type {number} */ k) =>
    `rgb(${[r, g, b].map((value) => Math.min(255, Math.round(value * k))).join(" ")})`;
  const xs = [0, 2, 4, 6].map((i) => points[i]);
  const ys = [1, 3, 5, 7].map((i) => points[i]);
  const [left, right] = [Math.max(-400, Math.min(...xs)), Math.min(2400, Math.max(...xs))];
  const [top, bottom] = [Math.max(-400, Math.min(...ys)), Math.min(1600, Math.max(...ys))];
  const made = context.createLinearGradient(left, top, right, bottom);
  made.addColorStop(0, tone(1.16));
  made.addColorStop(1, tone(0.8));
  return made;
}

/**
 * The same as a drawing that can be taken along.
 * @param {Scene} scene
 */
export function drawing(scene) {
  const { camera, world } = scene;
  const { width, height } = camera;
  const { all, written } = seenFaces(scene);
  const at = Math.min(height, Math.max(0, horizon(camera)));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, overflow: "hidden" });
  const dark = world
    .filter((one) => presence(one, camera) > 0.9)
    .map((one) => shadow(one, camera))
    .filter(({ length }) => length >= 6);
  const sky = shades("scale-sky", [css(SKY, MIST, 0), css(SKY, MIST, 0.8)]);
  const ground = shades("scale-ground", [css(GROUND, MIST, 0.8), css(GROUND, MIST, 0)], 0.45);
  const defs = draw("defs");
  defs.append(sky, ground);
  svg.append(
    defs,
    draw("rect", { width, height: at, fill: "url(#scale-sky)" }),
    draw("rect", { y: at, width, height: height - at, fill: "url(#scale-ground)" }),
    ...dark.map((points) =>
      draw("polygon", { points: listed(points), fill: "#030508", "fill-opacity": 0.5 }),
    ),
    ...all.map(({ points, fill, edge, alpha = 1 }) =>
      draw("polygon", {
        points: listed(points),
        fill: hex(fill),
        stroke: hex(edge || fill),
        "stroke-width": 0.6,
        ...(alpha < 1 ? { opacity: alpha } : {}),
      }),
    ),
    ...written.map(({ words, matrix, alpha }) =>
      draw(
        "text",
        {
          ...{ transform: `matrix(${matrix.map((one) => Number(one.toFixed(4))).join(" ")})` },
          ...{ "text-anchor": "middle", "dominant-baseline": "central", fill: INK, opacity: alpha },
          ...{ "font-family": "ui-monospace, Menlo, Consolas, monospace" },
          ...{ "font-size": LETTERS, "font-weight": 600 },
        },
        words,
      ),
    ),
  );
  return svg;
}

/**
 * From the top down.
 * @param {string} id
 * @param {string[]} colours
 * @param {number} [end]  of the last
 */
function shades(id, colours, end = 1) {
  const one = draw("linearGradient", { id, x1: 0, y1: 0, x2: 0, y2: 1 });
  one.append(...colours.map((css, i) => draw("stop", { offset: i * end, "stop-color": hex(css) })));
  return one;
}

/** @param {number[]} points */
function listed(points) {
  return points.map((value) => Math.round(10 * value) / 10).join(" ");
}

/** @param {string} rgb */
function hex(rgb) {
  const all = rgb.match(/\d+/g) ?? [];
  return `#${all.map((one) => Number(one).toString(16).padStart(2, "0")).join("")}`;
}
