// A number that is set by hand is the tape's, and changes only what follows.

import { beforeAll, expect, test } from "vitest";
import { cellOf, editsOf, readCell, written } from "../flow/by_hand.mjs";
import { readPass } from "../flow/read.mjs";
import { placeOf } from "../flow/place.mjs";
import { wayThrough } from "../flow/way.mjs";
import { pageModel } from "./page.mjs";

const sizes = { nLayer: 3, nHead: 4, nEmbd: 128 };
const text = "In the marsh, the crane";
const T = 7;
let model, ids, before;
const run = (cells) =>
  readPass(model, { text, ids, key: "test", edits: editsOf(cells.map(read), sizes, T) });
const read = (one) => readCell(one, sizes, T);
beforeAll(async () => {
  model = await pageModel();
  ({ ids } = await model.encode(text, 128));
  before = await run([]);
});

test.each([
  ["1.0.6.3", "1.attn.weights:0.6.3"],
  ["1.2.q.5.17", "1.attn.q:2.5.17"],
  ["0.3.v.0.31", "0.attn.v:3.0.31"],
  ["1.mlp.c_fc.6.511", "1.mlp.pre:6.511"],
  ["2.mlp.c_proj.4.127", "2.mlp.out:4.127"],
  ["1.mlp.26", "1.mlp.act:6.26"],
])("at %s the number %s can be set", async (address, name) => {
  const place = placeOf(address, { nLayer: 3, nHead: 4, T, D: 32, units: 512 });
  const cell = { ...cellOf(place, 6, sizes), value: 0.25 };
  expect(written(cell)).toBe(`${name}=0.25`);
  expect(read(written(cell))).toEqual(cell);
  const after = await run([written(cell)]);
  const way = wayThrough(3).filter(({ path }) => !["idx", "probabilities"].includes(path));
  const own = way.findIndex(({ path }) => path === `transformer.h.${cell.path}`);
  const beside = ["q", "k", "v"].map((one) => `transformer.h.${cell.path[0]}.attn.${one}`);
  way.forEach(({ path }, i) => {
    const [a, b] = [before, after].map(({ tensor }) => tensor(path).values);
    if (i < own || (i > own && beside.includes(path))) expect(b, path).toEqual(a);
    if (i !== own) return;
    const changed = Array.from(a.keys()).filter((n) => a[n] !== b[n]);
    expect(changed).toHaveLength(1);
    expect(b[changed[0]]).toBe(0.25);
  });
  expect(after.tensor("logits").values).not.toEqual(before.tensor("logits").values);
  const seen = (t) => after.tensor("logits").values.subarray(t * 1024, (t + 1) * 1024);
  const token = cell.index.at(-2);
  if (token)
    expect(seen(token - 1)).toEqual(
      before.tensor("logits").values.subarray((token - 1) * 1024, token * 1024),
    );
});

test("several numbers are set at once", async () => {
  const both = await run(["1.attn.weights:0.6.3=0", "1.attn.weights:2.6.3=0"]);
  const off = await readPass(model, {
    text,
    ids,
    key: "test",
    switches: { headsOff: ["1.0", "1.2"] },
  });
  expect(both.next[0].name).toBe("␣ate");
  expect(both.next[0].p).toBeLessThan(before.next[0].p);
  expect(both.next[0].p).toBeCloseTo(off.next[0].p, 1); // those heads bring little else
});

test("what is no number of this text is not read", () => {
  const odd = ["", "x", "1.attn.weights:0.6.3", "1.attn.weights:0.3.6=1", "1.attn.weights:4.6.3=1"];
  odd.push("1.attn.weights:0.7.3=1", "3.mlp.act:6.1=1", "1.mlp.act:6.512=1", "1.mlp.act:0.6.1=1");
  odd.push("1.attn.q:0.6.32=1", "1.attn.q:0.6.1=1e9", "1.attn.q:0.6.=1", "1.attn.q:0.6.1=--1");
  odd.push("1.attn.q:0.6.1=1.1.1", "1.ln_1:6.1=1", "1.mlp.act:6..1=1");
  for (const one of odd) expect(read(one), one).toBeNull();
  expect(read("1.mlp.act:6.1=-2.5")).toEqual({ path: "1.mlp.act", index: [6, 1], value: -2.5 });
});
