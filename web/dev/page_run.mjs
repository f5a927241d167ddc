// The run that the page “Train one here” shows before its reader has trained: the same plan and the same
// code without a page, so the same numbers on every machine. Some minutes:
//
//   node web/dev/page_run.mjs

import { readFileSync, writeFileSync } from "node:fs";
import { numParameters } from "../shapes.mjs";
import { planOf, rateOf, sizesOf } from "../learn/settings.mjs";
import { Run } from "../runs/run.mjs";
import { judge, mark } from "../runs/show.mjs";
import { makeData } from "../text/own.mjs";

const STORED = new URL("../../gpt2_edu/assets/page_run.json", import.meta.url);
const SEEN = [10, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, 4000, 6000, 8000]; // with a story
const POINTS = 60; // of the curve
const digits = (number, n) => Number(number.toFixed(n));

const [grammar] = process.argv.slice(2); // what gpt2_edu.web.crane_grammar() gives, as JSON
const size = "first";
const choice = { data: "crane", size, seed: 0, lr: rateOf("crane"), sizes: sizesOf("crane", size) };
const plan = planOf({ ...choice, switches: {} }, 1);
const { steps } = plan.settings;
const data = makeData(plan, { grammar: JSON.parse(readFileSync(grammar, "utf8")) });
const run = await Run.open(plan, data);

const wanted = Array.from({ length: POINTS }, (_, n) =>
  Math.round(10 * ((1 + steps / 10) ** ((n + 1) / POINTS) - 1)),
);
const [losses, rows] = [[], []];
while (run.step < steps) {
  await run.advance();
  if (wanted.includes(run.step)) losses.push([run.step, digits(run.report().loss, 2)]);
  if (!SEEN.includes(run.step)) continue;
  const { story, failsAt, held } = await mark(run);
  const { right } = await judge(run);
  const told = failsAt === null ? story : `${story.slice(0, failsAt)}⟦${story.slice(failsAt)}`;
  rows.push({ step: run.step, held: digits(held, 2), right, story: told });
  console.log(run.step, held, right, story);
}
const { unigram, bigram, truth } = data.floors(plan.model.T);
const floors = { unigram: digits(unigram, 2), bigram: digits(bigram, 2), truth: digits(truth, 2) };
const parameters = numParameters(run.trainer.config);
const found = { plan: { ...plan, workers: undefined }, parameters, floors, losses, rows };
writeFileSync(STORED, `${JSON.stringify(found, null, 1)}\n`);
