// The deeper levels of the picture spell out what the tape has.

import { beforeAll, expect, test } from "vitest";
import { lengthsOf } from "../flow/lengths.mjs";
import { asProduct, decimals, heat, lengthOf, spreadOf } from "../flow/cells.mjs";
import { stepOf } from "../flow/head.mjs";
import { STEPS } from "../flow/place.mjs";
import { unitsOf } from "../flow/mlp.mjs";
import { geluTanh } from "../numbers.mjs";
import { endsOf, mixing } from "../flow/operation.mjs";
import { normedOf, printed } from "../flow/norm.mjs";
import { readPass } from "../flow/read.mjs";
import { placeOf } from "../flow/place.mjs";
import { chosenOf, normOf, Shelf, vectorOf, worked } from "../flow/parts.mjs";
import { sourceOf } from "../flow/source.mjs";
import { multiplyAdds, productsOf } from "../flow/product.mjs";
import { pageModel } from "./page.mjs";

let model, pass, T, D, shelf;
beforeAll(async () => {
  model = await pageModel();
  shelf = new Shelf(model);
  const text = "In the marsh, the crane";
  const { ids } = await model.encode(text, 128);
  pass = await readPass(model, { text, ids, key: "test" });
  T = ids.length;
  D = model.present.config.nEmbd / model.present.config.nHead;
});
const every = (n) => Array.from({ length: n }, (_, i) => i);

test("products sum to the score, and the softmax makes its share of it", () => {
  for (const block of every(3)) {
    for (const head of every(4)) {
      for (const query of every(T)) {
        for (const key of every(query + 1)) {
          const all = productsOf(pass, { block, head, query, key });
          expect(all.products).toHaveLength(D);
          expect(all.sum / Math.sqrt(D)).toBeCloseTo(all.scaled, 3);
          expect(all.power / all.total).toBeCloseTo(all.share, 5);
          expect(all.share).toBe(pass.weights[block][head][query * T + key]);
        }
      }
    }
  }
  const { a, b, products, sum, scaled, share } = productsOf(pass, {
    block: 1,
    head: 0,
    query: 6,
    key: 3,
  });
  const shown = [a[16], b[16], products[16], sum, scaled].map((value) => value.toFixed(2));
  expect(shown).toEqual(["1.86", "2.68", "4.98", "25.03", "4.43"]);
  expect(share.toFixed(3)).toBe("0.976");
});

test("the steps of a head follow from each other", () => {
  const [score, scale, mask, share, mix] = every(STEPS.length).map((step) =>
    stepOf(pass, 1, 0, step),
  );
  for (const i of every(T * T)) {
    const later = i % T > Math.floor(i / T);
    expect(score[i] / Math.sqrt(D)).toBeCloseTo(scale[i], 4);
    expect(mask[i]).toBe(later ? -Infinity : scale[i]);
    if (later) expect(share[i]).toBe(0);
  }
  for (const row of every(T)) {
    expect(share.slice(row * T, (row + 1) * T).reduce((a, b) => a + b)).toBeCloseTo(1, 5);
  }
  expect(mix).toEqual(share);
});

test("the values that flow into a sum make what the tape has, with each step in its time", () => {
  const of = (name) => pass.tensor(`transformer.h.1.attn.${name}`);
  for (const head of every(4)) {
    for (const t of every(T)) {
      const values = every(T).map((key) => vectorOf(of("v"), key, head));
      const sums = mixing(values, vectorOf(of("weights"), t, head));
      expect(sums).toHaveLength(T);
      vectorOf(of("heads"), t, head).forEach((x, d) => expect(sums[T - 1][d]).toBeCloseTo(x, 4));
      expect(sums[0]).not.toBe(sums[1]);
    }
  }
  for (const turns of [1, 7, 12]) {
    const ends = endsOf(turns);
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
    expect(ends).toHaveLength(STEPS.length);
    expect(ends[4]).toBeLessThan(18_000);
  }
});

test("sums and products hold as they are printed, with no more decimals than they need", () => {
  expect(decimals([0.2478, -0.5142], 0.2478 - 0.5142)).toBe(3); // 0.25 − 0.51 is not −0.27
  expect(decimals([0.25, -0.51], -0.26)).toBe(2);
  expect(decimals([-0.001, 0.0005], -0.0005)).toBe(2);
  expect(asProduct(1.8582, 2.6801)).toEqual(["1.86", "2.68", "4.98"]);
  const random = (() => {
    let seed = 1;
    return () => ((seed = (seed * 16807) % 2147483647) / 2147483647 - 0.5) * 6;
  })();
  const number = (text) => Number(text.replace("−", "-"));
  for (let i = 0; i < 2000; i++) {
    const [x, y] = [random(), random()];
    const n = decimals([x, y], x + y);
    const shown = [x, y, x + y].map((value) => Number(value.toFixed(n)));
    expect(shown[0] + shown[1]).toBeCloseTo(shown[2], n + 2);
    const [a, b, c] = asProduct(x, y).map(number);
    expect(Number((a * b).toFixed(2)) + 0).toBe(c + 0);
    expect(c).toBeCloseTo(x * y, 1);
  }
});

test.each(["0.ln_1", "0.ln_2", "2.ln_1", "2.ln_2", "ln_f"])(
  "LayerNorm %s, spelled out, is what is on the tape, and holds as it is printed",
  async (address) => {
    const place = placeOf(address, { nLayer: 3, nHead: 4, T, D, units: 512, V: 1024 });
    const number = (text) => Number(text.replace("−", "-"));
    for (const t of every(T)) {
      const { norm } = await shelf.wanted(pass, place, t);
      const all = normedOf(pass, place, norm, t);
      const made = vectorOf(pass.tensor(normOf(place).output), t);
      expect(made).toHaveLength(128);
      made.forEach((value, i) => {
        expect(all.made[i]).toBeCloseTo(value, 4);
        const told = printed(all, i);
        const [x, mean, spread, unit] = ["x", "mean", "spread", "unit"].map((n) => number(told[n]));
        const few = told.unit.split(".")[1].length;
        expect(Number(((x - mean) / spread).toFixed(few)) + 0).toBe(unit + 0);
        const y = unit * number(told.gain) + number(told.bias);
        expect(Number(y.toFixed(2)) + 0).toBe(number(told.made) + 0);
        expect(number(told.made)).toBeCloseTo(value, 1);
      });
    }
  },
);

test("a field of numbers is one path for each colour, and neighbours of one colour one box", () => {
  const drawn = (gap) =>
    heat([0, 0, 1, 1, 1, -1], { x: 0, y: 0, columns: 3, cell: 2, scale: 1, gap })
      .flatMap(({ values = [] }) => values)
      .filter((one) => /^M/.test(one));
  const row = ["M0.0 0.0h4v2h-4z", "M4.0 0.0h2v2h-2zM0.0 2.0h4v2h-4z", "M4.0 2.0h2v2h-2z"];
  expect(drawn(0)).toEqual(row);
  expect(drawn(1).join("").match(/M/g)).toHaveLength(6);
});

test("a unit's result is GELU of what comes in", () => {
  for (const block of every(3)) {
    const { pre, act } = unitsOf(pass, block, 6);
    expect(act).toHaveLength(512);
    pre.forEach((x, i) => expect(geluTanh(x)).toBeCloseTo(act[i], 4));
    expect([...act.keys()].filter((unit) => act[unit] > 0.5)).toEqual(pass.lit[block][6]);
  }
});

test("what a block adds, and how long it makes the stream", () => {
  const { before, attention, middle, mlp, after, streams } = lengthsOf(pass, 1, 6);
  const row = (path) => pass.tensor(path).values.subarray(6 * 128, 7 * 128);
  const of = (path) => lengthOf(row(path));
  expect(before).toBe(of("transformer.h.0.resid_post"));
  expect(middle).toBe(of("transformer.h.1.resid_mid"));
  expect(after).toBe(of("transformer.h.1.resid_post"));
  const sum = row("transformer.h.0.resid_post").map(
    (x, i) => x + row("transformer.h.1.attn.out")[i],
  );
  expect(lengthOf(sum)).toBeCloseTo(middle, 3);
  expect(attention + mlp).toBeGreaterThan(0);
  expect(streams.map(lengthOf)).toEqual([before, middle]);
});

test("multiply-adds are counted as the book counts them", () => {
  const crane = { nLayer: 3, nEmbd: 128, vocabSize: 1024 };
  expect(multiplyAdds(crane, 7)).toBe(7 * 3 * 12 * 128 ** 2 + 1024 * 128 + 3 * 128 * 56);
  expect((multiplyAdds(crane, 8) / 1e6).toFixed(1)).toBe("4.9"); // chapter 16
});

test.each(["0.1.q", "1.0.q", "1.0.k", "2.3.v", "1.mlp.c_fc", "2.mlp.c_proj", "wte"])(
  "matrix %s makes of its input what is on the tape",
  async (address) => {
    const { config } = model.present;
    const place = placeOf(address, { nLayer: 3, nHead: 4, T, D, units: 512, V: 1024 });
    const { output } = sourceOf(place, config);
    for (const t of [0, T - 1]) {
      const { matrix } = await shelf.wanted(pass, place, t);
      const { outputs, row, R, sampled } = worked(pass, place, matrix, config, t);
      const made = vectorOf(pass.tensor(output), t, place.head);
      expect([R, sampled]).toEqual([made.length, false]);
      expect(outputs()).toEqual(made);
      made.forEach((value, o) => {
        const { products, sum, bias } = row(o);
        expect(products.reduce((a, b) => a + b)).toBe(sum);
        expect(sum + bias).toBeCloseTo(value, 3);
      });
    }
  },
);

test("of a vocabulary too large to be drawn, the row of the likeliest token is fetched", async () => {
  const [V, C] = [2000, 1024];
  const sizes = { nLayer: 1, nHead: 1, nEmbd: C, vocabSize: V };
  const part = async ({ rows, most = V }) => {
    const many = Math.min(most, rows[1] - rows[0]);
    return { weight: new Float32Array(many * C).fill(rows[0]), bias: null };
  };
  const tensors = { ln_f: new Float32Array(C).fill(1), logits: new Float32Array(V) };
  tensors.logits.set([-9, 5], 700); // the furthest from zero is not the likeliest
  const tensor = (path) => ({ values: tensors[path], shape: [1, 1, tensors[path].length] });
  const place = placeOf("wte.0", { ...sizes, T: 1, D: C, units: 4 * C, V });
  const own = new Shelf({ present: { config: sizes }, part, loaded: {} });
  const { matrix } = await own.wanted({ tensor }, place, 0);
  const work = worked({ tensor }, place, matrix, sizes, 0);
  expect(work.sampled).toBe(true);
  expect(chosenOf(place, work.outputs())).toBe(701);
  expect(work.row(701)).toMatchObject({ sum: 701 * C, bias: null });
  expect(work.row(700)).toBeNull();
});

test("what the heads' parts of c_proj add is what attention adds, but for the bias", async () => {
  const { config } = model.present;
  const sum = new Float64Array(128);
  for (const head of every(4)) {
    const place = { block: 1, head, weight: "c_proj" };
    const { matrix } = await shelf.wanted(pass, place, 6);
    const { outputs, row } = worked(pass, place, matrix, config, 6);
    expect(row(5).bias).toBeNull();
    expect(outputs()[5]).toBeCloseTo(row(5).sum);
    outputs().forEach((value, c) => (sum[c] += value + (head ? 0 : matrix.map.bias[c])));
  }
  vectorOf(pass.tensor("transformer.h.1.attn.out"), 6).forEach((value, c) => {
    expect(value).toBeCloseTo(sum[c], 3);
  });
});

test("a unit pushes tokens by its own part of the lens's logits", async () => {
  const [block, t, id] = [1, 6, 0];
  const { act } = unitsOf(pass, block, t);
  const C = 128;
  const stream = vectorOf(pass.tensor(`transformer.h.${block}.resid_post`), t);
  const [{ weight: gain, bias }, table] = await Promise.all([
    model.part({ module: "transformer.ln_f", rows: [0, C], columns: [0, 1] }),
    model.part({ module: "transformer.wte", rows: [0, 1024], columns: [0, C] }),
  ]);
  const { column, up, down, row, bias: own } = await shelf.unit(pass, { block, unit: 26 }, t);
  const mean = column.reduce((a, b) => a + b) / C;
  const spread = Math.sqrt(spreadOf(stream) ** 2 + 1e-5);
  const push = (name) => {
    const word = every(1024).find((one) => model.show(one) === name);
    return column.reduce(
      (sum, x, c) => sum + ((x - mean) / spread) * gain[c] * table.weight[word * C + c],
      0,
    );
  };
  for (const { name, by } of [...up, ...down]) expect(push(name)).toBeCloseTo(by, 3);
  expect(up[0].by).toBeGreaterThan(up[2].by);
  expect(down[0].by).toBeLessThan(down[2].by);
  const normed = vectorOf(pass.tensor(`transformer.h.${block}.ln_2`), t);
  const { pre } = unitsOf(pass, block, t);
  expect(row.reduce((sum, w, c) => sum + w * normed[c], own)).toBeCloseTo(pre[26], 3);
  // The lens, part by part: the units, c_proj's bias, the stream before, ln_f's bias.
  const all = await model.part({
    module: "transformer.h.1.mlp.c_proj",
    rows: [0, C],
    columns: [0, 512],
  });
  const before = vectorOf(pass.tensor(`transformer.h.${block}.resid_mid`), t);
  const parts = before.map(
    (x, c) => x + all.bias[c] + act.reduce((sum, a, u) => sum + a * all.weight[c * 512 + u], 0),
  );
  const centre = parts.reduce((a, b) => a + b) / C;
  const logit = parts.reduce(
    (sum, x, c) => sum + (((x - centre) / spread) * gain[c] + bias[c]) * table.weight[id * C + c],
    0,
  );
  const read = await model.read(stream.slice(), "test, lens");
  expect(logit).toBeCloseTo(read[id], 2);
});
