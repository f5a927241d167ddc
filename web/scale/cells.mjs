// The first numbers of a matrix on the crane's roof, each a square: seen from near, with its value.

import { fixed } from "../exhibits/dom.mjs";
import { CELL, outline, project } from "./camera.mjs";
import { css, shade } from "./faces.mjs";

/** @import { Camera, Point } from "./camera.mjs" */
/** @import { Face, Look } from "./faces.mjs" */
/** @import { Building, Plate } from "./world.mjs" */
/** @typedef {{words: string, matrix: number[], alpha: number}} Written */

const SEEN = [7, 16]; // px of a number from which squares begin to be seen, and are there
const READ = [58, 84]; // and their values
const FADES = 9; // squares at the edge that go over into the plain matrix
export const LETTERS = 100; // px of a value's letters, before they are made smaller
const HIGH = 0.19; // of a square that letters are high

/** @type {(value: number, limits: number[]) => number} */
const share = (value, [least, most]) => Math.min(1, Math.max(0, (value - least) / (most - least)));

/**
 * The matrix that has them.
 * @param {Building} hut
 */
export function opened({ floors }) {
  return /** @type {Plate} */ (floors.at(-1)?.[0]);
}

/**
 * @param {number[][]} values  in ten-thousandths
 * @param {number} row
 * @param {number} column
 */
export function valueOf(values, row, column) {
  return fixed(values[row][column] / 10_000, 4);
}

/**
 * The corners of a square of numbers on a matrix.
 * @param {Plate} plate
 * @param {number} row
 * @param {number} column
 * @returns {Point[]}
 */
export function square({ x, y, z, h }, row, column) {
  const [left, right, front, back] = [x + column, x + column + 1, z + row, z + row + 1];
  return [
    [left, y + h, front],
    [right, y + h, front],
    [right, y + h, back],
    [left, y + h, back],
  ];
}

/**
 * @param {Building} hut
 * @param {Camera} camera
 * @param {Look} look
 * @param {number[][]} [values]
 * @returns {{faces: Face[], written: Written[]}}
 */
export function cells(hut, camera, look, values = []) {
  /** @type {Face[]} */
  const faces = [];
  /** @type {Written[]} */
  const written = [];
  const plate = opened(hut);
  const middle = square(plate, CELL[0], CELL[1])[0];
  const there = project(camera, ...middle);
  const px = there ? camera.focal / there[2] : 0;
  const alpha = share(px, SEEN);
  if (!alpha || !values.length || camera.eye[1] < middle[1]) return { faces, written };
  const most = Math.max(...values.flat().map(Math.abs));
  const dark = css(shade(look.attn, 0.34), look.mist, 0);
  values.forEach((row, r) =>
    row.forEach((value, c) => {
      const points = outline(camera, square(plate, r, c));
      if (points.length !== 8 || away(points, camera)) return;
      const light = 0.82 + 0.75 * (value / most);
      const there = Math.min(1, (values.length - Math.max(r, c)) / FADES);
      const fill = css(shade(look.attn, light), look.mist, 0);
      faces.push({ points, fill, edge: dark, alpha: alpha * there });
      const [x, y, u, v, , , s, t] = points;
      const read = share((Math.hypot(u - x, v - y) + Math.hypot(s - x, t - y)) / 2, READ);
      if (!read) return;
      const k = HIGH / LETTERS;
      const [across, up] = [
        [u - x, v - y],
        [s - x, t - y],
      ].map((side) => side.map((one) => one * k));
      const [e, f] = [(u + s) / 2, (v + t) / 2]; // the middle of the square
      const matrix = [across[0], across[1], -up[0], -up[1], e, f];
      written.push({ words: valueOf(values, r, c), matrix, alpha: read });
    }),
  );
  return { faces, written };
}

/** @param {number[]} points @param {Camera} camera */
function away(points, { width, height }) {
  const [xs, ys] = [0, 1].map((odd) => points.filter((_, i) => i % 2 === odd));
  return (
    Math.max(...xs) < 0 ||
    Math.min(...xs) > width ||
    Math.max(...ys) < 0 ||
    Math.min(...ys) > height
  );
}
