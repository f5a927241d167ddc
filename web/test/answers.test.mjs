// By-hand answers in the page: what people type is read as they mean it, and judged as in Python.

import { describe, expect, test } from "vitest";
import "../../site/static/answers.js";
import "../../site/static/judge.js";
import { fixture } from "./files.mjs";

const { readNumber, split } = globalThis.gpt2Answers;
const judge = globalThis.gpt2Judge;
const { LN2, SQRT2, PI, E } = Math;

// A number, and what people type for it.
const READ = [
  [1 / 3, "1/3"],
  [0.333, "0,333", "0.333", "0.333...", "0.333…"],
  [0.5, ".5", ",5", "0.5nats"],
  [5, "5."],
  [-Infinity, "−∞", "-inf"],
  [Infinity, "+Infinity"],
  [0.001, "1e-3"],
  [0.0015, "1.5 × 10⁻³"],
  [1500, "1.5 * 10^3", "1.5x10³", "1,500 numbers each"],
  [1000, "1E3", "1 000", "1'000", "1_000"],
  [1e-5, "10^-5"],
  [1e7, "10⁷"],
  [1e6, "1\u00a0000\u202f000", "1,000,000", "1.000.000"],
  [1000.5, "1.000,5", "1,000.5"],
  [1234567, "12,34,567"],
  [12.5, "\uff11\uff12\uff0e\uff15"],
  [3.5, "٣٫٥"],
  [LN2, "ln(2)"],
  [2 * LN2, "2 ln 2"],
  [Math.log(64) / 3, "ln64/3"],
  [Math.log(20), "math.log(20)"],
  [SQRT2, "sqrt(2)"],
  [2 / Math.sqrt(3), "2/√3"],
  [2 * Math.sqrt(3), "2√3"],
  [Math.exp(1.5), "e^1.5", "exp(1.5)"],
  [E, "e"],
  [2 * PI, "2π"],
  [1024, "2**10"],
  [8, "2³"],
  [9, "(1 + 2) * 3"],
  [1.5, "1 1/2"],
  [-1.5, "-1½"],
  [2 / 3, "⅔"],
  [0.75, "3 : 4", "3 ÷ 4"],
  [12, "3·4"],
  [0.3, "about 0.3", "≈ 0.3"],
  [4, "7 - 2 - 1", "I think it is about 4", "perplexity = 4", "4!", "[4]", '"4"', "$4$"],
  [-4, "-2^2"],
  [1.386, "ln 4 = 1.386"],
  [-3, "—3"],
  [3, "+3", "--3", "3 layers in all", "log2(8)", "log10 1000"],
  [18 * 2 ** 20, "18 MiB"],
  [18.9e6, "18.9 MB"],
  [19e6, "19 million"],
  [24600, "24.6k"],
  [4.48, "4.48 ×"],
  [64, "64 dimensions per head"],
  [1, "(".repeat(90) + "1" + ")".repeat(90)],
];

test.each(READ)("%d is read", (value, ...texts) => {
  for (const text of texts) {
    const [first] = readNumber(text).readings ?? [];
    if (Number.isFinite(value)) expect(first?.value / value, text).toBeCloseTo(1, 9);
    else expect(first?.value, text).toBe(value);
  }
});

const ONE = "One number is enough here, such as 0.25.";
test.each([
  ["four", `“four” is no number that I can read. ${ONE}`],
  ["   ", "Type a number first."],
  ["?", "number"],
  ["3 4", ONE],
  ["[3, 4]", ONE],
  ["1.2.3", ONE],
  ["1e999", "too large"],
  ["12 apples", `“apples” I cannot read. ${ONE}`],
  ["1/0", "That divides by 0."],
  ["√(-1)", "That has no value: look at the root or the logarithm."],
  ["(1 + 2", "A bracket is not closed."],
  ["1 +", `Something is missing. ${ONE}`],
  ["4 bits", "Bits are not asked for here."],
  ["33 %", "without a per cent sign"],
  ["0.3 ± 0.1", "“± 0.1” I cannot read."],
  ["alert(1)", "“alert(1)” I cannot read."],
  ["__proto__", "is no number that I can read"],
  ["constructor 1", "I cannot read"],
  ["x".repeat(500), "That is long."],
  ["(".repeat(190), "number"],
])("%s is asked about", (text, says) => expect(readNumber(text).ask).toContain(says));

test("a share may be in per cent, and bits are no nats", () => {
  const shares = { "33 %": 0.33, "33,3 per cent": 0.333, "33 percent": 0.33, "1/4 %": 0.0025 };
  for (const [text, share] of Object.entries(shares)) {
    expect(readNumber(text, { share: true }).readings[0].value).toBeCloseTo(share, 9);
  }
  expect(readNumber("4.3 bits", { unit: "nats" }).ask).toContain("ln 2 = 0.693");
});

test("a separator that may mean two things is read in both ways", () => {
  const texts = {
    "1,500": [1500, 1.5],
    "1.500": [1.5, 1500],
    "0,500": [0.5],
    "1500,250": [1500.25],
  };
  for (const [text, values] of Object.entries(texts)) {
    expect(readNumber(text).readings.map(({ value }) => value)).toEqual(values);
  }
});

test.each([
  ["[1, 2]", 2, ["1", "2"]],
  ["(1024, 4096)", 2, ["1024", "4096"]],
  ["1024×4096", 2, ["1024", "4096"]],
  ["0,1; 0,2", 2, ["0,1", "0,2"]],
  ["1/7 2/7 4/7 0 0", 5, ["1/7", "2/7", "4/7", "0", "0"]],
  ["a = [1, 2, 3]", 3, ["1", "2", "3"]],
  ["2,1", 2, ["2,1"]],
  ["6 225", 2, ["6 225"]],
  ["2,3,4", 0, ["2", "3", "4"]],
  ["2 and 3", 2, ["2", "3"]],
  ["2, 3, and 4", 0, ["2", "3", "4"]],
  ["tensor([2.1000, 2.2000])", 2, ["2.1000", "2.2000"]],
  ["torch.tensor([2., 2.], dtype=torch.float32)", 2, ["2.", "2."]],
  ["2 3 4", 0, ["2", "3", "4"]],
])("%s is cut where its writer meant", (text, count, parts) =>
  expect(split(text, count)).toEqual(parts),
);

describe.each(fixture("answers"))("$name", ({ task, right, wrong, neverRight }) => {
  test("is right in every spelling", () => {
    for (const typed of right)
      expect([typed, judge(task, typed).verdict]).toEqual([typed, "right"]);
  });
  test("each mistake gets its message, and no rounded one passes", () => {
    for (const [typed, why] of wrong)
      expect(judge(task, typed)).toMatchObject({ verdict: "wrong", why });
    for (const typed of neverRight)
      expect(judge(task, typed).verdict, `${typed}`).not.toBe("right");
  });
});

// ---- The rules, on tasks of their own

const made = (right, more) => ({ kind: "number", right: [right].flat(), tolerance: 1e-5, ...more });
const number = (right, ...mistakes) =>
  made(right, {
    share: right > 0 && right < 1,
    mistakes: mistakes.map((value, i) => ({ value: [value], says: `mistake ${i}` })),
  });

test.each([
  [2 / 3, "0.67", "right", "Right, to two digits."],
  [2 / 3, "0.667", "right", "Right, to three digits."],
  [2 / 3, "0.66…", "right", "Right, to two digits."],
  [2 / 3, "0.66", "wrong", "Not yet right."],
  [2 / 3, "0.68", "wrong", "Not yet right."],
  [2 / 3, "67 %", "right", "Right, to two digits."],
  [2 / 3, "2/3", "right", "Right."],
  [0.25, "25", "ask", "Is that per cent? Then add the sign, or give a share of 1."],
  [2 / 3, "0.7", "ask", "That may be right, but it is too coarse to tell. Give more digits."],
  [2 / 3, "1", "ask", "That may be right, but it is too coarse to tell. Give more digits."],
  [2 / 3, "0", "wrong", "Not yet right."],
  [4, "4.4", "wrong", "Not yet right."],
  [6931, "6930", "wrong", "Not yet right."],
  [6931, "about 6930", "right", "Right, to three digits."],
  [6931, "6.9 thousand", "right", "Right, to two digits."],
  ["-inf", "−∞", "right", "Right."],
  ["-inf", "-1e9", "wrong", "Not yet right."],
])("for %s, %s is %s", (right, text, verdict, says) => {
  expect(judge(number(right), [text])).toMatchObject({ verdict, says });
});

test("too few digits to tell it from a mistake", () => {
  const verdicts = ["0.67", "0.667", "0.671"].map((t) => judge(number(0.6667, 0.6712), [t]));
  expect(verdicts.map(({ verdict }) => verdict)).toEqual(["ask", "right", "wrong"]);
  expect(verdicts[2].why).toBe("mistake 0");
});

const [numbers, words, tokens] = ["numbers", "words", "tokens"].map((kind) => (right) => {
  return made(right, { kind, share: false, mistakes: [] });
});
test.each([
  [numbers([1, 2, 3, 4]), ["1", "2", "3", "4"], "right"],
  [numbers([1, 2, 3, 4]), ["1", "3", "2", "4"], "wrong"],
  [words("no mask"), ["“No  mask”"], "right"],
  [words("no mask"), ["mask"], "wrong"],
  [words("mask after softmax"), ["`The mask-after-softmax`."], "right"],
  [words("transformer.h.2.attn.out"), ["transformer.h[2].attn.out"], "right"],
  [words("no mask"), [" "], "ask"],
  [tokens(["in", " tin"]), ["in", "␣tin"], "right"],
  [tokens(["in", " tin"]), ["in", '" tin"'], "right"],
  [tokens(["in", " tin"]), ['["in", " tin"]', ""], "right"],
  [tokens(["in", " tin"]), ["in", "tin"], "wrong"],
  [numbers([0.1, 0.2]), ["0.1", ""], "ask"],
  [numbers([0.1, 0.2]), ["0.1", "x"], "ask"],
  [numbers([0.1, 0.2]), ["0.1 0.2 0.3", ""], "ask"],
])("%j: %j is %s", (task, typed, verdict) => expect(judge(task, typed).verdict).toBe(verdict));
