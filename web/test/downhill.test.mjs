// The lines of equal loss, between which a model of two numbers goes downhill.

import { expect, test } from "vitest";
import { contour, measure } from "../exhibits/nudges.mjs";

test("a line of equal loss has it at every point", () => {
  const counts = [
    { place: 1, ate: 3, lifted: 1 },
    { place: -1, ate: 1, lifted: 3 },
  ];
  for (const at of contour(counts, 0.8)) expect(measure(counts, at).loss).toBeCloseTo(0.8, 9);
});
