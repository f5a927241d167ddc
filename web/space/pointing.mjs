// What a point in space is: in words, and where a click on it leads.

import { bare, fixed } from "../exhibits/dom.mjs";
import { share, stageName, stagePaths } from "../flow/pass.mjs";
import { weightAt } from "./panes.mjs";

/** @import { Intersection } from "three" */
/** @import { Pass } from "../flow/pass.mjs" */
/** @import { Place } from "../flow/place.mjs" */
/** @import { Plan } from "./plan.mjs" */
/** @typedef {{words: string[], go?: Place, pick?: number, append?: {id: number, rest?: string}, does: string}} Told  lines; `go`,
 *   `pick`, `append`: what a click does, which `does` says */

const named = (/** @type {string} */ token) => `“${bare(token)}”`;

/**
 * @param {Intersection} hit
 * @param {{plan: Plan, pass: Pass, at: number}} given
 * @returns {Told | null}
 */
export function told({ object, point, uv, instanceId: t = 0, faceIndex }, given) {
  const { kind, block } = object.userData;
  const { pass, plan } = given;
  const open = pass.only ? "" : "open it"; // of what is stored there is no more
  if (kind === "lane") return lane(t, point, given);
  if (kind === "band") {
    const { of, each } = object.userData;
    const { block, head, query, key, weight } = of[Math.floor(Number(faceIndex) / each)];
    const [takes, gives] = [query, key].map((n) => named(pass.tokens[n]));
    const words = [`Head ${block}.${head}: ${takes} takes ${fixed(weight, 2)} from ${gives}`];
    return { words, go: { block, head }, does: "open the head" };
  }
  if (kind === "wing") {
    const unit = plan.number(point.z, plan.F);
    const value = pass.tensor?.(`transformer.h.${block}.mlp.act`).values[t * plan.F + unit] ?? 0;
    const words = [
      `Unit ${unit} of ${plan.F} in the MLP of block ${block}`,
      `at ${named(pass.tokens[t])}: ${fixed(value, 2)}`,
    ];
    return { words, go: { block, mlp: true, unit }, does: open };
  }
  if (kind === "pane") {
    const { pane } = object.userData;
    const { row, column, value } = weightAt(/** @type {any} */ (object), /** @type {any} */ (uv));
    const of = pane.place?.block < plan.nLayer ? ` of block ${pane.place.block}` : "";
    const size = [pane.rows, pane.columns].map(([a, b]) => b - a).join(" × ");
    const table =
      pane.name === "wte"
        ? `token ${row}, number ${column}`
        : `from input ${column} to output ${row - pane.rows[0]}`;
    const first = `${pane.name}${of}: ${size} weights`;
    if (value === null) return { words: [first], does: "" };
    const words = [first, `${table}: ${fixed(value, 3)}`];
    const go = pane.place && { ...pane.place, token: given.at };
    return go ? { words, go, does: open } : { words, does: "" };
  }
  if (kind === "bar") {
    const { id, name, p, rest = "" } = pass.next[object.userData.nth];
    const words = [`“${bare(name + rest)}” with the probability ${share(p)}`];
    return pass.only ? { words, does: "" } : { words, append: { id, rest }, does: "append it" };
  }
  if (kind === "floor") return { words: [`Block ${block}`], go: { block }, does: "open it" };
  return null;
}

/**
 * @param {number} t
 * @param {{x: number, z: number}} point
 * @param {{plan: Plan, pass: Pass, at: number}} given
 * @returns {Told}
 */
function lane(t, { x, z }, { plan, pass, at }) {
  const stage = plan.stage(x);
  const [number, path] = [plan.number(z), stagePaths(plan.nLayer)[stage]];
  const said = pass.lens[stage]?.[t];
  const would = said ? `; it would say ${named(said.name)} (${share(said.p)})` : "";
  const words = [`${named(pass.tokens[t])} after ${stageName(stage)}${would}`];
  if (pass.tensor) {
    const value = pass.tensor(path).values[t * plan.C + number];
    words.push(`number ${number} of ${plan.C}: ${fixed(value, 2)}`);
  }
  return t === at ? { words, does: "" } : { words, pick: t, does: "follow this token" };
}
