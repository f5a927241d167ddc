// What people type, read and judged: a JSON request on standard input, JSON on standard output.

import { readFileSync, writeFileSync } from "node:fs";
import "../../site/static/answers.js";
import "../../site/static/judge.js";

const { read = [], split = [], judge = [] } = JSON.parse(readFileSync(0, "utf8"));
const words = (value) => (Number.isFinite(value) ? value : `${value}`);
const answer = {
  read: read.map(([text, options]) => {
    const { ask, readings = [] } = globalThis.gpt2Answers.readNumber(text, options);
    return { ask, values: readings.map((one) => words(one.value)), digits: readings[0]?.digits };
  }),
  split: split.map(([text, count]) => globalThis.gpt2Answers.split(text, count)),
  judge: judge.map(([task, typed]) => globalThis.gpt2Judge(task, typed)),
};
writeFileSync(1, JSON.stringify(answer));
