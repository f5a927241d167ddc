// Where names stand: above the roofs, on the plates of the model that is near, beside a square of a
// round count of numbers. None over another; what has no room is not shown.

import { bounds, CELL, corners, outline, project } from "./camera.mjs";
import { opened, square as squareOf, valueOf } from "./cells.mjs";
import { presence } from "./faces.mjs";

/** @import { Camera, Point } from "./camera.mjs" */
/** @import { Building, Plate } from "./world.mjs" */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{key: string, text: string, more: string, kind: string, box: Box, leader: number[],
 *   nth: number}} Label  leader: x, y of what it names and of its own end */
/** @typedef {(text: string, more: string, kind: string) => [number, number]} Measure */

const EDGE = 8; // px from the edge of the stage
const AWAY = 10; // px between two
const SINGLE = -0.6; // from here on a single number has a name
const PLATES = 0.75; // of a stop's way, beyond which plates have no names
const TINY = 40; // px of a building whose name hangs on a line
const STEP = 18; // px that a name goes higher

/**
 * @param {Building[]} world
 * @param {Camera} camera
 * @param {number} zoom
 * @param {Measure} measure
 * @param {number[][]} [values]
 * @returns {{all: Label[], square: number[]}}
 */
export function labels(world, camera, zoom, measure, values) {
  if (zoom < SINGLE) return single(world[0], camera, measure, values);
  /** @type {Label[]} */
  const all = [];
  const stands = world.map((one) => bounds(camera, corners(one)));
  const square = [0.05, 0.7, 0.38, 0.55]
    .map((at) => ruler(camera, at))
    .find(
      (one) => one && inside(one.box, camera) && !stands.some((wall) => over(wall, one.box, 2)),
    );
  if (square) {
    const [w, h] = measure(square.text, "", "many");
    const [left, top] = [square.right + 10, square.middle - h / 2];
    const box = { left, top, right: left + w, bottom: top + h };
    if (inside(box, camera))
      all.push({
        key: "square",
        text: square.text,
        more: "",
        kind: "many",
        box,
        leader: [],
        nth: -1,
      });
  }
  const walls = world.map((one) => ({ one, ...bounds(camera, corners(one.core)) }));
  const [small, large] = [true, false].map((is) => walls.filter((wall) => tiny(wall) === is));
  const wide = Math.max(0, ...small.map(({ one }) => measure(one.model.name, "", "name")[0]));
  const right = small.some((wall) => wall.left < wide); // where they have their names
  if (right) small.reverse();
  const inTurn = [...large.reverse(), ...small];
  for (const { one, ...wall } of inTurn) {
    if (presence(one, camera) < 0.5) continue;
    const others = walls.filter((other) => other.one !== one && other.whole);
    const middle = (wall.left + wall.right) / 2;
    const more = others.filter(
      ({ one: { nth }, left, right }) => nth > one.nth && (middle < left || middle > right),
    );
    if (others.some((other) => other.one.nth < one.nth && covers(other, wall, camera))) continue;
    const label = name(one, wall, camera, measure, all, more, right, small.length > 1);
    if (label) all.push(label);
  }
  const near = world[Math.max(0, Math.round(zoom))];
  if (zoom > -0.35 && Math.abs(zoom - near.nth) < PLATES) plates(near, camera, measure, all);
  return { all, square: square?.points ?? [] };
}

/**
 * Where the way begins: one number of the smallest model.
 * @param {Building} hut
 * @param {Camera} camera
 * @param {Measure} measure
 * @param {number[][]} [values]
 */
function single(hut, camera, measure, values) {
  const plate = opened(hut);
  const [row, column] = CELL;
  const points = outline(camera, squareOf(plate, row, column));
  if (points.length !== 8) return { all: [], square: [] };
  const path = `h.${plate.floor} ${plate.name}[${row}, ${column}]`;
  const text = `one number of ${hut.model.name}`;
  const more = values ? `${path} = ${valueOf(values, row, column)}` : path;
  const [w, h] = measure(text, more, "name");
  const [x, y] = [(points[4] + points[6]) / 2, (points[5] + points[7]) / 2];
  const top = Math.max(EDGE, y - h - 34);
  const left = Math.max(EDGE, Math.min(camera.width - EDGE - w, x - w / 2));
  const box = { left, top, right: left + w, bottom: top + h };
  const leader = [x, y, x, box.bottom];
  return { all: [{ key: "one", text, more, kind: "name", box, leader, nth: -1 }], square: points };
}

/**
 * @param {Building} one
 * @param {any} wall  where it is on the screen
 * @param {Camera} camera
 * @param {Measure} measure
 * @param {Label[]} all
 * @param {any[]} larger
 * @param {boolean} flags  names of small ones hang to the right of their lines
 * @param {boolean} many  several are small
 * @returns {Label | null}
 */
function name(one, wall, camera, measure, all, larger, flags, many) {
  const { core } = one;
  const roof = project(camera, core.x + core.w / 2, core.y + core.h, core.z + core.d / 2);
  if (!wall.whole && !roof) return null;
  const [left, right] = [Math.max(0, wall.left), Math.min(camera.width, wall.right)];
  if (right - left < (wall.left < 0 || wall.right > camera.width ? 60 : 0) || wall.bottom < 0)
    return null;
  const [text, more] = [one.model.name, inWords(one.model.numbers)];
  const [w, h] = measure(text, more, "name");
  const middle = (left + right) / 2;
  const top = Math.max(wall.top, EDGE + h + 12);
  const pin = many && tiny(wall);
  const under = Math.min(top, camera.height - 70);
  /** @type {[string, number][]} */
  const sides = [["", middle - w / 2]];
  if (pin) sides.splice(0, 1, ["flag", middle]);
  if (pin && !flags) sides.unshift(["back", middle - w]);
  const free = (
    /** @type {Box} */ box,
    /** @type {number[]} */ leader,
    /** @type {boolean} */ strict,
  ) =>
    inside(box, camera) &&
    !all.some(
      (other) => over(other.box, box) || cut(leader, other.box) || cut(other.leader, box),
    ) &&
    !(strict && larger.some((other) => over(other, box, 6)));
  for (const strict of [true, false]) {
    const most = (strict ? 0.3 : 0.7) * camera.height;
    for (let up = pin ? 34 : 14; up < most; up += STEP) {
      for (const [side, at] of sides) {
        const x = pin ? at : Math.max(EDGE, Math.min(camera.width - EDGE - w, at));
        const box = { left: x, top: under - up - h, right: x + w, bottom: under - up };
        const leader =
          top - box.bottom > 20
            ? [middle, pin ? wall.top - 1 : top, middle, box.top + (pin ? 4 : h)]
            : [];
        if (!free(box, leader, strict)) continue;
        return { key: text, text, more, kind: `name ${side}`.trim(), box, leader, nth: one.nth };
      }
    }
  }
  return null;
}

/**
 * The matrices of the roof, and the tables.
 * @param {Building} one
 * @param {Camera} camera
 * @param {Measure} measure
 * @param {Label[]} all
 */
function plates(one, camera, measure, all) {
  const roof = one.floors.at(-1) ?? [];
  for (const plate of [...roof, ...one.floors[0]].reverse()) {
    if (plate.kind === "vectors") continue;
    const text = plate.floor < 0 ? plate.name : (plate.name.split(".").at(-1) ?? "");
    const key = `${plate.name} of ${one.model.name}`;
    const [w, h] = measure(text, "", "plate");
    const above = plate.floor >= 0;
    const place = above ? onTop(plate, camera, w, h) : below(plate, one, camera, w, h);
    if (!place || !inside(place.box, camera)) continue;
    const taken = all.some((other) => over(other.box, place.box) || cut(other.leader, place.box));
    if (taken) continue;
    all.push({ key, text, more: "", kind: "plate", ...place, nth: -1 });
  }
}

/** @type {(plate: Plate, camera: Camera, w: number, h: number) => {box: Box, leader: number[]} | null} */
function onTop(plate, camera, w, h) {
  const { x, y, z, d } = plate;
  if (camera.eye[1] < y + plate.h) return null;
  const middle = project(camera, x + plate.w / 2, y + plate.h, z + d / 2);
  const { left, right, top, bottom, whole } = bounds(
    camera,
    corners({ ...plate, y: y + plate.h, h: 0 }),
  );
  if (!middle || !whole || right - left < 1.15 * w || bottom - top < 1.25 * h) return null;
  return { box: around(middle[0], middle[1], w, h), leader: [] };
}

/** @type {(plate: Plate, one: Building, camera: Camera, w: number, h: number) => {box: Box, leader: number[]} | null} */
function below(plate, one, camera, w, h) {
  const { x, z, d } = plate;
  if (camera.eye[0] > x) return null; // its corner is behind
  const front = plate.name === "wpe" ? z : z + 0.4 * d;
  const corner = project(camera, x, 0, front + (plate.name === "wpe" ? d / 2 : 0));
  const { left, right, whole } = bounds(camera, corners(plate));
  if (!corner || !whole || right - left < 24) return null;
  const [at, low] = [corner[0] - 26, corner[1] + 20];
  const box = { left: at - w, top: low - h / 2, right: at, bottom: low + h / 2 };
  return { box, leader: [corner[0], corner[1], at, low] };
}

/** @type {(x: number, y: number, w: number, h: number) => Box} */
function around(x, y, w, h) {
  return { left: x - w / 2, top: y - h / 2, right: x + w / 2, bottom: y + h / 2 };
}

/**
 * A square of a round count of numbers on the ground, as a map has a bar of a round length.
 * @param {Camera} camera
 * @param {number} at  of the picture's width
 */
function ruler(camera, at) {
  const level = 0;
  const { width, height, eye, rows, focal } = camera;
  const [sx, sy] = [width * at, height - 22];
  const [a, b] = [(sx - width / 2) / focal, (height / 2 - sy) / focal];
  const way = [0, 1, 2].map((i) => rows[2][i] + a * rows[0][i] + b * rows[1][i]);
  const t = (level - eye[1]) / way[1];
  if (!(t > 0)) return null;
  const [x, z] = [eye[0] + t * way[0], eye[2] + t * way[2]];
  const power = Math.floor(2 * Math.log10((0.1 * Math.min(width, 900) * t) / focal));
  const side = 10 ** (power / 2);
  const [p, q] = [rows[0], [-rows[0][2], 0, rows[0][0]]]; // along the picture's edge
  const corner = (/** @type {number} */ i, /** @type {number} */ j) =>
    /** @type {Point} */ ([
      x + side * (i * p[0] + j * q[0]),
      level,
      z + side * (i * p[2] + j * q[2]),
    ]);
  const points = outline(camera, [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)]);
  if (points.length !== 8) return null;
  const text = `${inWords(10 ** power)} number${power ? "s" : ""}`;
  const right = Math.max(points[2], points[4]);
  const box = {
    left: points[0],
    top: points[5],
    right: right + 8 * text.length,
    bottom: points[1],
  };
  return { points, right, middle: (points[1] + points[5]) / 2, text, box };
}

/** @param {{left: number, right: number}} wall */
function tiny({ left, right }) {
  return right - left < TINY;
}

/** @param {Box} box @param {Camera} camera */
function inside({ left, top, right, bottom }, { width, height }) {
  return left >= 2 && top >= 2 && right <= width - 2 && bottom <= height - 2;
}

/** @param {Box} a @param {Box} b @param {number} [away] */
export function over(a, b, away = AWAY) {
  const across = a.left < b.right + away && b.left < a.right + away;
  return across && a.top < b.bottom + away && b.top < a.bottom + away;
}

/**
 * Whether what stands before a wall leaves too little of it to be named.
 * @param {Box} other
 * @param {Box} wall
 * @param {Camera} camera
 */
function covers(other, wall, { width }) {
  const [left, right] = [Math.max(0, wall.left), Math.min(width, wall.right)];
  const shared = Math.min(right, other.right) - Math.max(left, other.left);
  return shared > 0.55 * (right - left) && other.bottom - other.top > 60;
}

/** @param {number[]} leader  upright @param {Box} box */
function cut([x, y, u, end], { left, right, top, bottom }) {
  if (u !== x) return false; // it has none, or a short one to the side
  return x > left - 2 && x < right + 2 && Math.min(y, end) < bottom && Math.max(y, end) > top;
}

/** @param {number} value */
export function inWords(value) {
  const [unit, name] = [
    /** @type {[number, string]} */ ([1e9, " billion"]),
    /** @type {[number, string]} */ ([1e6, " million"]),
    /** @type {[number, string]} */ ([1e3, " thousand"]),
  ].find(([least]) => value >= least) ?? [1, ""];
  return `${Number((value / unit).toPrecision(3))}${name}`;
}
