// What stands in space for each token: its lane, the units of each MLP; and blocks, and what comes next.

import {
  BoxGeometry,
  Color,
  DoubleSide,
  Group,
  InstancedBufferAttribute,
  InstancedMesh,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  PlaneGeometry,
  ShaderMaterial,
} from "three";
import { meaning, stagePaths } from "../flow/pass.mjs";
import { SCREEN } from "./bands.mjs";
import { colours, mixed, scaled, vectors } from "./numbers.mjs";
import { BAR, DEEP, WING } from "./plan.mjs";
import * as shaders from "./shaders.mjs";

/** @import { BufferGeometry } from "three" */
/** @import { Pass } from "../flow/pass.mjs" */
/** @import { Ink } from "./numbers.mjs" */
/** @import { Plan } from "./plan.mjs" */
/** @typedef {Record<string, Ink>} Look */
/** @typedef {{front: {value: number}}} Shared  uniforms of all of them: how far a pass has come, along x */
/** @typedef {{plan: Plan, pass: Pass, look: Look, shared: Shared, at: number, cut: string[]}} Given */

export const THICK = 9; // of a lane
const FULL = 2.2; // root mean squares that have the full colour
const FEW = 5; // tokens whose MLPs are seen through each other
const ACTIVE = 1.5; // of a unit, with the full light
const BAR_SIZE = [40, DEEP / 2]; // along y and z
const LIGHT = [0.75, 0.5, 1.15, 0.4, 0.9, 0.4]; // of a bar's sides

/**
 * One of them for each token.
 * @param {Plan} plan
 * @param {BufferGeometry} shape
 * @param {ShaderMaterial} material
 * @param {number} x  of the middle
 */
function each(plan, shape, material, x) {
  const tokens = Float32Array.from({ length: plan.T }, (_, t) => t);
  shape.setAttribute("token", new InstancedBufferAttribute(tokens, 1));
  const mesh = new InstancedMesh(shape, material, plan.T);
  tokens.forEach((t) => mesh.setMatrixAt(t, new Matrix4().makeTranslation(x, plan.y(t), 0)));
  mesh.frustumCulled = false;
  return mesh;
}

/**
 * The stream at all stages: vectors of all tokens, each in units of its own root mean square.
 * @param {Pass} pass
 * @param {Plan} plan
 */
export function stream({ tensor }, { nLayer, C }) {
  if (!tensor?.("embd")) return null;
  const all = stagePaths(nLayer).map((path) => tensor(path).values);
  const rows = all.flatMap((values) =>
    Array.from({ length: values.length / C }, (_, t) =>
      scaled(values.subarray(t * C, (t + 1) * C)),
    ),
  );
  const numbers = new Float32Array(rows.length * C);
  rows.forEach((row, i) => numbers.set(row, i * C));
  return numbers;
}

/** @param {Given} given */
export function lanes({ plan, pass, look, shared, at }) {
  const { T, C, stops } = plan;
  const [from, to] = plan.lanes;
  const numbers = stream(pass, plan);
  const inks = Array.from({ length: T }, (_, t) =>
    stops.map((_, s) => {
      const { strength, side } = meaning(pass.lens[s]?.[t] ?? null, pass);
      const sense = side === null ? look.winner : mixed(look.machine, look.bird, side);
      return mixed(look.stream, sense, strength);
    }),
  ).flat();
  const material = new ShaderMaterial({
    defines: { STAGES: stops.length },
    vertexShader: shaders.TOKEN_VERTEX,
    fragmentShader: shaders.LANE_FRAGMENT,
    uniforms: {
      ...shared,
      values: { value: vectors(numbers ?? [0], numbers ? C : 1, FULL) },
      colours: { value: colours(inks, stops.length, T) },
      stops: { value: stops.map((depth) => plan.x(depth)) },
      numbers: { value: C },
      tokens: { value: T },
      chosen: { value: at },
      deep: { value: DEEP },
      known: { value: numbers ? 1 : 0 },
      minus: { value: look.minus },
    },
  });
  const thick = Math.min(THICK, plan.apart / 2);
  const mesh = each(plan, new BoxGeometry(to - from, thick, DEEP), material, (from + to) / 2);
  mesh.userData = { kind: "lane" };
  return mesh;
}

/** The units of all MLPs. @param {Given} given */
export function wings({ plan, pass, look, shared, at }) {
  const { T, nLayer, F, wide } = plan;
  const group = new Group();
  for (let block = 0; block < nLayer; block++) {
    const noted = pass.tensor?.(`transformer.h.${block}.mlp.act`);
    if (!noted) continue;
    const [x0, x1] = WING.map((part) => plan.x(block + 1 + part));
    const plane = new PlaneGeometry(x1 - x0, wide);
    plane.rotateX(-Math.PI / 2);
    const material = new ShaderMaterial({
      vertexShader: shaders.TOKEN_VERTEX,
      fragmentShader: shaders.WING_FRAGMENT,
      uniforms: {
        ...shared,
        values: { value: vectors(noted.values.subarray(0, T * F), F, ACTIVE) },
        tint: { value: look.stream },
        units: { value: F },
        wide: { value: wide },
        chosen: { value: at },
        others: { value: Math.min(0.6, FEW / T) }, // their light adds up
      },
      ...SCREEN,
    });
    const mesh = each(plan, plane, material, (x0 + x1) / 2);
    mesh.userData = { kind: "wing", block };
    group.add(mesh);
  }
  return group;
}

/** What the blocks stand on. @param {Given} given */
export function floors({ plan, shared }) {
  const wide = plan.wide + 50;
  const group = new Group();
  for (let block = 0; block < plan.nLayer; block++) {
    const [x0, x1] = [block + 1.012, block + 1.988].map((depth) => plan.x(depth));
    const plane = new PlaneGeometry(x1 - x0, wide);
    plane.rotateX(-Math.PI / 2);
    const material = new ShaderMaterial({
      vertexShader: shaders.FLAT_VERTEX,
      fragmentShader: shaders.FLOOR_FRAGMENT,
      uniforms: {
        ...shared,
        size: { value: [x1 - x0, wide] },
        lanes: { value: DEEP },
        on: { value: 0 },
      },
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
    });
    const mesh = new Mesh(plane, material);
    mesh.position.set((x0 + x1) / 2, plan.floor, 0);
    mesh.renderOrder = -1;
    mesh.userData = { kind: "floor", block };
    group.add(mesh);
  }
  return group;
}

/** What comes next: a bar for each word, as long as it is likely. @param {Given} given */
export function bars({ plan, pass, look }) {
  const group = new Group();
  pass.next.forEach(({ p, sense }, i) => {
    const long = Math.max(2, p * BAR);
    const ink = new Color(...look[sense ?? "winner"]).multiplyScalar(i ? 0.7 : 1);
    const sides = LIGHT.map((light) => {
      return new MeshBasicMaterial({ color: ink.clone().multiplyScalar(light) });
    });
    const mesh = new Mesh(new BoxGeometry(long, BAR_SIZE[0] * plan.grown, BAR_SIZE[1]), sides);
    mesh.position.set(plan.answer + long / 2, plan.bar(i, pass.next.length), 0);
    mesh.userData = { kind: "bar", nth: i };
    group.add(mesh);
  });
  return group;
}
