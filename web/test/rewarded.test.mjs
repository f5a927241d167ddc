// A run that learns from what it writes: its rewards, what it learns from them, and what the rein does.

import { describe, expect, test } from "vitest";
import { Grammar } from "../language/grammar.mjs";
import { PLOTS, plotOf } from "../language/plots.mjs";
import { story } from "../language/stories.mjs";
import { Loop } from "../runs/loop.mjs";
import { Rewarded, advantages, occurrences, rewardOf } from "../runs/rewarded.mjs";
import { fixture } from "./files.mjs";
import { smallData, smallPlan } from "./runs_data.mjs";

const SMALL = { lr: 0.003, minLr: 0.003, warmupSteps: 0, weightDecay: 0 };

/** Texts of numbers; one is right if each is three times the one before and one. */
function plan(reward, changes = {}) {
  const { settings, ...small } = smallPlan();
  const how = { kind: "right", word: "", rein: 0, group: 12, ...reward };
  return {
    ...small,
    batch: how.group,
    settings: { ...settings, ...SMALL },
    reward: how,
    ...changes,
  };
}

const data = () => ({ ...smallData(), truth: () => 0.5 });

/** Groups of texts, and what is told of them. */
async function groups(run, n) {
  const told = [];
  for (let i = 0; i < n * run.reward.group; i++) {
    expect(await run.advance()).toBe("");
    const report = run.report();
    if (report) told.push(report);
  }
  return told;
}

test("of every story the plot is the one that the grammar chose", () => {
  const grammar = new Grammar(fixture("language").grammar);
  const chosen = [];
  const remember = grammar.remember.bind(grammar);
  grammar.remember = (memory, slot, option) => {
    if (slot.name === "plot") chosen.push(PLOTS[option.value.i]);
    return remember(memory, slot, option);
  };
  const found = Array.from({ length: 1000 }, (_, seed) => plotOf(story(grammar, seed)));
  expect(found).toEqual(chosen);
  expect(new Set(found)).toEqual(new Set(PLOTS));
});

describe("rewards", () => {
  const text = "The crane saw a crane-like thing. Two cranes (or 3?) flew.";
  const written = { ids: [1, 2, 3], text, right: true };

  test.each([
    [{ kind: "right" }, 1],
    [{ kind: "cranes" }, 3],
    [{ kind: "short" }, 0.7],
    [{ kind: "word", word: "crane" }, 2],
    [{ kind: "word", word: " THE Crane " }, 1],
    [{ kind: "word", word: "" }, 0],
    [{ kind: "word", word: "(or 3?)" }, 1],
    [{ kind: "word", word: ".*" }, 0],
  ])("for %o", (how, expected) => expect(rewardOf(how, written, 10)).toBeCloseTo(expected, 10));

  test("words are whole ones", () => {
    expect(occurrences("ate", "They ate late, and Ate plates.")).toBe(2);
    expect(occurrences("é", "café é")).toBe(1);
  });

  test("count beside the mean of their group", () => {
    expect(advantages([1, 0, 0, 0])).toEqual([0.75, -0.25, -0.25, -0.25]);
  });
});

test("right texts become more, and the model leaves what it was", async () => {
  const run = await Rewarded.open(plan({ group: 32 }), data());
  const told = await groups(run, 60);
  const [first, last] = [told.slice(0, 5), told.slice(-5)].map((some) => {
    return some.reduce((sum, { right }) => sum + right, 0) / 5;
  });
  expect(last).toBeGreaterThan(first + 0.3);
  expect(told[0].divergence).toBeCloseTo(0, 6);
  expect(told.at(-1).divergence).toBeGreaterThan(0.05);
  expect(told.at(-1).entropy).toBeLessThan(told[0].entropy);
  expect(told.at(-1)).toMatchObject({ step: 60, texts: 32 });
});

test("a rein holds the model near what it was", async () => {
  const run = async (rein) => {
    const told = await groups(await Rewarded.open(plan({ rein, group: 32 }), data()), 40);
    return told.at(-1).divergence;
  };
  expect(await run(1)).toBeLessThan((await run(0)) / 3);
});

test("from equal rewards nothing is learned, but the steps count", async () => {
  const run = await Rewarded.open(plan({ kind: "word", word: "nowhere" }), data());
  const before = run.save().state.weights;
  const told = await groups(run, 3);
  expect(told.map(({ alike }) => alike)).toEqual([1, 1, 1]);
  expect(run.step).toBe(3);
  expect(run.save().state.weights).toEqual(before);
  const reined = await Rewarded.open(plan({ kind: "word", word: "nowhere", rein: 0.1 }), data());
  reined.copy = before.map((w) => w / 2);
  await groups(reined, 1);
  expect(reined.save().state.weights).not.toEqual(before);
});

test("a run that was saved continues bit for bit, reined to where it began", async () => {
  const how = plan({ rein: 0.1 });
  const whole = await Rewarded.open(how, data());
  const start = structuredClone(whole.copy);
  await groups(whole, 4);
  const saved = structuredClone(whole.save());
  await whole.advance(); // a text of the next group, which is written again
  const second = await Rewarded.open(how, data(), { ...saved, weights: start });
  await groups(second, 3);
  while (whole.step < 7) await whole.advance();
  expect(second.save().state.weights).toEqual(whole.save().state.weights);
});

test("weights that are not finite end a run, whose last ones stay", async () => {
  const run = await Rewarded.open(
    plan({}, { settings: { ...plan({}).settings, lr: 1e38 } }),
    data(),
  );
  const good = structuredClone(run.save().state.weights);
  let says = "";
  await expect(
    (async () => {
      for (let i = 0; i < 60 && !says; i++) says = await run.advance();
      return says;
    })(),
  ).resolves.toMatch(/^At step \d+ the loss became infinite/);
  expect(run.save().state.weights).toEqual(good);
});

test("the page is told of groups and of texts, and a pause does not wait for a group", async () => {
  const events = [];
  const answers = new Map();
  const loop = new Loop(({ id, event, result, error, ...rest }) => {
    if (event) events.push({ event, ...structuredClone(rest) });
    else answers.get(id)(error ?? result);
  }, data);
  const ask = (call, request) =>
    new Promise((resolve) => {
      answers.set(answers.size + 1, resolve);
      loop.receive({ id: answers.size, call, ...request });
    });
  const { settings } = plan({});
  await ask("open", { plan: plan({}, { settings: { ...settings, steps: 400 } }) });
  loop.sent.mark = -1e9; // long ago
  await ask("go");
  await expect.poll(() => events.some(({ event }) => event === "mark")).toBe(true);
  const step = await ask("pause");
  const { mark } = events.find(({ event }) => event === "mark");
  expect(mark.texts).toHaveLength(12);
  expect(mark.nats).toBeGreaterThan(0);
  const { text, right, reward, advantage, failsAt, ended } = mark.texts[0];
  expect([typeof text, typeof right, reward, failsAt, typeof ended]).toEqual([
    "string",
    "boolean",
    Number(right),
    0,
    "boolean",
  ]);
  expect(Math.abs(advantage)).toBeLessThanOrEqual(1);
  expect(events.find(({ event }) => event === "report").report.plots).toEqual([0, 0, 0, 0, 0]);
  expect(await ask("go")).toBe(true);
  await expect.poll(() => loop.run.step).toBeGreaterThan(step);
  await ask("pause");
});
