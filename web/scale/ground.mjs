// Where the buildings stand: sky, ground with its squares, shadows, and light that spreads.

import { outline, project } from "./camera.mjs";
import { css, shadow } from "./faces.mjs";

/** @import { Camera, Point } from "./camera.mjs" */
/** @import { Colour, Look } from "./faces.mjs" */
/** @import { Building } from "./world.mjs" */

/** @type {Colour} */
export const SKY = [9, 13, 18];
/** @type {Colour} */
export const MIST = [38, 52, 68];
/** @type {Colour} */
export const GROUND = [13, 18, 25];
const REACH = 20; // squares of the ground to each side
const small = [6, 24].map((by) => ({ by, canvas: document.createElement("canvas") }));

/**
 * What is bright shines a little: over the picture lies its square, blurred.
 * @param {CanvasRenderingContext2D} context
 */
export function bloom(context) {
  const { canvas } = context;
  let from = canvas;
  for (const { by, canvas: to } of small) {
    const [w, h] = [Math.ceil(canvas.width / by), Math.ceil(canvas.height / by)];
    if (to.width !== w || to.height !== h) Object.assign(to, { width: w, height: h });
    const drawn = to.getContext("2d");
    if (!drawn) return;
    drawn.globalCompositeOperation = "copy";
    drawn.drawImage(from, 0, 0, w, h);
    if (from === canvas) {
      drawn.globalCompositeOperation = "multiply";
      drawn.drawImage(to, 0, 0);
      drawn.drawImage(to, 0, 0);
    }
    from = to;
  }
  const [{ canvas: near }, { canvas: wide }] = small;
  const both = near.getContext("2d");
  if (!both) return;
  both.globalCompositeOperation = "screen";
  both.drawImage(wide, 0, 0, near.width, near.height);
  context.save();
  context.globalCompositeOperation = "screen";
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalAlpha = 0.42;
  context.drawImage(near, 0, 0, canvas.width, canvas.height); // once: it takes the most time
  context.restore();
}

/** @param {Camera} camera */
export function horizon({ rows, focal, height }) {
  const [, up, ahead] = rows;
  return height / 2 + (focal * ahead[1]) / up[1];
}

/** @param {CanvasRenderingContext2D} context @param {Camera} camera */
export function backdrop(context, camera) {
  const { width, height } = camera;
  const at = horizon(camera);
  const sky = context.createLinearGradient(0, at - 0.9 * height, 0, at);
  sky.addColorStop(0, css(SKY, MIST, 0));
  sky.addColorStop(0.7, css(SKY, MIST, 0.28));
  sky.addColorStop(1, css(SKY, MIST, 0.8));
  context.fillStyle = sky;
  context.fillRect(0, 0, width, Math.max(0, at) + 1);
  const ground = context.createLinearGradient(0, at, 0, at + 0.9 * height);
  ground.addColorStop(0, css(GROUND, MIST, 0.8));
  ground.addColorStop(0.12, css(GROUND, MIST, 0.45));
  ground.addColorStop(0.5, css(GROUND, MIST, 0.12));
  ground.addColorStop(1, css(GROUND, MIST, 0));
  context.fillStyle = ground;
  context.fillRect(0, Math.max(0, at), width, height);
}

/**
 * Squares of 100, of 10 thousand, of a million numbers, … as wide as fits.
 * @param {CanvasRenderingContext2D} context
 * @param {Camera} camera
 */
export function grid(context, camera) {
  const y = 0;
  const { distance, focal, eye, rows } = camera;
  const [ahead] = [rows[2]];
  const reach = Math.min(1.3 * distance, (eye[1] - y) / Math.max(0.05, -ahead[1]));
  const middle = [eye[0] + reach * ahead[0], eye[2] + reach * ahead[2]];
  const level = Math.log10((70 * distance) / focal);
  for (const step of [Math.floor(level), Math.floor(level) + 1]) {
    const side = 10 ** step;
    const alpha = step > level ? 0.17 : 0.17 * (1 - (level - step));
    const centre = project(camera, middle[0], y, middle[1]);
    if (!centre || alpha < 0.01) continue;
    const fade = context.createRadialGradient(
      centre[0],
      centre[1],
      0,
      centre[0],
      centre[1],
      0.75 * camera.width,
    );
    fade.addColorStop(0, `rgb(150 180 205 / ${alpha})`);
    fade.addColorStop(1, "rgb(150 180 205 / 0)");
    context.strokeStyle = fade;
    context.lineWidth = 1;
    context.beginPath();
    const [x0, z0] = middle.map((value) => Math.round(value / side) * side);
    const far = REACH * side;
    for (let i = -REACH; i <= REACH; i++) {
      line(context, camera, [x0 + i * side, y, z0 - far], [x0 + i * side, y, z0 + far]);
      line(context, camera, [x0 - far, y, z0 + i * side], [x0 + far, y, z0 + i * side]);
    }
    context.stroke();
  }
}

/** @type {(context: CanvasRenderingContext2D, camera: Camera, a: Point, b: Point) => void} */
function line(context, camera, a, b) {
  const points = outline(camera, [a, b]);
  if (points.length < 4) return;
  context.moveTo(points[0], points[1]);
  context.lineTo(points[2], points[3]);
}

/**
 * A building's shadow and its light on the ground.
 * @param {CanvasRenderingContext2D} context
 * @param {Building} one
 * @param {Camera} camera
 * @param {Look} look
 */
export function lie(context, one, camera, look) {
  const { x, z, w, d, h } = one;
  const centre = project(camera, x + w / 2, 0, z + d / 2);
  const dark = shadow(one, camera);
  if (dark.length >= 6) {
    trace(context, dark);
    context.fillStyle = "rgb(3 5 8 / 0.5)";
    context.fill();
  }
  if (!centre) return;
  const reach = 0.75 * Math.max(w, d) + 0.12 * h;
  const [a, b] = [
    project(camera, x + w / 2 + reach, 0, z + d / 2),
    project(camera, x + w / 2, 0, z + d / 2 + reach),
  ];
  if (!a || !b) return;
  context.save();
  context.transform(
    a[0] - centre[0],
    a[1] - centre[1],
    b[0] - centre[0],
    b[1] - centre[1],
    centre[0],
    centre[1],
  );
  const pool = context.createRadialGradient(0, 0, 0.3, 0, 0, 1.5);
  pool.addColorStop(0, `rgb(${look.attn.join(" ")} / 0.4)`);
  pool.addColorStop(0.45, `rgb(${look.mlp.join(" ")} / 0.16)`);
  pool.addColorStop(1, `rgb(${look.mlp.join(" ")} / 0)`);
  context.fillStyle = pool;
  context.fillRect(-1.5, -1.5, 3, 3);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {number[]} points */
export function trace(context, points) {
  context.beginPath();
  context.moveTo(points[0], points[1]);
  for (let i = 2; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
  context.closePath();
}
