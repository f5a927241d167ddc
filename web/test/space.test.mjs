// The pass in space: whatever is drawn there, pointed at or written there is a number of the tape or of
// the weights.

import { Vector3 } from "three";
import { beforeAll, expect, test } from "vitest";
import { fixed } from "../exhibits/dom.mjs";
import { sensesOf } from "../exhibits/crane_world.mjs";
import { stagePaths } from "../flow/pass.mjs";
import { readPass } from "../flow/read.mjs";
import { fromStored } from "../flow/stored.mjs";
import { bands, drawn } from "../space/bands.mjs";
import { between, Camera } from "../space/camera.mjs";
import { near } from "../space/digits.mjs";
import { fill, MOST, pane, panesOf, weightAt } from "../space/panes.mjs";
import { BAR, DEEP, Plan } from "../space/plan.mjs";
import { told } from "../space/pointing.mjs";
import { bars, lanes, stream, wings } from "../space/things.mjs";
import { fixture } from "./files.mjs";
import { pageModel } from "./page.mjs";

const TEXT = "In the marsh, the crane";
const GPT2 = { nEmbd: 768, vocabSize: 50257 };
const INKS = "bird machine winner stream h0 h1 h2 h3 q k v plain minus".split(" ");
const look = Object.fromEntries(INKS.map((name, i) => [name, [i / 13, 0.5, 1 - i / 13]]));
const shared = { front: { value: 1e6 } };
/** @type {any} */
let model, pass, plan, given;
beforeAll(async () => {
  model = await pageModel();
  const { ids } = await model.encode(TEXT, 128);
  pass = await readPass(model, { text: TEXT, ids, key: "space", senses: sensesOf(TEXT) });
  plan = new Plan(pass, model.loaded.config);
  given = { plan, pass, look, shared, at: ids.length - 1, cut: [] };
});

const rms = (values) => Math.sqrt(values.reduce((sum, one) => sum + one * one, 0) / values.length);

/** A texel of numbers, undone: red above zero, green below. */
function undone({ image }, i) {
  return (image.data[4 * i] - image.data[4 * i + 1]) / 255;
}

/** A pane with its weights. */
async function filled(of) {
  const mesh = pane(given, of);
  const { module, rows, columns } = of;
  const { weight } = await model.part({ module, rows, columns, most: MOST });
  fill(mesh, weight);
  return { mesh, weight };
}

test("the way through the model goes along x, and numbers lie side by side along z", () => {
  const depths = Array.from({ length: 51 }, (_, i) => plan.x(i / 10));
  expect(depths.every((x, i) => !i || x > depths[i - 1])).toBe(true);
  expect(depths.at(-1) - depths[0]).toBeCloseTo(plan.length);
  for (const number of [0, 1, 63, 127]) {
    expect(plan.number(DEEP / 2 - (number + 0.5) * plan.cell)).toBe(number);
  }
  const stages = plan.stops.map((depth) => plan.stage(plan.x(depth) + 1));
  expect(stages).toEqual([0, 1, 2, 3, 4, 5, 6]);
  // A head's part of a vector is where its numbers are.
  for (let head = 0; head < 4; head++) expect(plan.number(plan.z(head))).toBe(32 * head + 16);
});

test("each number of the stream is on its lane, at each stage", () => {
  const { values } = lanes(given).material.uniforms;
  const C = plan.C;
  stagePaths(3).forEach((path, s) => {
    const all = pass.tensor(path).values;
    for (let t = 0; t < plan.T; t++) {
      const vector = all.subarray(t * C, (t + 1) * C);
      const size = rms(vector);
      for (let i = 0; i < C; i++) {
        const shown = undone(values.value, (s * plan.T + t) * C + i);
        const true_ = Math.max(-1, Math.min(1, vector[i] / size / 2.2));
        expect(Math.abs(shown - true_)).toBeLessThan(1 / 250);
      }
    }
  });
  expect(stream({ ...pass, tensor: null }, plan)).toBeNull();
});

test("each unit of an MLP is on its wing", () => {
  wings(given).children.forEach(({ material }, block) => {
    const { values } = pass.tensor(`transformer.h.${block}.mlp.act`);
    const texture = material.uniforms.values.value;
    values.forEach((value, i) => {
      expect(Math.abs(undone(texture, i) - Math.max(-1, Math.min(1, value / 1.5)))).toBeLessThan(
        1 / 250,
      );
    });
  });
});

test("each weight above 0.02 is a band, as wide as it is large; a cut head has none", () => {
  const T = plan.T;
  const all = drawn(given);
  const expected = pass.weights.flatMap((heads) => heads.flatMap((one) => Array.from(one)));
  expect(all).toHaveLength(expected.filter((weight) => weight >= 0.02).length);
  for (const { block, head, query, key, weight } of all) {
    expect(weight).toBe(pass.weights[block][head][query * T + key]);
  }
  const cut = drawn({ ...given, cut: ["1.0"] });
  expect(cut.length).toBeLessThan(all.length);
  expect(cut.some(({ block, head }) => block === 1 && head === 0)).toBe(false);
  const mesh = bands(given);
  const { position, nth } = mesh.geometry.attributes;
  all.forEach(({ head, weight }, band) => {
    const first = nth.array.indexOf(band);
    const [a, b] = [position.getZ(first), position.getZ(first + 1)];
    expect(Math.abs(a - b)).toBeCloseTo(Math.max(1, (weight * DEEP) / 4), 4);
    expect((a + b) / 2).toBeCloseTo(plan.z(head), 4);
  });
});

test("a long text has the bands of its chosen token, and the largest of the others", () => {
  const T = 128;
  const even = Float32Array.from({ length: T * T }, (_, i) => ((i % T) % 7 ? 0.03 : 0.2));
  const many = { ...pass, tokens: Array(T).fill("a"), weights: [[even, even]] };
  const of = { ...plan, T, nLayer: 1, nHead: 2 };
  const all = drawn({ pass: many, plan: /** @type {any} */ (of), at: T - 1, cut: [] });
  expect(all).toHaveLength(2400);
  expect(all.filter(({ query }) => query === T - 1)).toHaveLength(2 * T);
});

test("each matrix has its number of weights, and each of them its square", async () => {
  const all = panesOf(plan);
  const sizes = (of) =>
    of.reduce((sum, { rows, columns }) => {
      return sum + (rows[1] - rows[0]) * (columns[1] - columns[0]);
    }, 0);
  const C = plan.C;
  expect(sizes(all)).toBe(3 * 12 * C * C + 2 * 1024 * C);
  const [fc] = all.filter(({ module }) => module === "transformer.h.1.mlp.c_fc");
  const { mesh, weight } = await filled(fc);
  const size = rms(weight);
  const texture = mesh.material.uniforms.values.value;
  for (const [row, column] of [
    [0, 0],
    [0, 127],
    [511, 0],
    [237, 71],
  ]) {
    const uv = { x: (column + 0.5) / 128, y: 1 - (row + 0.5) / 512 };
    const value = weight[row * 128 + column];
    expect(weightAt(mesh, uv)).toEqual({ row, column, value });
    const texel = Math.floor(uv.y * 512) * 128 + Math.floor(uv.x * 128);
    expect(undone(texture, texel)).toBeCloseTo(Math.max(-1, Math.min(1, value / size / 2.5)), 1);
  }
});

test("of a matrix that is too large, the weights that are fetched have their own names", () => {
  const of = { rows: [0, 3072], columns: [768, 1536], place: null, name: "c_fc" };
  const weights = Float32Array.from({ length: MOST * MOST }, (_, i) => i);
  const found = weightAt({ userData: { pane: of, weights } }, { x: 1.5 / MOST, y: 1 - 2.5 / MOST });
  expect(found).toEqual({ row: 12, column: 769, value: 2 * MOST + 1 });
});

test("what is pointed at is told with its number", async () => {
  const point = new Vector3(plan.x(2.7), plan.y(3), DEEP / 2 - 17.5);
  const at = (object, more) => told({ object, point, ...more }, given);
  const lane = at({ userData: { kind: "lane" } }, { instanceId: 3 });
  const mid = pass.tensor("transformer.h.1.resid_mid").values[3 * 128 + 17];
  expect(lane.words[1]).toBe(`number 17 of 128: ${fixed(mid, 2)}`);
  expect(lane.pick).toBe(3);
  expect(lane.words[0]).toMatch(/after attention of block 1; it would say/);
  const mesh = bands(given);
  const n = mesh.userData.of.findIndex(({ block, head, query, key }) => {
    return block === 1 && head === 0 && query === 6 && key === 3;
  });
  const band = at(mesh, { faceIndex: n * mesh.userData.each + 5 });
  expect(band.words).toEqual(["Head 1.0: “crane” takes 0.98 from “marsh”"]);
  expect(band.go).toEqual({ block: 1, head: 0 });
  const wing = told(
    {
      object: { userData: { kind: "wing", block: 2 } },
      point: new Vector3(0, 0, 256 - 300.5),
      instanceId: 6,
    },
    given,
  );
  const act = pass.tensor("transformer.h.2.mlp.act").values[6 * 512 + 300];
  expect(wing.words).toEqual([
    "Unit 300 of 512 in the MLP of block 2",
    `at “crane”: ${fixed(act, 2)}`,
  ]);
  const of = panesOf(plan).find(({ module }) => module === "transformer.h.1.mlp.c_fc");
  const { mesh: glass, weight } = await filled(of);
  const told_ = at(glass, { uv: { x: 71.5 / 128, y: 1 - 237.5 / 512 } });
  expect(told_.words[1]).toBe(`from input 71 to output 237: ${fixed(weight[237 * 128 + 71], 3)}`);
  expect(told_.go).toEqual({ block: 1, mlp: true, weight: "c_fc", token: 6 });
});

test("a number that is written lies on its square", async () => {
  const of = panesOf(plan).find(({ module }) => module === "transformer.h.0.mlp.c_fc");
  const { mesh, weight } = await filled(of);
  const point = new Vector3(mesh.position.x, 256 - 40.5, 64 - 9.5);
  const all = near({ object: mesh, point }, given);
  const [own] = all.filter(({ where }) => where.distanceTo(point) < 1e-6);
  expect(own.value).toBe(weight[40 * 128 + 9]);
  for (const { where, value } of all) {
    const [row, column] = [256 - where.y - 0.5, 64 - where.z - 0.5];
    expect(value).toBe(weight[Math.round(row) * 128 + Math.round(column)]);
  }
  const lane = { userData: { kind: "lane" } };
  const onLane = new Vector3(plan.x(4.999), plan.y(6), 0.5);
  const { values } = pass.tensor("transformer.h.2.resid_post");
  for (const { where, value } of near({ object: lane, point: onLane, instanceId: 6 }, given)) {
    expect(value).toBe(values[6 * 128 + plan.number(where.z)]);
  }
});

test("a bar is as long as its word is likely", () => {
  bars(given).children.forEach(({ geometry }, i) => {
    expect(geometry.parameters.width).toBeCloseTo(Math.max(2, pass.next[i].p * BAR));
  });
});

test("what is stored of GPT-2 is drawn: its bands, and panes without weights", () => {
  const stored = fromStored(fixture("flow").passes[0]);
  expect(lanes({ ...given, pass: stored }).material.uniforms.known.value).toBe(0);
  const heads = Array.from({ length: 12 }, () => pass.weights[1][0]);
  const many = { ...pass, nLayer: 12, nHead: 12, weights: Array(12).fill(heads), tensor: null };
  const large = new Plan({ ...many, only: "stored" }, GPT2);
  expect(large.length).toBeGreaterThan(plan.length);
  expect(panesOf(large)).toHaveLength(12 * 6);
  expect(drawn({ ...given, pass: many, plan: large })).not.toHaveLength(0);
  expect(wings({ ...given, pass: many, plan: large }).children).toHaveLength(0);
});

test("all of it is seen, from each side and in each window", () => {
  for (const size of [
    { width: 1240, height: 492 },
    { width: 370, height: 600 },
  ]) {
    const camera = new Camera();
    camera.resize(size);
    for (const from of [
      { side: 0, down: 0.05 },
      { side: -0.5, down: 0.32 },
      { side: -1.2, down: 0.62 },
    ]) {
      camera.put(camera.fitted(plan.all, from, [24, 64, 30, 30]));
      const { low, high } = plan.all;
      for (let i = 0; i < 8; i++) {
        const corner = low.map((a, axis) => (i & (1 << axis) ? high[axis] : a));
        const { x, y } = new Vector3(...corner).project(camera.own);
        expect(Math.max(Math.abs(x), Math.abs(y))).toBeLessThanOrEqual(1);
      }
    }
  }
});

test("a camera comes nearer to what is under the pointer, and between stands evenly", () => {
  const camera = new Camera();
  camera.resize({ width: 1240, height: 492 });
  camera.put(camera.fitted(plan.all, { side: -0.5, down: 0.32 }, [24, 64, 30, 30]));
  const point = new Vector3(plan.x(2.3), plan.y(2), 30);
  const before = point.clone().project(camera.own);
  expect(camera.scale(0.5, { x: 0, y: 0 }, point)).toBe(true);
  const after = point.clone().project(camera.own);
  expect(after.x).toBeCloseTo(before.x, 4);
  expect(after.y).toBeCloseTo(before.y, 4);
  const [a, b] = [camera.stand, { ...camera.stand, distance: camera.stand.distance * 16 }];
  expect(between(a, b, 0.5).distance).toBeCloseTo(4 * a.distance);
});
