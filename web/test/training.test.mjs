// Training gives PyTorch's numbers: gradients, those on the tape too, and the losses of a run.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { readConfig } from "../config.mjs";
import { stream } from "../generation.mjs";
import { argmax, nextProbabilities } from "../sampling.mjs";
import { Tape } from "../tape.mjs";
import { IGNORED } from "../train/loss.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { plainArithmetic, Trainer } from "../train/trainer.mjs";
import { fixture } from "./files.mjs";
import { BITS, checksum, fill } from "./runs.mjs";

const { cases, settings } = fixture("training");
const ARITHMETIC = { plain: plainArithmetic, SIMD: simdArithmetic };
const EVEN = cases["even sizes"];

/** A trainer of a case, and the random numbers after its weights. */
async function begin(expected, arithmetic, options = {}) {
  const config = readConfig(expected.config);
  const given = { T: expected.T, settings, ...options };
  const trainer = await Trainer.start(config, arithmetic, given);
  return { trainer, random: fill(trainer, expected) };
}

/** How far values are from a sample of PyTorch's, relative to the largest of them. */
function apart(values, { shape, every, values: expected }) {
  expect(values.length).toBe(shape.reduce((a, b) => a * b));
  const largest = Math.max(...expected.map(Number).filter(Number.isFinite).map(Math.abs));
  const differences = expected.map((given, i) =>
    values[i * every] === Number(given) ? 0 : Math.abs(values[i * every] - Number(given)),
  );
  return Math.max(...differences) / largest;
}

describe.each(Object.entries(ARITHMETIC))("%s", (_, arithmetic) => {
  test.each(Object.entries(cases))("gradients of %s", async (_, expected) => {
    const { trainer, random } = await begin(expected, arithmetic);
    const { ids, targets } = expected;
    expect(trainer.loss(ids, targets)).toBeCloseTo(expected.losses[0], 5);
    trainer.backward(ids, targets); // whose gradients the next does not keep
    expect(trainer.backward(ids, targets)).toBeCloseTo(expected.losses[0], 5);
    expect([...trainer.parameters.keys()].sort()).toEqual(
      expected.grads.map(({ name }) => name).sort(),
    );
    for (const { name, shape, every, values, largest, product } of expected.grads) {
      const grad = trainer.parameters.get(name).grad.data;
      expect(trainer.parameters.get(name).shape, name).toEqual(shape);
      for (const [i, value] of values.entries()) {
        expect(Math.abs(grad[i * every] - value) / largest, name).toBeLessThan(1e-5);
      }
      const sum = grad.reduce((sum, d) => sum + d * (random() - 0.5), 0);
      const room = 1e-5 * largest * Math.sqrt(grad.length);
      expect(Math.abs(sum - product), name).toBeLessThan(room);
    }
  });

  test.each(Object.entries(cases))("50 steps of %s", async (_, expected) => {
    const { trainer } = await begin(expected, arithmetic);
    for (const [i, loss] of expected.losses.entries()) {
      const found = trainer.step(expected.ids, expected.targets);
      expect(Math.abs(found.loss - loss)).toBeLessThan(1e-4);
      expect(found.norm / expected.norms[i]).toBeCloseTo(1, 3);
    }
  });

  test("the tape has every tensor with its gradient", async () => {
    const expected = cases["odd sizes"];
    const { trainer } = await begin(expected, arithmetic);
    const tape = new Tape();
    trainer.backward(expected.ids, expected.targets, { tape });
    expect([...tape.noted.keys()]).toEqual(expected.noted.map(({ path }) => path));
    for (const { path, axes, grad, ...sample } of expected.noted) {
      const own = tape.noted.get(path);
      expect(own).toMatchObject({ axes, shape: sample.shape });
      expect(apart(own.values, sample), path).toBeLessThan(1e-5);
      expect(apart(own.grad, grad), path).toBeLessThan(1e-5);
    }
  });
});

test.each([
  {},
  { gelu: "erf" },
  { mask: false },
  { scale: false },
  { positions: false },
  { layerNorm: false },
  { headsOff: new Set(["0.1"]) },
])("the gradient is the slope of the loss with %o", async (switches) => {
  const { trainer } = await begin(EVEN, plainArithmetic, { switches });
  trainer.backward(EVEN.ids, EVEN.targets);
  const [weights, grads] = [trainer.regions.weights.data, trainer.regions.grads.data];
  const squares = grads.reduce((sum, d) => sum + d * d, 0);
  const before = weights.slice();
  const at = (step) => {
    weights.set(before.map((w, i) => w + (step * grads[i]) / Math.sqrt(squares)));
    return trainer.loss(EVEN.ids, EVEN.targets);
  };
  expect((at(0.003) - at(-0.003)) / 0.006 / Math.sqrt(squares)).toBeCloseTo(1, 3);
});

test("a run that was stored goes on bit for bit", async () => {
  const [one, two] = [await begin(EVEN, plainArithmetic), await begin(EVEN, plainArithmetic)];
  const step = ({ trainer }) => trainer.step(EVEN.ids, EVEN.targets).loss;
  for (let i = 0; i < 7; i++) step(one);
  const state = structuredClone(one.trainer.state());
  const losses = [step(one), step(one)];
  two.trainer.restore(state);
  expect([step(two), step(two)]).toEqual(losses);
  expect(two.trainer.state()).toEqual(one.trainer.state());
});

test("trainers that share a batch have the gradients of one", async () => {
  const trainers = [await begin(EVEN, simdArithmetic), await begin(EVEN, simdArithmetic)];
  const loss = trainers[0].trainer.backward(EVEN.ids, EVEN.targets);
  const expected = trainers[0].trainer.gradients();
  const count = EVEN.targets.filter((target) => target !== IGNORED).length;
  const cut = 3 * EVEN.T;
  const losses = [[0, cut], [cut]].map((part, i) => {
    const given = [EVEN.ids, EVEN.targets].map((all) => all.slice(...part));
    return trainers[i].trainer.backward(...given, { count });
  });
  expect(losses[0] + losses[1]).toBeCloseTo(loss, 5);
  const [a, b] = trainers.map(({ trainer }) => trainer.gradients());
  trainers[0].trainer.addGradients(b);
  trainers[1].trainer.addGradients(a);
  const [sum, same] = trainers.map(({ trainer }) => trainer.gradients());
  expect(same).toEqual(sum);
  expect(Math.max(...sum.map((d, i) => Math.abs(d - expected[i])))).toBeLessThan(1e-6);
  expect(() => trainers[0].trainer.addGradients(a.subarray(1))).toThrow(
    "gradients of such a model",
  );
});

test("a model that no browser has the memory for is refused", async () => {
  const large = { ...readConfig(EVEN.config), vocabSize: 2 ** 24, nEmbd: 2048, headSize: 1024 };
  await expect(Trainer.start(large, simdArithmetic)).rejects.toThrow(
    "GB of memory, and a page has at most 2",
  );
});

test("weights stay as they are where gradients are not finite", async () => {
  const { trainer } = await begin(EVEN, plainArithmetic);
  trainer.backward(EVEN.ids, EVEN.targets);
  trainer.regions.grads.data[5] = NaN;
  const before = trainer.state();
  expect(() => trainer.update()).toThrow("the gradients are no longer finite");
  expect(trainer.state()).toEqual(before);
});

test.each(Object.entries(ARITHMETIC))("memory is planned once in %s", async (_, arithmetic) => {
  const { trainer } = await begin(EVEN, arithmetic);
  const { backend } = trainer.arithmetic;
  const keep = vi.spyOn(backend, "keep");
  const used = [backend.used, backend.memory?.buffer.byteLength];
  for (let i = 0; i < 3; i++) trainer.step(EVEN.ids, EVEN.targets);
  trainer.loss(EVEN.ids, EVEN.targets);
  expect(keep).not.toHaveBeenCalled();
  expect([backend.used, backend.memory?.buffer.byteLength]).toEqual(used);
});

test("a trainer that was closed holds no memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const { trainer, memory } = await (async () => {
    const { trainer } = await begin(EVEN, simdArithmetic);
    trainer.step(EVEN.ids, EVEN.targets);
    return { trainer, memory: new WeakRef(trainer.arithmetic.backend.memory) };
  })();
  collect();
  expect(memory.deref()).toBeDefined();
  trainer.close();
  await new Promise((resolve) => setTimeout(resolve)); // what a task has seen lives until its end
  collect();
  expect(memory.deref()).toBeUndefined();
});

test.each(Object.entries(ARITHMETIC))("a model in training can write in %s", async (_, given) => {
  const { trainer } = await begin(EVEN, given);
  const row = EVEN.ids.slice(0, EVEN.T);
  const last = [...Array(EVEN.T - 1).fill(IGNORED), 5];
  const [before, state] = [trainer.loss(row, last), trainer.state()];
  const written = [];
  for await (const { id } of stream(trainer.model, row, 1, { temperature: 0 })) written.push(id);
  const logits = await trainer.model.forward(row, { lastOnly: true });
  expect(written).toEqual([argmax(logits)]);
  expect(-Math.log(nextProbabilities(logits)[5])).toBeCloseTo(before, 5);
  expect(trainer.state()).toEqual(state);
  trainer.step(row, last);
  expect(trainer.loss(row, last)).toBeLessThan(before);
});

test("a run has the same bits on every machine", async () => {
  const { trainer } = await begin(EVEN, simdArithmetic);
  for (let i = 0; i < 20; i++) trainer.step(EVEN.ids, EVEN.targets);
  expect(checksum(trainer.state().weights)).toBe(BITS);
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

test.each([
  [{ warmupSteps: 50, steps: 50 }, "warmupSteps=50 must be below steps=50"],
  [{ lr: NaN }, "lr must be 0 or more"],
  [{ beta2: 1 }, "must be below 1"],
  [{ speed: 3 }, "there is no setting speed"],
])("settings %j are refused", async (settings, said) => {
  await expect(begin(EVEN, plainArithmetic, { settings })).rejects.toThrow(said);
});
