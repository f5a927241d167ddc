// Drafted texts come with the large model's own probabilities, whatever the draft is.

import { beforeAll, describe, expect, test } from "vitest";
import { inMemory, loadModel } from "../load.mjs";
import { PlainBackend } from "../plain.mjs";
import { race } from "../race.mjs";
import { draw, nextProbabilities, randomNumbers } from "../sampling.mjs";
import { judge, lacking, speculate } from "../speculative.mjs";
import { stream } from "../generation.mjs";
import { randomModel } from "./cases.mjs";
import { startEngine } from "./engine.mjs";
import { CRANE } from "./files.mjs";

const SMALL = { vocab_size: 5, n_positions: 12, n_layer: 1, n_head: 1, n_embd: 3 };
const PROMPT = [3, 0];

const load = ({ config, weights }) =>
  loadModel(config, inMemory(weights), () => new PlainBackend());
const rows = async (model, ids) => {
  const logits = await model.forward(ids);
  const V = model.config.vocabSize;
  return ids.map((_, i) => logits.slice(i * V, (i + 1) * V));
};
const all = async (rounds) => {
  const found = [];
  for await (const round of rounds) found.push(round);
  return found;
};
const kept = ({ drafted, accepted, next }) => [
  ...drafted.slice(0, accepted),
  ...(next === null ? [] : [next]),
];

let [model, draft] = [];
beforeAll(async () => {
  model = await load(randomModel(SMALL));
  draft = await load(randomModel({ ...SMALL, n_layer: 2, n_embd: 4, n_positions: 11 }));
});

/** Pearson's statistic of counts against probabilities. */
const chiSquare = (counts, expected) => {
  const n = counts.reduce((a, b) => a + b);
  return counts.reduce(
    (sum, count, i) => sum + (count - n * expected[i]) ** 2 / (n * expected[i]),
    0,
  );
};

describe("a token that was judged comes with the probability p", () => {
  const P = Float64Array.of(0.5, 0.2, 0.3, 0);
  const Q = Float64Array.of(0.1, 0.3, 0.35, 0.25);
  /** The law of what is written, by evenly spread darts. */
  const law = (rule) => {
    const [found, STEPS] = [[0, 0, 0, 0], 500];
    for (const [id, q] of Q.entries()) {
      for (let i = 0; i < STEPS ** 2; i++) {
        const even = [(i % STEPS) / STEPS, Math.floor(i / STEPS) / STEPS];
        const { accepted, next } = rule([P, P], [Q], [id], () => even.shift() ?? 0);
        found[accepted ? id : next] += q / STEPS ** 2;
      }
    }
    return found;
  };
  test("by the rule", () => {
    for (const [id, share] of law(judge).entries()) expect(share).toBeCloseTo(P[id], 2);
    expect(Array.from(lacking(P, Q))).toEqual([1, 0, 0, 0]);
  });
  test("and not if what is rejected is drawn anew from p", () => {
    const wrong = (p, q, [id], random) => {
      if (random() * q[0][id] < p[0][id]) return { accepted: 1, next: 0 };
      return { accepted: 0, next: draw(p[0], random) };
    };
    expect(Math.abs(law(wrong)[0] - P[0])).toBeGreaterThan(0.05);
  });
});

test("texts of three tokens come as often as the large model has them", async () => {
  const [V, DRAWS] = [SMALL.vocab_size, 3000];
  const expected = [];
  const walk = async (ids, p, left) => {
    if (!left) return expected.push(p);
    const next = nextProbabilities((await rows(model, ids)).at(-1));
    for (let id = 0; id < V; id++) await walk([...ids, id], p * next[id], left - 1);
  };
  await walk(PROMPT, 1, 3);
  const count = async (own, more) => {
    const counts = expected.map(() => 0);
    for (let seed = 0; seed < DRAWS; seed++) {
      const settings = { ahead: 2, seed, ...more };
      const [a, b, c] = (await all(speculate(...own, PROMPT, 3, settings))).flatMap(kept);
      counts[(a * V + b) * V + c]++;
    }
    return chiSquare(counts, expected);
  };
  // 124 degrees of freedom: one statistic in 10,000 is above 187.
  expect(await count([model, draft])).toBeLessThan(187);
  expect(await count([model, draft], { draftTemperature: 2 })).toBeLessThan(187);
  expect(await count([draft, model])).toBeGreaterThan(400); // these are the draft's
});

test("with their caches both models see the text as it is", async () => {
  let [accepted, rejected] = [0, 0];
  for (let seed = 0; seed < 20; seed++) {
    const ids = [...PROMPT];
    for (const round of await all(speculate(model, draft, PROMPT, 9, { ahead: 4, seed }))) {
      const { drafted, p, q } = round;
      const read = [...ids, ...drafted];
      const shares = async (one) => (await rows(one, read)).map((row) => nextProbabilities(row));
      const expected = (await shares(model)).slice(-drafted.length - 1);
      const own = (await shares(draft)).slice(-drafted.length - 1, -1);
      expect([p.length, q.length]).toEqual([drafted.length + 1, drafted.length]);
      for (const [found, wanted] of [
        [p, expected],
        [q, own],
      ]) {
        found.forEach((row, i) =>
          row.forEach((share, id) => expect(share).toBeCloseTo(wanted[i][id], 6)),
        );
      }
      round.darts.forEach((dart, i) => {
        const id = drafted[i];
        expect(dart * q[i][id] < p[i][id]).toBe(i < round.accepted);
      });
      accepted += round.accepted;
      rejected += drafted.length - round.accepted;
      ids.push(...kept(round));
    }
    expect(ids.length).toBe(PROMPT.length + 9);
  }
  expect(Math.min(accepted, rejected)).toBeGreaterThan(20);
});

test("at temperature 0 the text is the greedy one", async () => {
  const alone = await all(stream(model, PROMPT, 8, { temperature: 0 }));
  for (const own of [draft, model]) {
    const rounds = await all(speculate(model, own, PROMPT, 8, { temperature: 0, ahead: 3 }));
    expect(rounds.flatMap(kept)).toEqual(alone.map(({ id }) => id));
    if (own === model) expect(rounds.map((one) => one.accepted)).toEqual([3, 3]);
  }
});

test("a text ends at its end, drafted or not", async () => {
  const random = randomNumbers(1);
  const ends = { drafted: 0, next: 0 };
  for (let n = 0; n < 60; n++) {
    const settings = { ahead: 3, seed: Math.floor(1e6 * random()), eosId: 4 };
    const rounds = await all(speculate(model, draft, PROMPT, 9, settings));
    const ids = rounds.flatMap(kept);
    const last = rounds.at(-1);
    expect(ids.indexOf(4)).toBe(ids.at(-1) === 4 ? ids.length - 1 : -1);
    expect(ids.length === 9 || ids.at(-1) === 4).toBe(true);
    if (ids.at(-1) === 4) ends[last.next === 4 ? "next" : "drafted"]++;
  }
  expect(Math.min(ends.drafted, ends.next)).toBeGreaterThan(0);
});

test("a long prompt is read in parts", async () => {
  const [crane, own] = await Promise.all([load(CRANE), load(CRANE)]);
  const prompt = Array.from({ length: 100 }, (_, i) => (7 * i) % 1000);
  const [first, ...rest] = await all(speculate(crane, own, prompt, 20, { ahead: 6 }));
  expect([first, ...rest].every(({ drafted, accepted }) => accepted === drafted.length)).toBe(true);
  const expected = nextProbabilities((await rows(crane, [...prompt, ...first.drafted])).at(-1));
  expected.forEach((share, id) => expect(first.p.at(-1)[id]).toBeCloseTo(share, 5));
});

test("what cannot be drafted is refused", async () => {
  const other = await load(randomModel({ ...SMALL, vocab_size: 6 }));
  const refused = (said, ...given) => expect(all(speculate(...given))).rejects.toThrow(said);
  await refused("the draft has 6 tokens and the model 5", model, other, PROMPT, 3);
  await refused("do not fit into a window of 11", model, draft, PROMPT, 11);
  await refused("do not fit into a window of 11", draft, model, PROMPT, 11);
  for (const ahead of [0, 1.5, "4", null]) {
    await refused("at least 1 token ahead, not", model, draft, PROMPT, 3, { ahead });
  }
  await refused("0 or more", model, draft, PROMPT, -1);
  await refused("at least one id", model, draft, [], 3);
  await refused("temperature", model, draft, PROMPT, 3, { temperature: -1 });
  await refused("temperature", model, draft, PROMPT, 3, { draftTemperature: NaN });
  expect(await all(speculate(model, draft, PROMPT, 0))).toEqual([]);
});

test("behind messages it is the same, and a draft that is not there is named", async () => {
  const engine = startEngine();
  await engine.load("large", { ...randomModel(SMALL), backend: "plain" });
  const request = { draft: "small", ids: PROMPT, n: 6, settings: { ahead: 2, seed: 3 } };
  await expect(engine.speculate("large", request)).rejects.toThrow('no model "small"');
  const files = randomModel({ ...SMALL, n_layer: 2, n_embd: 4, n_positions: 11 });
  await engine.load("small", { ...files, backend: "plain" });
  const { rounds } = await engine.speculate("large", request);
  expect(rounds).toEqual(await all(speculate(model, draft, PROMPT, 6, request.settings)));
  const race = engine.race("large", request, () => race.cancel());
  await expect(race.answer).rejects.toThrow("cancelled");
});

test("a race measures both ways, in turns", async () => {
  const told = [];
  const settings = { ahead: 2, turns: 3, least: 5 };
  const found = await race(model, draft, PROMPT, 6, settings, (share) => told.push(share));
  expect([found.plain.length, found.drafted.length]).toEqual([3, 3]);
  const { passes } = found;
  for (const number of [...found.plain, ...found.drafted, ...Object.values(passes)]) {
    expect(number).toBeGreaterThan(0);
  }
  expect(found.perPass).toBeGreaterThan(1);
  expect(found.perPass).toBeLessThanOrEqual(3);
  expect(told).toEqual([0.2, 0.4, 0.6, 0.8]);
  const stopped = race(model, draft, PROMPT, 6, settings, () => {
    throw new Error("stopped");
  });
  await expect(stopped).rejects.toThrow("stopped");
});
