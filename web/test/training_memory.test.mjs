// A run takes its memory once, as much as was said before, and gives it back; or it is refused.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { readConfig } from "../config.mjs";
import { randomNumbers } from "../sampling.mjs";
import { bytesOf } from "../train/bytes.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { Trainer } from "../train/trainer.mjs";
import { ARITHMETIC, begin, cases, EVEN, LARGER } from "./training.mjs";

const step = (trainer, { ids, targets } = EVEN) => trainer.step(ids, targets);

test.each(ARITHMETIC)(
  "memory is planned once, and as much as was said, in %s",
  async (_, arithmetic) => {
    const wide = { vocab_size: 300, n_positions: 128, n_layer: 4, n_head: 8, n_embd: 128 };
    const others = Object.values(cases).map(({ config, T }) => ({ config, T }));
    for (const { config: text, T } of [...others, { config: JSON.stringify(wide), T: 128 }]) {
      const config = readConfig(text);
      const trainer = await Trainer.start(config, arithmetic, { T });
      trainer.initialise(randomNumbers(1));
      const { backend } = trainer.arithmetic;
      const keep = vi.spyOn(backend, "keep");
      const used = [backend.used, backend.memory?.buffer.byteLength];
      const ids = Array.from({ length: 2 * T }, (_, i) => i % 40);
      for (let i = 0; i < 2; i++) trainer.step(ids, ids);
      trainer.loss(ids, ids);
      expect(keep).not.toHaveBeenCalled();
      expect([backend.used, backend.memory?.buffer.byteLength]).toEqual(used);
      if (!backend.used) continue;
      expect(bytesOf(config, { T }) / backend.used).toBeGreaterThan(0.8);
      expect(bytesOf(config, { T }) / backend.used).toBeLessThan(1.5);
    }
  },
);

test("a model that no browser has the memory for is refused, and then a small one starts", async () => {
  const small = readConfig(EVEN.config);
  const large = { ...small, vocabSize: 2 ** 24, nEmbd: 2048, headSize: 1024 };
  await expect(Trainer.start(large, simdArithmetic)).rejects.toThrow(
    "this run takes up to 553 GB of memory, and a page has at most 2",
  );
  const full = async () => {
    const arithmetic = await simdArithmetic();
    const { memory } = arithmetic.backend;
    const grow = memory.grow.bind(memory);
    memory.grow = () => grow(70_000); // pages, of which there are 65,536
    return arithmetic;
  };
  const wide = { ...small, nEmbd: 512, headSize: 256 };
  await expect(Trainer.start(wide, full)).rejects.toThrow("this browser has no memory");
  await expect(Trainer.start(small, () => Promise.reject(TypeError("x")))).rejects.toThrow("x");
  expect(step((await begin(EVEN, simdArithmetic)).trainer).loss).toBeCloseTo(EVEN.losses[0], 5);
});

test.each([0, 9, 1.5, NaN, "8"])("rows of %s tokens are refused", async (T) => {
  await expect(begin(EVEN, simdArithmetic, { T })).rejects.toThrow(
    `a row must have a whole number of tokens from 1 to 8, not ${T}`,
  );
});

test("runs that were closed leave memory for the next", { timeout: 60_000 }, async () => {
  const config = { ...readConfig(LARGER.config), vocabSize: 40_000 }; // 45 MB
  for (let i = 0; i < 50; i++) {
    const trainer = await Trainer.start(config, simdArithmetic, { T: 4 });
    trainer.close();
  }
});

test("a trainer that was closed holds no memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const { trainer, memory } = await (async () => {
    const { trainer } = await begin(EVEN, simdArithmetic);
    step(trainer);
    return { trainer, memory: new WeakRef(trainer.arithmetic.backend.memory) };
  })();
  collect();
  expect(memory.deref()).toBeDefined();
  trainer.close();
  await new Promise((resolve) => setTimeout(resolve)); // what a task has seen lives until its end
  collect();
  expect(memory.deref()).toBeUndefined();
});
