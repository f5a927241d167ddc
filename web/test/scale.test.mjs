// Models to scale: each plate has the area of its numbers, and the camera shows it without distortion of
// what is true.

import { expect, test } from "vitest";
import { between, camera, outline, project, seen, stops } from "../scale/camera.mjs";
import { faces } from "../scale/faces.mjs";
import { labels, over } from "../scale/labels.mjs";
import { FLOOR, placed } from "../scale/world.mjs";

// As site/gpt2_site/scale.py tells it of the package's own models (tests/web/exhibits/test_scale.py).
const model = (name, blocks, C, vocabulary, context) => {
  const block = [
    ["attn.c_attn", 3 * C, C],
    ["attn.c_proj", C, C],
    ["mlp.c_fc", 4 * C, C],
    ["mlp.c_proj", C, 4 * C],
  ];
  const tables = [
    ["wte", vocabulary, C],
    ["wpe", context, C],
  ];
  const numbers = blocks * (12 * C * C + 13 * C) + (vocabulary + context) * C + 2 * C;
  return { name, blocks, width: C, tables, block, vectors: [13 * C, 2 * C], numbers, says: "" };
};
const MODELS = [
  model("the crane", 3, 128, 1024, 128),
  model("GPT-2 124M", 12, 768, 50257, 1024),
  model("GPT-2 XL", 48, 1600, 50257, 1024),
  model("GPT-3", 96, 12288, 50257, 2048),
];
const PUBLISHED = [742_528, 124_439_808, 1_557_611_200, 174_604_259_328];
const world = placed(MODELS);
const SIZES = [
  { width: 1150, height: 647 },
  { width: 390, height: 488 },
];
const REST = { turn: 0, tilt: 0 };
const measure = (text, more, kind) => {
  const letter = kind === "name" ? 9 : 7.5;
  return [letter * Math.max(text.length, 0.9 * more.length) + 16, kind === "name" ? 38 : 20];
};
const LOOK = Object.fromEntries(
  ["attn", "mlp", "table", "vectors", "light", "mist"].map((name) => [name, [90, 90, 90]]),
);

/** What the camera sees of a corner, undone. */
function back({ eye, rows, focal, width, height }, x, y, depth) {
  const across = [((x - width / 2) * depth) / focal, ((height / 2 - y) * depth) / focal, depth];
  return eye.map((value, i) => value + rows.reduce((sum, row, n) => sum + row[i] * across[n], 0));
}

/** Of a flat polygon in space. */
function area(points) {
  const sum = [0, 0, 0];
  points.forEach(([x, y, z], i) => {
    const [u, v, w] = points[(i + 1) % points.length];
    sum[0] += y * w - z * v;
    sum[1] += z * u - x * w;
    sum[2] += x * v - y * u;
  });
  return Math.hypot(...sum) / 2;
}

test.each(world)("every plate of $model.name has the area of its numbers", (one) => {
  const plates = one.floors.flat();
  expect(one.model.numbers).toBe(PUBLISHED[one.nth]);
  expect(one.floors.length).toBe(one.model.blocks + 1);
  expect(plates.length).toBe(5 * one.model.blocks + 3);
  for (const { w, d, numbers } of plates) expect((w * d) / numbers).toBeCloseTo(1, 9);
  expect(plates.reduce((sum, { numbers }) => sum + numbers, 0)).toBe(one.model.numbers);
  const named = new Map(plates.map(({ floor, name, numbers }) => [`${floor} ${name}`, numbers]));
  for (const [name, rows, columns] of one.model.tables)
    expect(named.get(`-1 ${name}`)).toBe(rows * columns);
  for (const [name, rows, columns] of one.model.block)
    expect(named.get(`${one.model.blocks - 1} ${name}`)).toBe(rows * columns);
});

test.each(world)("no plate of $model.name lies in another, and none outside", (one) => {
  const inside = (value, from, side) =>
    value >= from - 1e-6 * side && value <= from + side * (1 + 1e-9);
  for (const floor of one.floors) {
    for (const { x, z, w, d, y, h } of floor) {
      expect([inside(x, one.x, one.w), inside(x + w, one.x, one.w)]).toEqual([true, true]);
      expect([inside(z, one.z, one.d), inside(z + d, one.z, one.d)]).toEqual([true, true]);
      expect(y + h).toBeLessThanOrEqual(one.h * (1 + 1e-9));
    }
    for (const [i, a] of floor.entries()) {
      for (const b of floor.slice(i + 1)) {
        const apart = [
          [a.x + a.w - b.x, b.x + b.w - a.x],
          [a.z + a.d - b.z, b.z + b.d - a.z],
        ];
        const least = Math.min(...apart.flat());
        expect(least).toBeLessThanOrEqual(1e-6 * one.w);
      }
    }
  }
  const steps = one.floors.map(([{ y }]) => y);
  steps.forEach((y, n) => expect(y).toBeCloseTo(n * FLOOR * one.model.width, 6));
});

test("buildings stand side by side", () => {
  world.slice(1).forEach((one, i) => expect(one.x).toBeGreaterThan(world[i].x + world[i].w));
});

test.each(SIZES)("a face on the screen, undone, has its true area: $width px", (size) => {
  const all = stops(world, size);
  let checked = 0;
  for (const zoom of [0, 0.6, 1, 1.5, 2, 2.4, 3]) {
    for (const turn of [0, 1.1, -0.5]) {
      const eye = camera(between(all, zoom), { turn, tilt: 0.2 }, size);
      for (const one of world) {
        for (const plate of one.floors.flat().filter((_, i) => i % 7 === 0)) {
          const { x, z, w, d } = plate;
          const y = plate.y + plate.h;
          const top = [
            [x, y, z],
            [x + w, y, z],
            [x + w, y, z + d],
            [x, y, z + d],
          ];
          if (top.some((corner) => seen(eye, ...corner)[2] < eye.near)) continue;
          const flat = outline(eye, top);
          const undone = top.map((corner, i) =>
            back(eye, flat[2 * i], flat[2 * i + 1], project(eye, ...corner)[2]),
          );
          expect(area(undone) / plate.numbers).toBeCloseTo(1, 4);
          checked++;
        }
      }
    }
  }
  expect(checked).toBeGreaterThan(1000);
});

test.each(SIZES)(
  "at its stop a building is in the picture, and so is each smaller one: $width px",
  (size) => {
    const all = stops(world, size);
    world.forEach((one, i) => {
      const eye = camera(between(all, i), REST, size);
      for (const [x, y, z] of [
        [one.x, 0, one.z],
        [one.x + one.w, 0, one.z],
        [one.core.x, one.h, one.core.z],
        [one.x + one.w, 0, one.z + one.d],
      ]) {
        const [across, down] = project(eye, x, y, z);
        expect(across > 0 && across < size.width && down > 0 && down < size.height).toBe(true);
      }
      const { all: named } = labels(world, eye, i, measure);
      const names = named.map(({ text }) => text);
      expect(names).toContain(one.model.name);
      if (i === 3) for (const { model } of world) expect(names).toContain(model.name);
    });
  },
);

test.each(SIZES)("no label lies over another, at stops and between them: $width px", (size) => {
  const all = stops(world, size);
  for (let zoom = -1; zoom <= 3; zoom += 0.125) {
    for (const turn of [0, 0.8, -0.7, 3]) {
      const eye = camera(between(all, zoom), { turn, tilt: 0.05 }, size);
      const { all: named } = labels(world, eye, zoom, measure);
      named.forEach(({ box }, i) => {
        for (const other of named.slice(i + 1)) expect(over(box, other.box, 0)).toBe(false);
        expect(box.left >= 0 && box.right <= size.width).toBe(true);
        expect(box.top >= 0 && box.bottom <= size.height).toBe(true);
      });
    }
  }
});

test("the square on the ground has as many numbers as it says", () => {
  const units = { thousand: 1e3, million: 1e6, billion: 1e9 };
  for (const size of SIZES) {
    const all = stops(world, size);
    for (const zoom of [0, 1, 2, 3]) {
      const eye = camera(between(all, zoom), REST, size);
      const { all: named, square } = labels(world, eye, zoom, measure);
      const label = named.find(({ key }) => key === "square");
      if (!label) continue;
      const corners = [0, 2, 4, 6].map((i) => {
        const ray = back(eye, square[i], square[i + 1], 1).map((value, n) => value - eye.eye[n]);
        const t = -eye.eye[1] / ray[1];
        return eye.eye.map((value, n) => value + t * ray[n]);
      });
      const [, many, unit] = /^(\d+)(?: (\w+))? numbers?$/.exec(label.text);
      expect(area(corners) / (many * (units[unit] ?? 1))).toBeCloseTo(1, 6);
    }
  }
});

test("faces come in few, and none is behind one that is drawn before it", () => {
  const size = SIZES[0];
  const all = stops(world, size);
  for (let zoom = -1; zoom <= 3; zoom += 0.25) {
    const eye = camera(between(all, zoom), REST, size);
    const drawn = faces(world, eye, LOOK, null);
    expect(drawn.length).toBeLessThan(2300);
    for (const { points } of drawn) expect(points.every(Number.isFinite)).toBe(true);
  }
});

test("a building is there from wherever it is looked at; a larger one does not stand in the way", () => {
  const all = stops(world, SIZES[0]);
  for (let turn = -3; turn <= 3; turn += 0.5) {
    world.forEach((one, i) => {
      const eye = camera(between(all, i), { turn, tilt: 0.1 }, SIZES[0]);
      const there = new Set(faces(world, eye, LOOK, null).map(({ of }) => of));
      expect(there.has(one)).toBe(true);
      for (const larger of world.slice(i + 1)) {
        if (eye.eye[0] > larger.x) expect(there.has(larger)).toBe(false);
      }
    });
  }
});

test("the way from stop to stop only goes further away", () => {
  const all = stops(world, SIZES[0]);
  let before = 0;
  for (let zoom = -1; zoom <= 3.001; zoom += 0.05) {
    const { distance } = between(all, zoom);
    expect(distance).toBeGreaterThan(before);
    before = distance;
  }
});
