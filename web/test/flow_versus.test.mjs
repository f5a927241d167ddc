// Two passes in one picture: what differs, and where it crosses.

import { beforeAll, expect, test } from "vitest";
import { readPass } from "../flow/read.mjs";
import { bothNext, gapsOf, saysOf, waysTo } from "../flow/versus.mjs";
import { pageModel } from "./page.mjs";

const T = 7;
let marsh, city, gaps, run;
beforeAll(async () => {
  const model = await pageModel();
  run = async (text, off) => {
    const { ids } = await model.encode(text, 128);
    return readPass(model, { text, ids, key: "test", switches: { headsOff: off ?? [] } });
  };
  marsh = await run("In the marsh, the crane");
  city = await run("In the city, the crane");
  gaps = gapsOf(marsh, city);
});

test("the difference begins at the exchanged token, and crosses by heads 1.0 and 1.2", () => {
  const first = Array.from({ length: T }, (_, t) => gaps.lane(0, t));
  expect(first.map((gap) => gap > 0)).toEqual([0, 0, 0, 1, 0, 0, 0].map(Boolean));
  for (let stage = 0; stage < 7; stage++) {
    for (const t of [0, 1, 2]) expect(gaps.lane(stage, t)).toBe(0);
  }
  expect(gaps.lane(2, 6)).toBeLessThan(0.3); // after block 0
  expect(gaps.lane(3, 6)).toBeGreaterThan(0.8); // after attention in block 1
  const ways = waysTo(gaps, marsh, 6).slice(0, 2);
  expect(ways.map(({ block, head, key }) => `${block}.${head} ${key}`)).toEqual(["1.0 3", "1.2 3"]);
});

test("a ribbon is as wide as what is taken differs", () => {
  const taken = ({ weights, tensor }, block, head, query, key) => {
    const { values, shape } = tensor(`transformer.h.${block}.attn.v`);
    const D = shape.at(-1);
    const start = (head * T + key) * D;
    const share = weights[block][head][query * T + key];
    return values.subarray(start, start + D).map((v) => share * v);
  };
  const apart = (...where) => {
    const [x, y] = [marsh, city].map((pass) => taken(pass, ...where));
    return Math.hypot(...x.map((v, i) => v - y[i]));
  };
  const one = apart(1, 0, 6, 3);
  for (const where of [
    [1, 2, 6, 3],
    [2, 3, 6, 0],
    [0, 1, 5, 3],
    [1, 1, 6, 5],
  ]) {
    const ratio = gaps.ribbon(...where) / gaps.ribbon(1, 0, 6, 3);
    expect(ratio).toBeCloseTo(apart(...where) / one, 4);
  }
  expect(gaps.ribbon(0, 0, 2, 1)).toBe(0);
});

test("both texts' next words are shown, each with both shares", () => {
  const next = bothNext(marsh, city);
  expect(next.map(({ name }) => name)).toContain("␣lifted");
  for (const { id, p, other } of next) {
    expect(p).toBe(marsh.shares[id]);
    expect(other).toBe(city.shares[id]);
  }
  expect(new Set(next.map(({ id }) => id)).size).toBe(next.length);
});

test("it is told in a sentence", () => {
  expect(saysOf(marsh, city, 6)).toMatch(
    /^The texts differ at ␣marsh \/ ␣city. To ␣crane the difference comes most by head 1.0 from ␣marsh and head 1.2 from ␣marsh. What comes next: ␣ate \(0.53\) or ␣lifted \(0.\d\d\).$/,
  );
  expect(saysOf(marsh, marsh, 6)).toContain("The lower halves are the same text, untouched.");
  expect(gapsOf(marsh, { ...city, tensor: null })).toBeNull();
});

test("what a head that is cut would bring is a difference, too", async () => {
  const cut = await run(marsh.text, ["1.0"]);
  const [first] = waysTo(gapsOf(cut, marsh), marsh, 6);
  expect([first.block, first.head, first.key]).toEqual([1, 0, 3]);
  expect(gapsOf(cut, marsh).lane(2, 6)).toBe(0);
});
