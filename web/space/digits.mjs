// Numbers, written on their squares once a reader is near enough to read them.

import { Vector3 } from "three";
import { CSS2DObject } from "three/addons/renderers/CSS2DRenderer.js";
import { fixed, make } from "../exhibits/dom.mjs";
import { stagePaths } from "../flow/pass.mjs";
import { MOST } from "./panes.mjs";
import { WING } from "./plan.mjs";

/** @import { Intersection, Object3D, Scene } from "three" */
/** @import { Pass } from "../flow/pass.mjs" */
/** @import { Camera } from "./camera.mjs" */
/** @import { Plan } from "./plan.mjs" */
/** @typedef {{where: Vector3, value: number}} Written */

const LARGE = 26; // px of a square that has room for a number
const DIGITS = 3.4; // of a number that are as wide as their square
const LINE = 1.3;
const [LEAST_PX, MOST_PX] = [8, 17]; // of a digit
const AROUND = [9, 12]; // squares to each side of the middle one: across and along

/**
 * The squares around a point, with their numbers.
 * @param {Intersection} hit
 * @param {{plan: Plan, pass: Pass}} given
 * @returns {Written[]}
 */
export function near({ object, point, instanceId: t = 0 }, { plan, pass }) {
  const { kind, block, pane, weights } = object.userData;
  const { cell } = plan;
  const around = (
    /** @type {number} */ middle,
    /** @type {number} */ many,
    /** @type {number} */ by,
  ) => {
    const [from, to] = [Math.max(0, middle - by), Math.min(many - 1, middle + by)];
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
  };
  if (kind === "pane" && weights) {
    const [high, wide] = [pane.rows, pane.columns].map(([a, b]) => b - a);
    if (Math.max(high, wide) > MOST) return []; // not every number is there
    const [dy, dz] = pane.shift;
    const row = Math.floor((dy + (high * cell) / 2 - point.y) / cell);
    const column = Math.floor((dz + (wide * cell) / 2 - point.z) / cell);
    return around(row, high, AROUND[0]).flatMap((i) =>
      around(column, wide, AROUND[1]).map((j) => ({
        where: new Vector3(
          point.x,
          dy + ((high - 1) / 2 - i) * cell,
          dz + ((wide - 1) / 2 - j) * cell,
        ),
        value: weights[i * wide + j],
      })),
    );
  }
  const strips = (
    /** @type {ArrayLike<number>} */ values,
    /** @type {number} */ many,
    /** @type {number} */ x,
  ) =>
    around(plan.number(point.z, many), many, 2 * AROUND[1]).map((i) => ({
      where: new Vector3(x, point.y, ((many - 1) / 2 - i) * cell),
      value: values[t * many + i],
    }));
  if (kind === "wing") {
    const noted = pass.tensor?.(`transformer.h.${block}.mlp.act`);
    const [x0, x1] = WING.map((part) => plan.x(block + 1 + part));
    return noted ? strips(noted.values, plan.F, Math.max(x0 + 6, Math.min(x1 - 6, point.x))) : [];
  }
  if (kind === "lane" && pass.tensor) {
    const { values } = pass.tensor(stagePaths(plan.nLayer)[plan.stage(point.x)]);
    return strips(values, plan.C, point.x);
  }
  return [];
}

export class Digits {
  /** @param {Scene} scene */
  constructor(scene) {
    this.scene = scene;
    /** @type {CSS2DObject[]} */
    this.all = [];
  }

  clear() {
    for (const one of this.all) {
      one.element.remove();
      this.scene.remove(one);
    }
    this.all = [];
  }

  /**
   * @param {Intersection | null} hit  what is in the middle of the picture
   * @param {{plan: Plan, pass: Pass}} given
   * @param {Camera} camera
   */
  set(hit, given, camera) {
    this.clear();
    const { cell } = given.plan;
    if (!hit || camera.px(hit.point, cell) < LARGE) return;
    const flat = hit.object.userData.kind !== "pane"; // squares that lie
    const beside = new Vector3(0, 0, cell);
    const below = flat ? new Vector3(cell, 0, 0) : new Vector3(0, cell, 0);
    this.all = near(hit, given).flatMap(({ where, value }) => {
      const [wide, high] = [beside, below].map((by) => camera.apart(where, by));
      const size = Math.min(MOST_PX, wide / DIGITS, high / LINE);
      if (size < LEAST_PX) return [];
      const style = `font-size:${size.toFixed(1)}px`;
      const one = new CSS2DObject(make("span", { class: "space-digit", style }, fixed(value, 2)));
      one.position.copy(where);
      return one;
    });
    if (this.all.length) this.scene.add(.../** @type {Object3D[]} */ (this.all));
  }
}
