// Weights in space: each matrix is a pane of glass that every token passes through. Inputs lie along z,
// as the numbers of a vector do, and outputs along y, the first above.

import { DoubleSide, Mesh, PlaneGeometry, ShaderMaterial } from "three";
import { matrix, scaled } from "./numbers.mjs";
import { DEEP, PANES } from "./plan.mjs";
import * as shaders from "./shaders.mjs";

/** @import { Place } from "../flow/place.mjs" */
/** @import { Plan } from "./plan.mjs" */
/** @import { Given } from "./things.mjs" */
/**
 * `shift`: along y and z; `name`: as in the code
 * @typedef {{module: string, name: string, depth: number, rows: number[], columns: number[], ink: string,
 *   shift: number[], place: Place | null}} Pane
 */

export const MOST = 512; // rows and columns that are fetched: of larger matrices so many, evenly spread
const TALLEST = 512; // rows of a table above each other
const FULL = 2.5; // root mean squares that have the full colour
const TABLE = 4096; // rows: a larger one has no place

/**
 * @param {Plan} plan
 * @returns {Pane[]}
 */
export function panesOf({ nLayer, C, F, V, cell, llama }) {
  if (llama) return [];
  const many = V > TABLE ? 0 : Math.ceil(V / TALLEST);
  const high = Math.ceil(V / many);
  const table = (/** @type {number} */ depth, /** @type {Place | null} */ place) =>
    Array.from({ length: many }, (_, i) => ({
      ...{ module: "transformer.wte", name: "wte", depth, ink: "plain", columns: [0, C], place },
      rows: [i * high, Math.min(V, (i + 1) * high)],
      shift: [0, ((many - 1) / 2 - i) * (DEEP + 6)],
    }));
  const blocks = Array.from({ length: nLayer }, (_, block) => {
    const [h, at] = [`transformer.h.${block}.`, block + 1];
    const whole = { ink: "plain", shift: [0, 0], columns: [0, C] };
    const roles = ["q", "k", "v"].map((role, i) => ({
      ...{ ...whole, module: `${h}attn.c_attn`, name: `${role} of c_attn`, ink: role },
      ...{ depth: at + PANES.attn, rows: [i * C, (i + 1) * C] },
      ...{ shift: [(1 - i) * (C * cell + 4), 0], place: { block, head: 0, weight: role } },
    }));
    const back = { block, head: 0, weight: "c_proj" };
    const [wider, narrower] = ["c_fc", "c_proj"].map((weight) => ({ block, mlp: true, weight }));
    return [
      ...roles,
      {
        ...{ ...whole, module: `${h}attn.c_proj`, name: "attention’s c_proj", ink: "v" },
        ...{ depth: at + PANES.attnBack, rows: [0, C], place: back },
      },
      {
        ...{ ...whole, module: `${h}mlp.c_fc`, name: "c_fc", depth: at + PANES.mlp },
        ...{ rows: [0, F], place: wider },
      },
      {
        ...{
          ...whole,
          module: `${h}mlp.c_proj`,
          name: "the MLP’s c_proj",
          depth: at + PANES.mlpBack,
        },
        ...{ rows: [0, C], columns: [0, F], place: narrower },
      },
    ];
  });
  return [
    ...table(PANES.first, null),
    ...blocks.flat(),
    ...table(nLayer + 1 + PANES.last, { block: nLayer, weight: "wte" }),
  ];
}

/**
 * @param {Given} given
 * @param {Pane} of
 */
export function pane({ plan, look, shared }, of) {
  const { rows, columns, depth, ink, shift } = of;
  const [outputs, inputs] = [rows, columns].map(([a, b]) => b - a);
  const plane = new PlaneGeometry(inputs * plan.cell, outputs * plan.cell);
  plane.rotateY(Math.PI / 2);
  const material = new ShaderMaterial({
    vertexShader: shaders.FLAT_VERTEX,
    fragmentShader: shaders.PANE_FRAGMENT,
    uniforms: {
      ...shared,
      values: { value: matrix([0], 1, 1, 1) },
      size: { value: [inputs, outputs] },
      plus: { value: look[ink] },
      minus: { value: look.minus },
      known: { value: 0 },
      on: { value: 0 },
    },
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
  });
  const mesh = new Mesh(plane, material);
  mesh.position.set(plan.x(depth), shift[0], shift[1]);
  mesh.renderOrder = 1;
  mesh.userData = { kind: "pane", pane: of, weights: null };
  return mesh;
}

/** Rows of a picture from the bottom up, as a texture has them. @param {Float32Array} values @param {number} width */
function turned(values, width) {
  const all = new Float32Array(values.length);
  for (let i = 0; i < values.length; i += width) {
    all.set(values.subarray(i, i + width), values.length - width - i);
  }
  return all;
}

/** What is in it, once that is there. @param {Mesh} mesh @param {Float32Array} weights */
export function fill(mesh, weights) {
  const { columns } = mesh.userData.pane;
  const width = Math.min(MOST, columns[1] - columns[0]);
  const { uniforms } = /** @type {ShaderMaterial} */ (mesh.material);
  uniforms.values.value = matrix(
    scaled(turned(weights, width)),
    width,
    weights.length / width,
    FULL,
  );
  uniforms.known.value = 1;
  mesh.userData.weights = weights;
}

/**
 * The weight at a place of a pane.
 * @param {Mesh} mesh
 * @param {{x: number, y: number}} uv  0 to 1, from the bottom
 * @returns {{row: number, column: number, value: number | null}}
 */
export function weightAt({ userData: { pane, weights } }, { x, y }) {
  const [high, wide] = [pane.rows, pane.columns].map(([a, b]) => b - a);
  const [rows, columns] = [high, wide].map((n) => Math.min(MOST, n));
  const [i, j] = [
    [1 - y, rows],
    [x, columns],
  ].map(([share, n]) => Math.max(0, Math.min(n - 1, Math.floor(share * n))));
  const spread = (
    /** @type {number} */ nth,
    /** @type {number} */ of,
    /** @type {number} */ from,
  ) => from + Math.floor((nth * of) / Math.min(MOST, of));
  return {
    row: spread(i, high, pane.rows[0]),
    column: spread(j, wide, pane.columns[0]),
    value: weights ? weights[i * columns + j] : null,
  };
}
