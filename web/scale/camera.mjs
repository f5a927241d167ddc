// A camera over the ground: where it stands, what it sees of a point, and its way from a single number
// to the largest model.

/** @import { Building, Solid } from "./world.mjs" */
/** @typedef {[number, number, number]} Point */
/** @typedef {{target: Point, distance: number, tilt: number, zoom: number}} Stop  where the camera
 *   rests */
/** @typedef {{eye: Point, distance: number, zoom: number, near: number, focal: number, width: number,
 *   height: number, rows: Point[]}} Camera  rows: right, up, ahead */

const TURN = 0.62; // radians to the left of a building's front
const TILTS = [0.78, 0.4, 0.28, 0.2, 0.115]; // radians down, at the stops
const BESIDE = [0.16, 0.26, 0.34, 0.2]; // of the picture, for what is smaller; a tower leaves room by itself
const NARROW = [0.07, 0.2, 0.32, 0.3];
const BELOW = [56, 56, 86, 56]; // px, for the square and for what is smaller, nearer
const LEAST = 0.04; // radians of tilt
const STEEPEST = 1.45;
const FIELD = 0.56; // radians, along the longer side of the picture
export const CELL = [5, 5]; // of c_attn: the number where the way begins
const ACROSS = 5.2; // numbers across the picture there

/**
 * @param {Stop} stop
 * @param {{turn: number, tilt: number}} hand  what a reader has turned, in radians
 * @param {{width: number, height: number}} size
 * @returns {Camera}
 */
export function camera({ target, distance, tilt, zoom }, hand, { width, height }) {
  const [a, b] = [TURN + hand.turn, Math.min(STEEPEST, Math.max(LEAST, tilt + hand.tilt))];
  const ahead = /** @type {Point} */ ([
    Math.sin(a) * Math.cos(b),
    -Math.sin(b),
    Math.cos(a) * Math.cos(b),
  ]);
  const right = /** @type {Point} */ ([Math.cos(a), 0, -Math.sin(a)]);
  const up = /** @type {Point} */ ([
    Math.sin(a) * Math.sin(b),
    Math.cos(b),
    Math.cos(a) * Math.sin(b),
  ]);
  const eye = /** @type {Point} */ (target.map((value, i) => value - distance * ahead[i]));
  const focal = Math.max(width, height) / 2 / Math.tan(FIELD / 2);
  return {
    eye,
    distance,
    zoom,
    near: distance / 60,
    focal,
    width,
    height,
    rows: [right, up, ahead],
  };
}

/**
 * A point as the camera has it: to the right, up, ahead.
 * @param {Camera} camera
 * @param {number} x
 * @param {number} y
 * @param {number} z
 * @returns {Point}
 */
export function seen({ eye, rows }, x, y, z) {
  const [dx, dy, dz] = [x - eye[0], y - eye[1], z - eye[2]];
  const along = (/** @type {Point} */ row) => row[0] * dx + row[1] * dy + row[2] * dz;
  return [along(rows[0]), along(rows[1]), along(rows[2])];
}

/**
 * On the screen; nothing for what is behind the camera.
 * @param {Camera} camera
 * @param {number} x
 * @param {number} y
 * @param {number} z
 * @returns {[number, number, number] | null}  x, y, depth
 */
export function project(camera, x, y, z) {
  const [across, up, depth] = seen(camera, x, y, z);
  if (depth < camera.near) return null;
  const k = camera.focal / depth;
  return [camera.width / 2 + across * k, camera.height / 2 - up * k, depth];
}

/**
 * A flat polygon on the screen, without what is behind the camera.
 * @param {Camera} camera
 * @param {Point[]} corners
 * @returns {number[]}  x, y, x, y …
 */
export function outline(camera, corners) {
  const { near, focal, width, height } = camera;
  const points = corners.map((one) => seen(camera, ...one));
  /** @type {number[]} */
  const flat = [];
  const add = (/** @type {number[]} */ [x, y, z]) =>
    flat.push(width / 2 + (x * focal) / z, height / 2 - (y * focal) / z);
  points.forEach((here, i) => {
    const next = points[(i + 1) % points.length];
    if (here[2] >= near) add(here);
    if (here[2] < near !== next[2] < near) {
      const t = (near - here[2]) / (next[2] - here[2]);
      add(here.map((value, axis) => value + t * (next[axis] - value)));
    }
  });
  return flat;
}

/** @param {Solid} solid @returns {Point[]} */
export function corners({ x, y, z, w, h, d }) {
  return [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [
    x + (i & 1 ? w : 0),
    y + (i & 2 ? h : 0),
    z + (i & 4 ? d : 0),
  ]);
}

/**
 * Where points lie on the screen.
 * @param {Camera} camera
 * @param {Point[]} points
 */
export function bounds(camera, points) {
  const all = points.flatMap((one) =>
    [project(camera, ...one) ?? []].filter(({ length }) => length),
  );
  const [xs, ys] = [0, 1].map((axis) => all.map((one) => one[axis]));
  const box = { left: Math.min(...xs), right: Math.max(...xs) };
  return {
    ...box,
    top: Math.min(...ys),
    bottom: Math.max(...ys),
    whole: all.length === points.length,
  };
}

/**
 * Where the camera rests: above a single number, then before each building.
 * @param {Building[]} world
 * @param {{width: number, height: number}} size
 * @returns {Stop[]}
 */
export function stops(world, size) {
  const [hut] = world;
  const roof = hut.core.y + hut.core.h;
  const middle = /** @type {Point} */ ([
    hut.core.x + CELL[0] + 0.5,
    roof,
    hut.core.z + CELL[1] + 0.5,
  ]);
  const first = {
    target: middle,
    distance: ACROSS / 2 / Math.tan(FIELD / 2),
    tilt: TILTS[0],
    zoom: -1,
  };
  return [first, ...world.map((one, i) => before(one, size, TILTS[i + 1]))];
}

/**
 * @param {Building} one
 * @param {{width: number, height: number}} size
 * @param {number} tilt
 * @returns {Stop}
 */
function before(one, size, tilt) {
  const narrow = size.width < size.height;
  const room = {
    left: (narrow ? NARROW : BESIDE)[one.nth],
    right: narrow ? 0.95 : 0.88,
    top: 62,
    bottom: BELOW[one.nth],
  };
  const [left, right] = [room.left * size.width, room.right * size.width];
  const [top, bottom] = [room.top, size.height - room.bottom];
  const points = corners(one);
  /** @type {Point} */
  let target = [one.x + one.w / 2, one.h / 2, one.z + one.d / 2];
  let distance = 4 * Math.max(one.w, one.h, one.d);
  for (let i = 0; i < 12; i++) {
    const eye = camera({ target, distance, tilt, zoom: one.nth }, { turn: 0, tilt: 0 }, size);
    const box = bounds(eye, points);
    const [wide, high] = [box.right - box.left, box.bottom - box.top];
    const k = Math.max(wide / (right - left), high / (bottom - top));
    const x = (box.left + box.right - left - right) / 2;
    const y = (box.top + box.bottom - top - bottom) / 2;
    const step = distance / eye.focal;
    const [across, up] = [x * step, -y * step];
    target = /** @type {Point} */ (
      target.map((value, axis) => value + eye.rows[0][axis] * across + eye.rows[1][axis] * up)
    );
    distance *= k;
  }
  return { target, distance, tilt, zoom: one.nth };
}

/**
 * Between two stops: evenly for the eye.
 * @param {Stop[]} all
 * @param {number} zoom  -1 for the first
 * @returns {Stop}
 */
export function between(all, zoom) {
  const at = Math.min(all.length - 1, Math.max(0, zoom + 1));
  const i = Math.min(all.length - 2, Math.floor(at));
  const [a, b, t] = [all[i], all[i + 1], at - i];
  const distance = a.distance ** (1 - t) * b.distance ** t;
  const share = (distance - a.distance) / (b.distance - a.distance);
  const target = a.target.map((value, axis) => value + share * (b.target[axis] - value));
  const tilt = a.tilt + t * (b.tilt - a.tilt);
  return { target: /** @type {Point} */ (target), distance, tilt, zoom: at - 1 };
}
