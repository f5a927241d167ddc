// Training gives PyTorch's numbers: gradients, those on the tape too, and the losses of a run.

import { describe, expect, test } from "vitest";
import { readConfig } from "../config.mjs";
import { randomNumbers } from "../sampling.mjs";
import { Tape } from "../tape.mjs";
import { DEFAULTS } from "../train/adamw.mjs";
import { Graph } from "../train/graph.mjs";
import { IGNORED } from "../train/loss.mjs";
import { places } from "../train/parameters.mjs";
import { simdArithmetic } from "../train/simd.mjs";
import { plainArithmetic, Trainer } from "../train/trainer.mjs";
import { BITS, checksum } from "./runs.mjs";
import { ARITHMETIC, begin, cases, defaults, EVEN, initial, LARGER } from "./training.mjs";
import { ODD, policy, settings, SWITCHES } from "./training.mjs";

const size = (shape) => shape.reduce((a, b) => a * b, 1);

/** How far values are from a sample of PyTorch's, relative to the largest of them. */
function apart(values, { shape, every, values: expected }) {
  expect(values.length).toBe(size(shape));
  const largest = Math.max(...expected.map(Number).filter(Number.isFinite).map(Math.abs));
  const differences = expected.map((given, i) =>
    values[i * every] === Number(given) ? 0 : Math.abs(values[i * every] - Number(given)),
  );
  return Math.max(...differences) / (largest || 1);
}

function compareGradients(trainer, grads, random) {
  for (const { name, shape, every, values, largest, product } of grads) {
    const grad = trainer.parameters.get(name).grad.data;
    expect(trainer.parameters.get(name).shape, name).toEqual(shape);
    for (const [i, value] of values.entries()) {
      expect(Math.abs(grad[i * every] - value) / largest, name).toBeLessThan(1e-5);
    }
    const sum = grad.reduce((sum, d) => sum + d * (random() - 0.5), 0);
    const room = 1e-5 * largest * Math.sqrt(grad.length);
    expect(Math.abs(sum - product), name).toBeLessThan(room);
  }
}

describe.each(ARITHMETIC)("%s", (label, arithmetic) => {
  test.each(Object.entries(cases))("gradients of %s", async (_, expected) => {
    const { trainer, random } = await begin(expected, arithmetic);
    const { ids, targets } = expected;
    expect(trainer.loss(ids, targets)).toBeCloseTo(expected.losses[0], 5);
    trainer.backward(ids, targets); // whose gradients the next does not keep
    expect(trainer.backward(ids, targets)).toBeCloseTo(expected.losses[0], 5);
    expect([...trainer.parameters.keys()].sort()).toEqual(
      expected.grads.map(({ name }) => name).sort(),
    );
    compareGradients(trainer, expected.grads, random);
  });

  test.each(Object.entries(policy))("a policy gradient with a rein, %s", async (name, expected) => {
    const { trainer, random } = await begin(cases[name], arithmetic);
    const { ids } = cases[name];
    const { targets, weights, rein, loss, entropy, divergence, grads } = expected;
    for (let i = 0; i < ids.length; i++) random(); // the weights of the positions
    const own = trainer.state().weights;
    const copy = own.map((w) => w / 2);
    trainer.backward(ids, targets); // whose gradients the next does not keep
    const found = trainer.policy(ids, targets, weights, { rein, copy });
    expect(found.loss).toBeCloseTo(loss, 5);
    expect(found.entropy).toBeCloseTo(entropy, 5);
    expect(found.divergence).toBeCloseTo(divergence, 5);
    expect(trainer.state().weights).toEqual(own);
    compareGradients(trainer, grads, random);
  });

  // Fifty; ten where plain loops go over a hundred thousand weights.
  test.each(Object.entries(cases))("steps of %s", async (_, expected) => {
    const { trainer } = await begin(expected, arithmetic);
    const slow = label === "plain" && trainer.regions.weights.data.length > 100_000;
    for (const [i, loss] of expected.losses.slice(0, slow ? 10 : 50).entries()) {
      const found = trainer.step(expected.ids, expected.targets);
      expect(Math.abs(found.loss - loss)).toBeLessThan(1e-4);
      expect(found.norm / expected.norms[i]).toBeCloseTo(1, 3);
    }
  });

  test("the tape has every tensor with its gradient", async () => {
    const { trainer } = await begin(ODD, arithmetic);
    const tape = new Tape();
    for (let twice = 0; twice < 2; twice++) trainer.backward(ODD.ids, ODD.targets, { tape });
    expect([...tape.noted.keys()]).toEqual(ODD.noted.map(({ path }) => path));
    for (const { path, axes, grad, ...sample } of ODD.noted) {
      const own = tape.noted.get(path);
      expect(own).toMatchObject({ axes, shape: sample.shape });
      expect(apart(own.values, sample), path).toBeLessThan(1e-5);
      expect(apart(own.grad, grad), path).toBeLessThan(1e-5);
    }
  });

  test.each(SWITCHES)("the tape has what the model computes with %o", async (switches) => {
    const { trainer } = await begin(ODD, arithmetic, { switches });
    const [step, pass] = [new Tape(), new Tape()];
    trainer.backward(ODD.ids, ODD.targets, { tape: step });
    await trainer.model.forward(ODD.ids.slice(0, ODD.T), { tape: pass, switches });
    expect([...step.noted.keys()]).toEqual([...pass.noted.keys()]);
    for (const [path, { axes, values }] of pass.noted) {
      const first = step.noted.get(path).values.subarray(0, values.length);
      expect(apart(first, { shape: [values.length], every: 1, values: [...values] }), path) //
        .toBeLessThan(1e-5);
      expect(step.noted.get(path).axes).toBe(axes);
    }
  });

  // A random direction, not that of the gradient: along that one a gradient which is missing is not
  // missed.
  test.each(SWITCHES)("gradients are slopes of the loss with %o", async (switches) => {
    const { trainer, random } = await begin(ODD, arithmetic, { switches });
    const { ids, targets } = ODD;
    trainer.backward(ids, targets);
    const [weights, grads] = [trainer.regions.weights.data, trainer.gradients()];
    const before = weights.slice();
    const signs = before.map(() => (random() < 0.5 ? -1 : 1));
    const step = 2e-3;
    for (const { name, first, end } of places(trainer.config)) {
      const at = (by) => {
        for (let i = first; i < end; i++) weights[i] = before[i] + by * signs[i];
        return trainer.loss(ids, targets);
      };
      const slope = (at(step) - at(-step)) / (2 * step);
      at(0);
      const own = grads.subarray(first, end);
      const expected = own.reduce((sum, d, i) => sum + d * signs[first + i], 0);
      const norm = Math.hypot(...own);
      expect(Math.abs(slope - expected), name).toBeLessThan(2e-3 * norm + 2e-5);
    }
  });
});

test.each([0, 13, 20])("a NaN at logit %s is not lost in a softmax", async (place) => {
  for (const [, arithmetic] of ARITHMETIC) {
    const { backend, softmaxRow } = await arithmetic();
    const [x, out] = [backend.keep([21]), backend.keep([21])];
    expect(softmaxRow(x.data, out.data, 0, 21, 1)).toBeCloseTo(Math.log(21), 5);
    x.data[place] = NaN;
    expect(softmaxRow(x.data, out.data, 0, 21, 1)).toBeNaN();
    expect(out.data.every(Number.isNaN)).toBe(true);
  }
});

test("a graph refuses what it has no gradient for, and names for what it did not compute", () => {
  const { backend, gradients } = plainArithmetic();
  const graph = new Graph(backend, gradients, new Int32Array(2));
  const [x, weight] = [graph.make([2, 3]), { ...graph.make([3, 3]), rows: 3, columns: 3 }];
  const y = graph.gelu(graph.linear(x, weight, null), "tanh");
  const z = graph.add(graph.linear(x, weight, null), y);
  expect(graph.operations.map(({ add }) => add)).toEqual([true, false, false, false]);
  expect(() => graph.linear(y, weight, null)).toThrow("cannot add to a gradient");
  expect(() => graph.note("y", y, "T C")).toThrow("y is not the output of the last operation");
  expect(graph.note("z", z, "T C")).toBe(z);
});

test("a policy gradient without a weight for each position is refused", async () => {
  const { trainer } = await begin(ODD, plainArithmetic);
  const from = { rein: 0, copy: trainer.state().weights };
  expect(() => trainer.policy(ODD.ids, ODD.targets, [1], from)).toThrow(
    "1 weights for 39 positions",
  );
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
});

test("parameters begin like those of a new model in Python", async () => {
  const config = readConfig(LARGER.config);
  const trainer = await Trainer.start(config, plainArithmetic, { T: 8, settings });
  trainer.initialise(randomNumbers(3));
  expect([...trainer.parameters.keys()].sort()).toEqual(initial.map(({ name }) => name).sort());
  for (const { name, mean, std } of initial) {
    const { data } = trainer.parameters.get(name);
    const own = data.reduce((sum, w) => sum + w, 0) / data.length;
    const spread = Math.sqrt(data.reduce((sum, w) => sum + (w - own) ** 2, 0) / data.length);
    expect(Math.abs(own - mean), name).toBeLessThan((5 * std) / Math.sqrt(data.length) + 1e-3);
    expect(spread / (std || 1), name).toBeCloseTo(std ? 1 : 0, 1);
  }
  trainer.initialise(randomNumbers(3), 0.1);
  const { data } = trainer.parameters.get("transformer.wte.weight");
  expect(Math.hypot(...data.subarray(0, 9000)) / Math.sqrt(9000)).toBeCloseTo(0.1, 2);
});

test("a run begins with the settings of Python's", () => {
  expect(DEFAULTS).toEqual(defaults);
});

test("a run has the same bits everywhere in one browser", async () => {
  const { trainer } = await begin(LARGER, simdArithmetic);
  for (let i = 0; i < 20; i++) trainer.step(LARGER.ids, LARGER.targets);
  expect(checksum(trainer.state().weights)).toBe(BITS);
});
