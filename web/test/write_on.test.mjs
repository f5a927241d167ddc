// A model that was trained on a reader's text writes beyond its window.

import { expect, test } from "vitest";
import { Run } from "../runs/run.mjs";
import { write } from "../runs/show.mjs";
import { makeData } from "../text/own.mjs";
import { smallPlan } from "./runs_data.mjs";

test("writing on forgets the oldest tokens when the window is full", async () => {
  const text = "the crane and the kite ".repeat(20);
  const plan = { ...smallPlan(), data: { kind: "text", unit: "characters", text } };
  const data = makeData(plan, {});
  const run = await Run.open(plan, data);
  const first = await write(run, "the ", 1);
  expect(first.text.startsWith("the ")).toBe(true);
  expect(first).toMatchObject({ forgot: true, right: null });
  expect(data.judge).toBe(null);
  const second = await write(run, first.text, 2);
  expect(second.text.startsWith(first.text)).toBe(true);
  expect(second.text.length).toBeGreaterThan(first.text.length);
});
