// What a camera sees of the buildings: flat faces, the farthest first, each with its light. A face is
// drawn over those before it, which is right because planes part the buildings, floors and plates.

import { corners, outline, seen } from "./camera.mjs";

/** @import { Camera, Point } from "./camera.mjs" */
/** @import { Building, Plate, Solid } from "./world.mjs" */
/** @typedef {[number, number, number]} Colour */
/** @typedef {{attn: Colour, mlp: Colour, table: Colour, vectors: Colour, light: Colour,
 *   mist: Colour}} Look */
/** @typedef {{points: number[], fill: string, edge?: string, alpha?: number, plate?: Plate,
 *   of?: Building}} Face */
/** @typedef {"top" | "bottom" | "left" | "right" | "front" | "back"} Side */

/** @type {Record<Side, number[]>} */
const SIDES = {
  left: [0, 4, 6, 2],
  right: [1, 3, 7, 5],
  front: [0, 2, 3, 1],
  back: [4, 5, 7, 6],
  bottom: [0, 1, 5, 4],
  top: [2, 6, 7, 3],
};
/** The light comes from above, on the left. @type {Record<Side, number>} */
const LIGHT = { top: 1.22, left: 0.96, front: 0.66, back: 0.42, right: 0.4, bottom: 0.2 };
/** Between floors. @type {Record<Side, number>} */
const WITHIN = { left: 0.66, front: 0.5, right: 0.3, back: 0.3, top: 0, bottom: 0 };
const LOW = 1.5; // px of a floor, below which floors are not told apart
const SMALL = 0.6; // px of a building that is not drawn
const INSET = 0.09; // of the light between floors, in widths of the model

/**
 * @param {Building[]} world
 * @param {Camera} camera
 * @param {Look} look
 * @param {Plate | null} chosen
 * @returns {Face[]}
 */
export function faces(world, camera, look, chosen) {
  /** @type {Face[]} */
  const all = [];
  for (const one of ordered(world, "x", "w", camera.eye[0])) {
    const alpha = presence(one, camera);
    if (alpha > 0.01) building(one, camera, look, chosen, alpha, all);
  }
  return all;
}

/**
 * Things in a row, those first that can cover none of the others.
 * @template {Solid} T
 * @param {T[]} things  in their order along the axis
 * @param {"x" | "y" | "z"} from
 * @param {"w" | "h" | "d"} side
 * @param {number} eye
 * @returns {T[]}
 */
export function ordered(things, from, side, eye) {
  const before = things.filter((one) => one[from] + one[side] / 2 <= eye);
  return [...before, ...things.slice(before.length).reverse()];
}

/**
 * A larger building goes away where the camera comes behind its wall.
 * @param {Building} one
 * @param {Camera} camera
 */
export function presence({ x, nth }, { eye, distance, zoom }) {
  const beside = Math.max(0, (x - eye[0]) / (0.25 * distance));
  const near = 1 - (nth - zoom - 0.3) / 0.4; // it is what is looked at, or smaller
  return Math.min(1, Math.max(beside, near));
}

/**
 * @param {Building} one
 * @param {Camera} camera
 * @param {Look} look
 * @param {Plate | null} chosen
 * @param {number} alpha
 * @param {Face[]} all
 */
function building(one, camera, look, chosen, alpha, all) {
  const { eye, focal } = camera;
  const depth = Math.max(camera.near, nearest(one, camera));
  const px = (one.pitch * focal) / depth;
  if (px * one.floors.length < SMALL) return;
  const haze = 1 - Math.exp(-Math.max(0, depth / camera.distance - 0.9) * 0.42);
  const painter = { camera, look, alpha, haze, of: one, all, chosen, px };
  if (px < LOW) {
    for (const plate of [...one.floors[0], ...rows(columns(one), eye)])
      solid(plate, plate, 1, painter);
    return;
  }
  for (const { plates, lit, nth } of ordered(storeys(one), "y", "h", eye[1])) {
    const height = 0.68 + 0.32 * (nth / one.model.blocks);
    if (lit) solid(lit, null, height, painter, WITHIN);
    else rows(plates, eye).forEach((plate) => solid(plate, plate, height, painter));
    const { y, h } = one.floors[0][0];
    if (!lit && !nth && eye[1] > y + h) contact(one, y + h, painter);
  }
}

/**
 * From the ground to the roof, with the light between floors.
 * @param {Building} one
 */
function storeys({ floors, core, pitch, model }) {
  const inset = INSET * model.width;
  const [x, z, w, d] = [core.x + inset, core.z + inset, core.w - 2 * inset, core.d - 2 * inset];
  return floors.flatMap((plates, nth) => {
    const [{ y, h }] = plates;
    const lit = { x, y: y + h, z, w, h: pitch - h, d };
    const floor = { ...plates[0], plates, nth, lit: /** @type {Solid | null} */ (null) };
    return nth && nth < model.blocks ? [floor, { ...lit, plates, nth, lit }] : [floor];
  });
}

/**
 * The plates of a floor: strips side by side, in the first one plate behind the other.
 * @param {Plate[]} plates
 * @param {Point} eye
 */
function rows(plates, eye) {
  /** @type {Plate[][]} */
  const strips = [];
  for (const plate of plates) {
    if (strips.at(-1)?.[0].x === plate.x) strips.at(-1)?.push(plate);
    else strips.push([plate]);
  }
  const all = strips.map((strip) => ({ ...strip[0], strip }));
  return ordered(all, "x", "w", eye[0]).flatMap(({ strip }) => ordered(strip, "z", "d", eye[2]));
}

/**
 * The floors of a building that is far away, as one.
 * @param {Building} one
 */
function columns({ floors, core }) {
  return floors[1].map((plate) => ({ ...plate, y: core.y, h: core.h }));
}

/**
 * Where a building stands on its ground floor it is dark.
 * @param {Building} one
 * @param {number} y
 * @param {any} painter
 */
function contact({ core, model }, y, { camera, alpha, all }) {
  for (const [by, dark] of [
    [0.16, 0.14],
    [0.08, 0.2],
    [0.03, 0.3],
  ]) {
    const wide = by * model.width;
    const { x, z, w, d } = core;
    const [left, right, front, back] = [x - wide, x + w + 3 * wide, z - wide, z + d + wide];
    const points = outline(camera, [
      [left, y, front],
      [right, y, front],
      [right, y, back],
      [left, y, back],
    ]);
    if (points.length >= 6) all.push({ points, fill: "rgb(3 5 8)", alpha: dark * alpha });
  }
}

/**
 * @param {Solid} body
 * @param {Plate | null} plate
 * @param {number} height
 * @param {any} painter
 * @param {Record<Side, number>} [light]
 */
function solid(body, plate, height, painter, light = LIGHT) {
  const { camera, look, haze, alpha, of, all, chosen, px } = painter;
  const [ex, ey, ez] = camera.eye;
  const { x, y, z, w, h, d } = body;
  if (plate?.kind === "vectors" && (w * camera.focal) / camera.distance < 0.4) return;
  /** @type {[Side, boolean][]} */
  const facing = [
    ["left", ex < x],
    ["right", ex > x + w],
    ["front", ez < z],
    ["back", ez > z + d],
    ["bottom", ey < y],
    ["top", ey > y + h],
  ];
  const base = plate ? look[/** @type {keyof Look} */ (plate.kind)] : look.light;
  const at = corners(body);
  const on = plate && chosen === plate;
  for (const [side, seen] of facing) {
    if (!seen || !light[side]) continue;
    const points = outline(
      camera,
      SIDES[side].map((i) => at[i]),
    );
    if (points.length < 6 || outside(points, camera)) continue;
    const tone = plate?.name === "attn.c_proj" ? 0.86 : 1;
    const fill = css(shade(base, light[side] * height * tone * (on ? 1.5 : 1)), look.mist, haze);
    const edge =
      plate && px > 9 && side === "top" ? css(shade(base, 1.5 * height), look.mist, haze) : "";
    all.push({ points, fill, edge, alpha, plate: plate ?? undefined, of });
  }
}

/** @param {number[]} points @param {Camera} camera */
function outside(points, { width, height }) {
  let [left, right, above, below] = [true, true, true, true];
  for (let i = 0; i < points.length; i += 2) {
    left &&= points[i] < 0;
    right &&= points[i] > width;
    above &&= points[i + 1] < 0;
    below &&= points[i + 1] > height;
  }
  return left || right || above || below;
}

/** @param {Colour} colour @param {number} light @returns {Colour} */
export function shade([r, g, b], light) {
  if (light <= 1) return [r * light, g * light, b * light];
  const t = Math.min(1, (light - 1) * 0.62); // towards white
  return [r + t * (255 - r), g + t * (255 - g), b + t * (255 - b)];
}

/**
 * @param {Colour} colour
 * @param {Colour} mist
 * @param {number} share  of the mist
 */
export function css([r, g, b], mist, share) {
  const mixed = [r, g, b].map((value, i) => Math.round(value + share * (mist[i] - value)));
  return `rgb(${mixed.join(" ")})`;
}

/** @param {Building} one @param {Camera} camera */
export function nearest(one, camera) {
  return Math.min(...corners(one).map((corner) => seen(camera, ...corner)[2]));
}

/**
 * The shadows on the ground, and a building's own light on it.
 * @param {Building} one
 * @param {Camera} camera
 * @returns {number[]}
 */
export function shadow({ core, h }, camera) {
  const { x, z, w, d } = core;
  const [dx, dz] = [0.62 * h, 0.22 * h];
  return outline(camera, [
    [x, 0, z],
    [x + w, 0, z],
    [x + w + dx, 0, z + dz],
    [x + w + dx, 0, z + d + dz],
    [x + dx, 0, z + d + dz],
    [x, 0, z + d],
  ]);
}
