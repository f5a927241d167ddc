// Weights in fewer bits: the page rounds as gpt2_edu/quantize.py does, to the last bit.

import { expect, test } from "vitest";
import { roundTo } from "../rounding.mjs";
import { fixture } from "./files.mjs";

const [{ columns, weight }, ...cases] = fixture("rounding");

test.each(cases)("$bits bits, a scale for each $per", ({ bits, per, rounded }) => {
  const found = roundTo(Float32Array.from(weight), columns, bits, per);
  expect([...found].map((x) => x + 0)).toEqual(rounded.map((x) => x + 0)); // −0 is 0
});

test("a last group may be shorter", () => {
  const [large, small] = [Array(32).fill(7), [0.7, 0.34]];
  const found = roundTo(Float32Array.from([...large, ...small]), 34, 4, "group");
  expect([...found.slice(32)].map((x) => x.toFixed(3))).toEqual(["0.700", "0.300"]);
});
