// The deeper levels of the picture spell out what the tape has.

import { beforeAll, expect, test } from "vitest";
import { lengthsOf } from "../flow/block.mjs";
import { lengthOf } from "../flow/cells.mjs";
import { STEPS, stepOf } from "../flow/head.mjs";
import { gelu, unitsOf } from "../flow/mlp.mjs";
import { readPass } from "../flow/pass.mjs";
import { multiplyAdds, productsOf } from "../flow/product.mjs";
import { pageModel } from "./page.mjs";

let pass, T, D;
beforeAll(async () => {
  const model = await pageModel();
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

test("a unit's result is GELU of what comes in", () => {
  for (const block of every(3)) {
    const { pre, act } = unitsOf(pass, block, 6);
    expect(act).toHaveLength(512);
    pre.forEach((x, i) => expect(gelu(x)).toBeCloseTo(act[i], 4));
    expect(act.filter((x) => x > 0.5)).toHaveLength(pass.lit[block][6]);
  }
});

test("what a block adds, and how long it makes the stream", () => {
  const { before, attention, middle, mlp, after, spreads } = lengthsOf(pass, 1, 6);
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
  expect(spreads.every((spread) => spread > 0)).toBe(true);
});

test("multiply-adds are counted as the book counts them", () => {
  const crane = { nLayer: 3, nEmbd: 128, vocabSize: 1024 };
  expect(multiplyAdds(crane, 7)).toBe(7 * 3 * 12 * 128 ** 2 + 1024 * 128 + 3 * 128 * 56);
  expect((multiplyAdds(crane, 8) / 1e6).toFixed(1)).toBe("4.9"); // chapter 16
});
