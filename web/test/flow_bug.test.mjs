// A pass with one of the museum's bugs.

import { beforeAll, expect, test } from "vitest";
import { NAMES, throughBug } from "../flow/bug.mjs";
import { Layout } from "../flow/layout.mjs";
import { readPass } from "../flow/read.mjs";
import { DRAWN, ribbonsOf } from "../flow/ribbons.mjs";
import { gapsOf, waysTo } from "../flow/versus.mjs";
import { pageModel } from "./page.mjs";

const text = "In the marsh, the crane";
let run, right;
beforeAll(async () => {
  const model = await pageModel();
  const { ids } = await model.encode(text, 128);
  run = (bug) => readPass(model, { text, ids, key: "test", through: throughBug(model, bug) });
  right = await run();
});

test.each(NAMES)("with the bug “%s” something else comes next", async (bug) => {
  const wrong = await run(bug);
  const apart = wrong.shares.map((p, id) => Math.abs(p - right.shares[id]));
  expect(Math.max(...apart)).toBeGreaterThan(0);
  expect(wrong.shares.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
  if (bug === "softmax before cross-entropy") return; // it is not in the stream
  const gaps = gapsOf(wrong, right);
  const lanes = right.ids.map((_, t) => gaps.lane(6, t));
  expect(Math.max(...lanes)).toBeGreaterThan(0);
  expect(waysTo(gaps, wrong, 6)[0].gap).toBeGreaterThan(0);
});

test.each([900, 360])(
  "without a mask ribbons come from later tokens, too, %i px wide",
  async (width) => {
    const wrong = await run("no mask");
    const layout = new Layout(width, 7, 3);
    const ribbons = (pass) =>
      ribbonsOf({ at: 3 }, layout, [pass]).filter((one) => one.key > one.query);
    expect(ribbons(right)).toEqual([]);
    const later = wrong.weights
      .flat()
      .flatMap((map) =>
        Array.from(map).filter((weight, i) => i % 7 > Math.floor(i / 7) && weight >= DRAWN),
      );
    expect(later.length).toBeGreaterThan(5);
    const drawn = ribbons(wrong);
    expect(drawn.map(({ weight }) => weight).sort()).toEqual(later.sort());
    for (const { query, key, points } of drawn) {
      const across = (at) => points[at][width > 700 ? 1 : 0];
      expect(across(0) - across(3)).toBeGreaterThan(layout.across * (key - query) - 12);
    }
  },
);

test("its tape is that of the bug", async () => {
  const { weights } = await run("no mask");
  expect(weights[0][0][1]).toBeGreaterThan(0); // the first token looks at the second
  expect(right.weights[0][0][1]).toBe(0);
  const { tensor } = await run("positions forgotten");
  expect(tensor("pos_emb").values.every((x) => x === 0)).toBe(true);
});
