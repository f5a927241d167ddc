// Attention in space: each weight is a band from the token that gives to the one that takes.

import {
  AddEquation,
  BufferGeometry,
  CustomBlending,
  DoubleSide,
  Float32BufferAttribute,
  Mesh,
  OneFactor,
  OneMinusSrcColorFactor,
  ShaderMaterial,
} from "three";
import { DEEP, GATHER } from "./plan.mjs";
import * as shaders from "./shaders.mjs";

/** @import { Given } from "./things.mjs" */
/** @typedef {{block: number, head: number, query: number, key: number, weight: number}} Weight */

/** Light on light gets lighter, but never white. */
export const SCREEN = /** @type {const} */ ({
  transparent: true,
  depthWrite: false,
  side: DoubleSide,
  blending: CustomBlending,
  blendEquation: AddEquation,
  blendSrc: OneFactor,
  blendDst: OneMinusSrcColorFactor,
});
const LEAST = 0.02; // a weight below this is not drawn
const MOST = 2400; // bands
const THIN = 0.5; // of half a band, at least: its width is the weight's part of the head's numbers
const SINK = 0.25; // of the light of what rests on the first token, in a model of many blocks
const STEPS = 28; // of a band
const OUT = 14; // how far bands pass in front of the lanes, each head further out

/**
 * The weights that are drawn: those of the chosen token, and the largest of the others.
 * @param {Pick<Given, "pass" | "plan" | "at" | "cut">} given
 * @returns {Weight[]}
 */
export function drawn({ plan, pass, at, cut }) {
  const { T, nLayer, nHead } = plan;
  /** @type {Weight[]} */
  const all = [];
  for (let block = 0; block < nLayer; block++) {
    for (let head = 0; head < nHead; head++) {
      if (cut.includes(`${block}.${head}`)) continue;
      const weights = pass.weights[block][head];
      for (let query = 0; query < T; query++) {
        for (let key = 0; key <= query; key++) {
          const weight = weights[query * T + key];
          if (weight >= LEAST) all.push({ block, head, query, key, weight });
        }
      }
    }
  }
  if (all.length <= MOST) return all;
  const [own, others] = [
    all.filter((one) => one.query === at),
    all.filter((one) => one.query !== at),
  ];
  return [...own, ...others.sort((a, b) => b.weight - a.weight).slice(0, MOST - own.length)];
}

/** @param {Given} given */
export function bands(given) {
  const { plan, look, shared, at } = given;
  const of = drawn(given);
  /** @type {Record<"position" | "tint" | "strength" | "nth", number[]>} */
  const all = { position: [], tint: [], strength: [], nth: [] };
  /** @type {number[]} */
  const index = [];
  const many = of.length > MOST / 4 ? 0.5 : 1; // they lie on each other
  of.forEach(({ block, head, query, key, weight }, nth) => {
    const [x0, x1] = GATHER.map((part) => plan.x(block + 1 + part));
    const sink = plan.nLayer > 4 && !key ? SINK : 1; // as in the flat picture
    const strength = sink * (query === at ? 0.25 + 0.7 * weight : many * (0.03 + 0.15 * weight));
    const half = Math.max(THIN, (DEEP * weight) / plan.nHead / 2);
    const [y0, y1, z] = [plan.y(key), plan.y(query), plan.z(head)];
    const bow = DEEP / 2 - z + OUT * (1 + (head % 12));
    for (let i = 0; i <= STEPS; i++) {
      const u = i / STEPS;
      const out = Math.sin(Math.PI * u); // it leaves in its head's numbers, and turns to the front
      const [up, across] = [Math.sin, Math.cos].map((of) => half * of((out * Math.PI) / 2));
      const y = y0 + (y1 - y0) * u * u * (3 - 2 * u);
      for (const side of [-1, 1]) {
        all.position.push(x0 + (x1 - x0) * u, y + side * up, z + bow * out + side * across);
        all.tint.push(...look[`h${head % 4}`]);
        all.strength.push(strength);
        all.nth.push(nth);
      }
      const a = 2 * (nth * (STEPS + 1) + i);
      if (i < STEPS) index.push(a, a + 1, a + 2, a + 1, a + 3, a + 2);
    }
  });
  const geometry = new BufferGeometry();
  for (const [name, values] of Object.entries(all)) {
    const size = name === "position" || name === "tint" ? 3 : 1;
    geometry.setAttribute(name, new Float32BufferAttribute(values, size));
  }
  geometry.setIndex(index);
  const material = new ShaderMaterial({
    vertexShader: shaders.BAND_VERTEX,
    fragmentShader: shaders.BAND_FRAGMENT,
    uniforms: { ...shared, chosen: { value: -1 } },
    ...SCREEN,
  });
  const mesh = new Mesh(geometry, material);
  mesh.renderOrder = 2;
  mesh.userData = { kind: "band", of, each: 2 * STEPS };
  return mesh;
}
