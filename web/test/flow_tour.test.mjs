// The tour tells the numbers of the pass, in few words.

import { beforeAll, expect, test } from "vitest";
import { readPass } from "../flow/read.mjs";
import { sensesOf } from "../exhibits/crane_world.mjs";
import { STEPS } from "../flow/tour_steps.mjs";
import { wayThrough } from "../flow/way.mjs";
import { fixture } from "./files.mjs";
import { pageModel } from "./page.mjs";

const { passes } = fixture("flow");
const [{ text }] = passes;
let model, whole;
const run = async (off = []) => {
  const { ids } = await model.encode(text, 128);
  const own = sensesOf(text);
  return readPass(model, { text, ids, key: "test", senses: own, switches: { headsOff: off } });
};
beforeAll(async () => {
  model = await pageModel();
  whole = await run();
});

test("ten steps of at most forty words, three lines on a phone, each with a chapter", () => {
  expect(STEPS).toHaveLength(10);
  for (const { title, task, answer, guess, chapter } of STEPS) {
    for (const done of [false, true]) {
      const words = `${title} ${task} ${answer(whole, done)}`.split(/\s+/);
      expect(words.length, title).toBeLessThanOrEqual(40);
      const told = `${guess ? "Right: " : ""}${task} ${answer(whole, done)}`;
      expect(told.length, title).toBeLessThanOrEqual(142);
    }
    expect(chapter).toBeGreaterThan(0);
  }
});

test("what it says is the pass's", async () => {
  const told = STEPS.map(({ answer }) => answer(whole, false));
  expect(told[0]).toBe("Each is a token with a number: ␣crane is 483.");
  expect(told[2]).toBe("␣lifted (0.44): it bets on the machine, 0.68 to 0.18.");
  expect(told[3]).toContain("0.98 and 0.96");
  expect(told[4]).toContain("had 0.18, now it has 0.85");
  expect(told[5]).toContain("it is 0.98");
  expect(told[6]).toContain("Of its 512 units 31 are lit");
  expect(told[7]).toContain("⟨start⟩ 0.78");
  const { answer } = STEPS[8];
  const [all, one] = [await run([]), await run(["1.0"])];
  expect(one.next[0].p / all.next[0].p).toBeGreaterThan(0.95); // it hardly changes
  expect(answer(all, false)).toContain("0.53. Cut both");
  expect(answer(await run(["1.0", "1.2"]), true)).toContain("falls to 0.32");
});

test("its stations are those that it tells of", () => {
  const way = wayThrough(3);
  const at = (n) => way[STEPS[n].set.station].path.replace("transformer.", "");
  expect([0, 1, 2, 3, 4].map(at)).toEqual([
    "idx",
    "embd",
    "h.0.resid_post",
    "h.1.attn.heads",
    "h.1.resid_mid",
  ]);
});
