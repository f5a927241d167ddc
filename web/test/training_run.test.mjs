// A run is stored, continued, changed and refused; non-finite values, and text between steps.

import { describe, expect, test } from "vitest";
import { readConfig } from "../config.mjs";
import { argmax, nextProbabilities, randomNumbers } from "../sampling.mjs";
import { changed, DEFAULTS } from "../train/adamw.mjs";
import { IGNORED } from "../train/loss.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { plainArithmetic, Trainer } from "../train/trainer.mjs";
import { ARITHMETIC, begin, EVEN, LARGER, ODD, settings } from "./training.mjs";

const step = (trainer, { ids, targets } = EVEN) => trainer.step(ids, targets);

describe.each(ARITHMETIC)("%s", (_, arithmetic) => {
  test("a restored run continues bit for bit", async () => {
    const { trainer } = await begin(ODD, arithmetic, { switches: { headsOff: ["1.2"] } });
    for (let i = 0; i < 7; i++) step(trainer, ODD);
    trainer.change({ lr: 1e-3, weightDecay: 0.2 });
    step(trainer, ODD);
    const state = structuredClone(trainer.state());
    const steps = [step(trainer, ODD), step(trainer, ODD)];
    const second = await Trainer.start(state.config, arithmetic, { state });
    expect([step(second, ODD), step(second, ODD)]).toEqual(steps);
    expect(second.state()).toEqual(trainer.state());
    trainer.restore(state);
    expect(trainer.state()).toEqual(state);
    expect([step(trainer, ODD), step(trainer, ODD)]).toEqual(steps);
  });

  test("a step that is not finite leaves nothing behind", async () => {
    const { trainer } = await begin(ODD, arithmetic);
    const { trainer: fresh } = await begin(ODD, arithmetic);
    const good = trainer.state();
    for (const bad of [NaN, Infinity]) {
      trainer.regions.weights.data.fill(bad);
      expect(() => step(trainer, ODD)).toThrow("the loss is no longer finite");
    }
    trainer.restore(good);
    expect(step(trainer, ODD)).toEqual(step(fresh, ODD));
    expect(trainer.state()).toEqual(fresh.state());
  });

  test("weights stay as they are where gradients are not finite", async () => {
    const { trainer } = await begin(EVEN, arithmetic);
    trainer.backward(EVEN.ids, EVEN.targets);
    trainer.regions.grads.data[5] = NaN;
    const before = trainer.state();
    expect(() => trainer.update()).toThrow("the gradients are no longer finite: choose a lower");
    expect(trainer.state()).toEqual(before);
  });

  test("weights that are not finite after a step are noticed in this step", async () => {
    const { trainer } = await begin(EVEN, arithmetic);
    const good = trainer.state();
    trainer.change({ lr: 1e300, weightDecay: 0 });
    expect(() => step(trainer)).toThrow("weights are no longer finite: choose a lower learning");
    trainer.restore(good);
    expect(step(trainer).loss).toBeCloseTo(EVEN.losses[0], 5);
  });

  test("a gradient may be long", async () => {
    const { trainer } = await begin(EVEN, arithmetic);
    const before = trainer.state();
    const grads = trainer.regions.grads.data;
    grads.fill(1e25);
    expect(trainer.update().norm / (1e25 * Math.sqrt(grads.length))).toBeCloseTo(1, 5);
    const { weights } = trainer.state();
    expect(weights.every((w, i) => Math.abs(w - before.weights[i]) < 0.01)).toBe(true);
    grads.fill(1e25);
    trainer.change({ gradClip: 0 }); // its square is more than a float32 holds
    expect(() => trainer.update()).toThrow("the weights are no longer finite");
  });

  test("a model in training can write", async () => {
    const switches = { headsOff: new Set(["0.1"]), scale: false };
    const { trainer } = await begin(EVEN, arithmetic, { switches });
    const row = EVEN.ids.slice(0, EVEN.T);
    const last = [...Array(EVEN.T - 1).fill(IGNORED), 5];
    const [before, state] = [trainer.loss(row, last), trainer.state()];
    const written = await trainer.write(row, 1, { temperature: 0 });
    const logits = await trainer.model.forward(row, { lastOnly: true, switches });
    expect(written).toEqual([argmax(logits)]);
    expect(-Math.log(nextProbabilities(logits)[5])).toBeCloseTo(before, 5);
    expect(trainer.state()).toEqual(state);
    trainer.step(row, last);
    expect(trainer.loss(row, last)).toBeLessThan(before);
  });

  test("no step is taken while a model writes", async () => {
    const { trainer } = await begin(EVEN, arithmetic);
    const state = trainer.state();
    trainer.backward(EVEN.ids, EVEN.targets);
    const text = trainer.write([1, 2], 5, { seed: 3 });
    const said = "the model is writing";
    expect(() => step(trainer)).toThrow(said);
    expect(() => trainer.update()).toThrow(said);
    expect(() => trainer.restore(state)).toThrow(said);
    expect(() => trainer.initialise(randomNumbers(1))).toThrow(said);
    await expect(trainer.write([1], 1)).rejects.toThrow(said);
    const written = await text;
    expect(written).toHaveLength(5);
    expect(await trainer.write([1, 2], 5, { seed: 3 })).toEqual(written);
    await expect(trainer.write([1, 2], 5, { topK: 0 })).rejects.toThrow("top-k");
    step(trainer);
    expect(trainer.steps).toBe(1);
  });

  test("gradients are copies, also after memory has grown", async () => {
    const { trainer } = await begin(EVEN, arithmetic);
    trainer.backward(EVEN.ids, EVEN.targets);
    const grads = trainer.gradients();
    const { memory } = trainer.arithmetic.backend;
    memory?.grow(1); // as a longer text may make it
    await trainer.write([1], 3);
    expect(trainer.gradients()).toEqual(grads);
    trainer.addGradients(structuredClone(grads, { transfer: [grads.buffer] }));
    const twice = trainer.gradients();
    trainer.backward(EVEN.ids, EVEN.targets);
    expect(twice).toEqual(trainer.gradients().map((d) => 2 * d));
    for (const other of [twice.subarray(1), [...twice], undefined]) {
      expect(() => trainer.addGradients(other)).toThrow(`not the ${twice.length} gradients`);
    }
  });
});

test("it does not write past the rows that it learns from", async () => {
  const { trainer } = await begin(LARGER, simdArithmetic);
  expect(await trainer.write(LARGER.ids.slice(0, 60), 5)).toHaveLength(5);
  await expect(trainer.write(LARGER.ids.slice(0, 60), 6)).rejects.toThrow("window of 64");
});

test("initialising resets the whole run", async () => {
  const { trainer } = await begin(EVEN, simdArithmetic);
  for (let i = 0; i < 3; i++) step(trainer);
  trainer.initialise(randomNumbers(7));
  const fresh = await Trainer.start(trainer.config, simdArithmetic, { settings });
  fresh.initialise(randomNumbers(7));
  expect(trainer.state()).toEqual(fresh.state());
  expect(step(trainer)).toEqual(step(fresh));
  expect(trainer.state()).toEqual(fresh.state());
});

describe("settings", () => {
  test("a run of few steps warms up for a tenth of them", () => {
    expect(changed(DEFAULTS, { steps: 20 }).warmupSteps).toBe(2);
    expect(changed(DEFAULTS, { steps: 101 }).warmupSteps).toBe(100);
    expect(() => changed(DEFAULTS, { steps: 20, warmupSteps: 20 })).toThrow("must be below");
  });

  test.each([
    [{ warmupSteps: 50, steps: 50 }, "warmupSteps=50 must be below steps=50"],
    [{ lr: NaN }, "lr must be 0 or more"],
    [{ lr: 0 }, "lr must be above 0"],
    [{ lr: "1" }, "lr must be 0 or more, not 1"],
    [{ minLr: 1 }, "minLr=1 is above lr=0.003"],
    [{ steps: 60.5 }, "steps must be a whole number, 0 or more, not 60.5"],
    [{ warmupSteps: -1 }, "warmupSteps must be a whole number"],
    [{ beta2: 1 }, "must be below 1"],
    [{ lr: 20 }, "lr=20 times weightDecay=0.1 is above 1"],
    [{ gradClip: undefined }, "gradClip must be 0 or more, not undefined"],
    [{ speed: 3 }, "there is no setting speed"],
    [{ toString: 3 }, "there is no setting toString"],
  ])("%o are refused, before and during a run", async (wrong, said) => {
    const both = { ...settings, ...wrong };
    await expect(begin(EVEN, plainArithmetic, { settings: both })).rejects.toThrow(said);
    const { trainer } = await begin(EVEN, plainArithmetic);
    expect(() => trainer.change(wrong)).toThrow(said);
    expect(trainer.settings).toEqual(settings);
  });

  test("change in the next step", async () => {
    const { trainer } = await begin(EVEN, plainArithmetic);
    for (let i = 0; i < settings.warmupSteps; i++) step(trainer);
    expect(trainer.change({ lr: 1e-2 })).toEqual({ ...settings, lr: 1e-2 });
    expect(step(trainer).lr).toBeGreaterThan(9e-3);
    expect(() => (trainer.settings.lr = NaN)).toThrow(TypeError);
  });

  test("a learning rate that is dragged below the last one takes it along", async () => {
    const { trainer } = await begin(EVEN, plainArithmetic, { settings: { lr: 1e-2, minLr: 1e-3 } });
    expect(trainer.change({ lr: 5e-3 }).minLr).toBe(1e-3);
    expect(trainer.change({ lr: 1e-4 }).minLr).toBeCloseTo(2e-5, 10);
    trainer.change({ minLr: 1e-4 });
    expect(trainer.change({ lr: 1e-6 }).minLr).toBe(1e-6);
    expect(() => trainer.change({ lr: 1e-7, minLr: 1e-6 })).toThrow("lower it");
  });
});

test.each([
  ["another version", { version: 2 }, "no stored run"],
  ["another model", { config: { ...readConfig(EVEN.config), nHead: 4 } }, "of another model"],
  ["another epsilon", { config: { ...readConfig(EVEN.config), layerNormEpsilon: 1e-6 } }, "model"],
  ["no model", { config: undefined }, "of another model"],
  ["other rows", { T: 4 }, "of another model"],
  ["other switches", { switches: { mask: false } }, "other switches"],
  ["heads off", { switches: { headsOff: new Set(["0.0"]) } }, "other switches"],
  ["another order", { switches: { order: [] } }, "other switches"],
  ["no settings", { settings: undefined }, "steps must be"],
  ["wrong settings", { settings: { ...settings, lr: NaN } }, "lr must be"],
  ["no step", { step: undefined }, "its step cannot be right"],
  ["half a step", { step: 1.5 }, "its step"],
  ["no m", { m: undefined }, "its m cannot be right"],
  ["a short v", { v: new Float32Array(4) }, "its v"],
  ["numbers of another type", { weights: [1, 2] }, "its weights"],
])("a state with %s is refused, and nothing of it is taken", async (_, wrong, said) => {
  const { trainer } = await begin(EVEN, plainArithmetic);
  step(trainer);
  const before = trainer.state();
  const other = { ...before, weights: before.weights.map((w) => w + 1), step: 30, ...wrong };
  expect(() => trainer.restore(other)).toThrow(said);
  expect(trainer.state()).toEqual(before);
});

test.each([
  ["weights", NaN],
  ["m", Infinity],
  ["v", -1],
])("a state with %s of %d is refused", async (name, value) => {
  const { trainer } = await begin(EVEN, plainArithmetic);
  const before = trainer.state();
  const wrong = trainer.state();
  wrong[name][7] = value;
  expect(() => trainer.restore(wrong)).toThrow(`its ${name} cannot be right`);
  expect(trainer.state()).toEqual(before);
  for (const nothing of [undefined, null, "run"]) {
    expect(() => trainer.restore(nothing)).toThrow("no stored run");
  }
});

test.each([
  [[1, 2], [2, 3], "2 ids and 2 targets are not the same number of rows of 8"],
  [Array(8).fill(1), Array(16).fill(1), "8 ids and 16 targets"],
  [Array(8).fill(48), Array(8).fill(1), "the id 48 or the target 1 is outside the vocabulary"],
  [Array(8).fill(1), Array(8).fill(-1), "the target -1 is outside the vocabulary"],
  [Array(8).fill(1), Array(8).fill(-100), "every target is ignored"],
])("ids %j with targets %j are refused", async (ids, targets, said) => {
  const { trainer } = await begin(EVEN, plainArithmetic);
  expect(() => trainer.step(ids, targets)).toThrow(said);
  expect(() => trainer.loss(ids, targets)).toThrow(said);
});
