// A training run in a page: it continues bit for bit, two workers are one, and it returns to a good
// state when it diverges.

import { expect, test } from "vitest";
import { History } from "../runs/history.mjs";
import { Loop } from "../runs/loop.mjs";
import { refuse } from "../runs/limits.mjs";
import { Run } from "../runs/run.mjs";
import { follow, Partner } from "../runs/share.mjs";
import { look, mark } from "../runs/show.mjs";
import { smallData, smallPlan } from "./runs_data.mjs";

const SETTINGS = smallPlan().settings;

async function steps(run, n, partner) {
  for (let i = 0; i < n; i++) {
    partner?.send({ settings: run.trainer.settings });
    expect(await run.advance(partner)).toBe("");
  }
}

/** A run of two workers, of which the second follows. */
async function shared(plan, from) {
  const { port1, port2 } = new MessageChannel();
  const runs = [await Run.open(plan, smallData(), from), await Run.open(plan, smallData())];
  const partner = new Partner(port1, 0);
  follow(runs[1], new Partner(port2, 1));
  partner.send({ state: runs[0].trainer.state() });
  const end = () => [port1, port2].forEach((port) => port.close());
  return { runs, partner, end };
}

test.each([1, 2])("a stored run continues bit for bit with %d worker(s)", async (workers) => {
  const plan = smallPlan({ workers });
  const open = async (from) =>
    workers === 2
      ? shared(plan, from)
      : { runs: [await Run.open(plan, smallData(), from)], partner: undefined, end: () => {} };
  const whole = await open();
  const first = await open();
  for (const { runs, partner } of [whole, first]) {
    await steps(runs[0], 13, partner);
    runs[0].trainer.change({ lr: 0.02 });
    await steps(runs[0], 7, partner);
  }
  const saved = structuredClone(first.runs[0].save());
  const second = await open(saved);
  for (const { runs, partner } of [whole, second]) await steps(runs[0], 20, partner);
  expect(second.runs[0].trainer.state()).toEqual(whole.runs[0].trainer.state());
  expect(whole.runs[0].step).toBe(40);
  for (const { end } of [whole, first, second]) end();
});

test("two workers have the same weights, and the losses of one", async () => {
  const { runs, partner, end } = await shared(smallPlan({ workers: 2 }));
  const alone = await Run.open(smallPlan(), smallData());
  await steps(runs[0], 30, partner);
  await steps(alone, 30);
  await expect.poll(() => runs[1].step).toBe(30);
  expect(runs[1].trainer.state()).toEqual(runs[0].trainer.state());
  expect(runs[0].report().loss).toBeCloseTo(alone.report().loss, 5);
  end();
});

test("what fails in the second worker fails in the first", async () => {
  const { runs, partner, end } = await shared(smallPlan({ workers: 2 }));
  runs[1].data.rows = () => {
    throw new Error("no rows");
  };
  partner.send({ settings: SETTINGS });
  await expect(runs[0].advance(partner)).rejects.toThrow("no rows");
  end();
});

test.each([
  ["a learning rate of 10", { lr: 10 }],
  ["a learning rate at which numbers end", { lr: 1e30, weightDecay: 0 }],
])("%s makes a run diverge, from which there is a way back", async (_, settings) => {
  const run = await Run.open(smallPlan(), smallData());
  await steps(run, 40);
  const { state } = structuredClone(run.save());
  await steps(run, 20);
  run.trainer.change(settings);
  let says = await run.advance(); // whose loss is that of the good weights
  run.save();
  for (let i = 0; i < 40 && !says; i++) says = await run.advance();
  expect(says).toMatch(/^At step \d+ the loss (rose to|became infinite).* learning rate of/);
  expect(run.save().state).toEqual(state); // nothing else is stored
  run.back();
  expect(run.step).toBe(40);
  expect(run.trainer.settings).toEqual(SETTINGS);
  await steps(run, 20);
});

test("a run that has just begun returns to its beginning", async () => {
  const run = await Run.open(smallPlan({ settings: { ...SETTINGS, lr: 30 } }), smallData());
  const { state } = run.save();
  let says = "";
  while (!says) says = await run.advance();
  run.back();
  expect(run.trainer.state().weights).toEqual(state.weights);
});

test("what is learned is seen", async () => {
  const run = await Run.open(smallPlan(), smallData());
  const before = await mark(run);
  expect(run.report()).toBeNull();
  await steps(run, 200);
  const report = run.report();
  expect(report).toMatchObject({ step: 200, tokens: 200 * 5 * 7 });
  expect(report.lr).toBeLessThan(0.01);
  const after = await mark(run);
  expect([before.right, after.right]).toEqual([false, true]);
  expect(after.held).toBeLessThan(before.held / 2);
  const { heads, layers } = await look(run);
  expect(heads.map(({ length }) => length)).toEqual([16, 16, 16, 16]);
  for (const head of heads) expect(head.slice(4, 8).reduce((a, b) => a + b)).toBeCloseTo(1, 5);
  expect(layers.map(({ name }) => name)).toEqual(["wte", "wpe", "h.0", "h.1", "ln_f"]);
  for (const { largest } of layers) expect(largest).toBeGreaterThan(0);
});

/** A loop in this thread: `ask` waits for its answer, `events` are what it told. */
function looped() {
  const events = [];
  const asked = [];
  const loop = new Loop((message, transfer) => {
    const { id, event, result, error } = structuredClone(message, { transfer });
    if (event) events.push(message);
    else if (error === undefined) asked[id].resolve(result);
    else asked[id].reject(new Error(error));
  }, smallData);
  const ask = (call, request) =>
    new Promise((resolve, reject) => {
      asked.push({ resolve, reject });
      loop.receive({ id: asked.length - 1, call, ...request });
    });
  const told = (name) => expect.poll(() => events.find(({ event }) => event === name));
  return { loop, ask, events, told };
}

test("a worker trains until it is told to pause, and to the end", async () => {
  const { ask, events, told } = looped();
  await expect(ask("go")).rejects.toThrow("there is no run: open one first");
  expect(await ask("open", { plan: smallPlan() })).toHaveLength(256);
  expect(await ask("describe")).toMatchObject({ vocabSize: 17, tokens: ["", "0", "1", "4"] });
  expect(await ask("go")).toBe(true);
  const step = await ask("pause");
  const { state } = await ask("save");
  expect(state.step).toBe(step);
  expect(await ask("save")).toMatchObject({ state }); // what was sent is a copy
  await expect(ask("set", { settings: { lr: NaN } })).rejects.toThrow("lr must be");
  expect(await ask("set", { settings: { steps: step + 30 } })).toMatchObject({ steps: step + 30 });
  await ask("go");
  expect(await ask("write", { text: "", seed: 1 })).toHaveProperty("text");
  expect(await ask("judge")).toMatchObject({ of: 20 });
  await told("done").toEqual({ event: "done", step: step + 30 });
  expect(await ask("go")).toBe(false);
  const { report } = events.findLast(({ event }) => event === "report");
  expect(report.step).toBe(step + 30);
});

test("a worker begins with weights whose tokens are those of the data", async () => {
  const { loop, ask } = looped();
  const merges = await ask("open", { plan: smallPlan() });
  const weights = loop.run.trainer.state().weights.map((w) => w / 2);
  await ask("open", { plan: smallPlan(), weights, merges });
  expect(loop.run.trainer.state()).toMatchObject({ step: 0, weights });
  const others = merges.toReversed();
  const refused = ask("open", { plan: smallPlan(), weights, merges: others });
  await expect(refused).rejects.toThrow("other tokens than these texts");
});

test("a worker tells that a run diverges, and goes on from the good state", async () => {
  const { ask, told, events } = looped();
  await ask("open", { plan: smallPlan() });
  await ask("set", { settings: { lr: 30 } });
  await ask("go");
  await told("diverged").toMatchObject({ good: 0, says: expect.stringContaining("of 30") });
  await expect(ask("go")).rejects.toThrow("has diverged");
  expect(await ask("back")).toMatchObject({ step: 0, settings: SETTINGS });
  await ask("set", { settings: { steps: 50 } });
  expect(await ask("go")).toBe(true);
  await told("done").toBeDefined();
  expect(events.filter(({ event }) => event === "failed")).toEqual([]);
});

test("a step that throws ends with its message", async () => {
  const { loop, ask, told } = looped();
  await ask("open", { plan: smallPlan() });
  loop.run.data.rows = () => ({ ids: new Int32Array(3), targets: new Int32Array(3) });
  await ask("go");
  await told("failed").toMatchObject({ says: expect.stringContaining("3 ids") });
});

test.each([
  [{ nLayer: 12, nHead: 12, nEmbd: 768, T: 1024 }, /^This model has 86,\d+,\d+ parameters/],
  [{ nLayer: 2, nHead: 3, nEmbd: 64, T: 100 }, /^n_embd 64 cannot be shared by n_head 3/],
  [{ nLayer: 2, nHead: 4, nEmbd: 64, T: 100 }, /^$/],
])("of %o a page says at once whether it can be trained", (model, said) => {
  expect(refuse(smallPlan({ model }), 8)).toMatch(said);
});

test("a small device is not asked for more than it has", () => {
  const model = { nLayer: 6, nHead: 6, nEmbd: 384, T: 256 };
  expect(refuse(smallPlan({ model }), 8)).toBe("");
  expect(refuse(smallPlan({ model }), 1)).toContain("there is 0.25 GB");
  expect(refuse(smallPlan({ model, workers: 2 }), 1)).toContain("there is 0.50 GB");
});

test("a long history keeps its beginning, its end, and few points", () => {
  const history = new History();
  for (let step = 1; step <= 5000; step++) history.add({ report: { step }, mark: undefined });
  const { reports } = new History(history);
  expect(reports.length).toBeLessThanOrEqual(600);
  expect(reports[0].step).toBeLessThan(50);
  expect(reports.at(-1).step).toBe(5000);
  expect(history.until(100).reports.at(-1).step).toBeLessThanOrEqual(100);
});
