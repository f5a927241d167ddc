// What the dart is thrown at is what sampling makes of the logits.

import { beforeAll, expect, test } from "vitest";
import { nextProbabilities } from "../sampling.mjs";
import { Dart } from "../flow/dart.mjs";
import { readPass } from "../flow/read.mjs";
import { pageModel } from "./page.mjs";

let pass;
beforeAll(async () => {
  const model = await pageModel();
  const text = "In the marsh, the crane";
  const { ids } = await model.encode(text, 128);
  pass = await readPass(model, { text, ids, key: "test" });
});

/** Its knobs, without a page. */
function dart(knobs) {
  const values = { temperature: 1, k: 0, p: 1, ...knobs };
  const state = { get: (name) => values[name] };
  return Object.assign(Object.create(Dart.prototype), { state, board: { set() {} } });
}

test.each([
  [{ temperature: 0.5 }, { temperature: 0.5 }],
  [{ temperature: 0 }, { temperature: 0 }],
  [{ k: 3 }, { topK: 3 }],
  [
    { temperature: 2, p: 0.7 },
    { temperature: 2, topP: 0.7 },
  ],
])("%o", (knobs, settings) => {
  const logits = pass.tensor("logits").values.slice(-1024);
  const right = nextProbabilities(logits, settings);
  const shares = dart(knobs).shares(pass.shares);
  shares.forEach((share, id) => expect(share).toBeCloseTo(right[id], 6));
  const { next } = dart(knobs).seen(pass);
  next.forEach(({ id, p, other }) => expect([p, other]).toEqual([shares[id], pass.shares[id]]));
});

test("knobs that are not turned change nothing", () => {
  expect(dart({}).shares(pass.shares)).toBe(pass.shares);
  expect(dart({}).seen(pass)).toBe(pass);
});
