// Stories, verdicts and losses of Crane World are those of Python.

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Grammar } from "../language/grammar.mjs";
import { judge, scanWords } from "../language/judge.mjs";
import { SplitMix64 } from "../language/splitmix.mjs";
import { story } from "../language/stories.mjs";
import { makeData } from "../text/own.mjs";
import { fixture } from "./files.mjs";

const {
  grammar: shipped,
  draws,
  stories,
  first,
  whole,
  judged,
  changed,
  losses,
  small,
} = fixture("language");
const grammar = new Grammar(shipped);
const sha256 = (lines) => createHash("sha256").update(lines.join("\n")).digest("hex");

test.each(draws)("the generator of the seed %s draws Python's numbers", (seed, hash) => {
  const random = new SplitMix64(BigInt(seed));
  expect(sha256(Array.from({ length: 10_000 }, (_, i) => random.below(i + 1)))).toBe(hash);
});

describe("stories", () => {
  test.each(stories)("of the seed %s", (seed, text) => {
    expect(story(grammar, BigInt(seed))).toBe(text);
  });

  test("of the first 2,000 seeds, in any order", () => {
    const found = Array.from({ length: 2000 }, (_, i) => story(grammar, 1999 - i)).reverse();
    expect(sha256(found)).toBe(first);
  });
});

/** The index in characters, as Python counts them, and the expected words in short. */
const verdict = (text, of = grammar) => {
  const { kind, failsAt, expected } = judge(of, text);
  const at = failsAt === null ? null : Array.from(text.slice(0, failsAt)).length;
  return [kind, at, sha256(expected).slice(0, 8)];
};

test.each(Object.entries(small))("stories and verdicts of the grammar %s", (_, one) => {
  const own = new Grammar(one.grammar);
  expect(one.stories.map((_, seed) => story(own, seed))).toEqual(one.stories);
  expect(one.judged.map(([text]) => [text, ...verdict(text, own)])).toEqual(one.judged);
});

describe("verdicts", () => {
  test("a story is one", () => {
    for (let seed = 0; seed < whole; seed++) {
      expect(judge(grammar, story(grammar, seed))).toEqual({
        kind: "story",
        failsAt: null,
        expected: [],
        read: 1,
      });
    }
  });

  test("of stories that training never shows, sentences and odd texts", () => {
    for (const [text, ...expected] of judged)
      expect([text, ...verdict(text)]).toEqual([text, ...expected]);
  });

  test("of changed stories", () => {
    for (const [seed, start, end, now, ...expected] of changed) {
      const before = story(grammar, seed);
      const text = before.slice(0, start) + now + before.slice(end);
      expect([text, ...verdict(text)]).toEqual([text, ...expected]);
    }
  });

  test("say which words were possible, and how much was read", () => {
    const { kind, failsAt, expected, read } = judge(grammar, "A crane ate steel.");
    expect([kind, failsAt, expected, read]).toEqual([null, 12, ["a", "fish"], 12 / 18]);
    expect(judge(grammar, "").read).toBe(0);
  });

  test("are of the kinds that are asked for", () => {
    expect(judge(grammar, "A crane ate fish.").kind).toBe("sentence");
    const { kind, failsAt, expected } = judge(grammar, "A crane ate fish.", ["story"]);
    expect([kind, failsAt]).toEqual([null, 17]);
    expect(expected).toContain("Mara");
  });

  test("of a megabyte come at once", () => {
    for (const unit of ["a ", "A crane ate fish. ", "x", " ", " \t"]) {
      const text = unit.repeat(1e6 / unit.length) + "x";
      expect(judge(grammar, text).kind).toBe(null);
      expect([...scanWords(text)].length).toBeGreaterThan(0);
    }
  });
});

describe("rows of stories", () => {
  const data = makeData({ data: { kind: "crane" }, model: { T: 100 } }, { grammar: shipped });
  const { T } = losses;

  test("are windows of T tokens, each with the token after it", () => {
    const { ids, targets } = data.rows(3, 5, 2, 7);
    const next = data.rows(3, 5, 2, 8);
    expect([...ids.subarray(0, 7)]).toEqual([...next.ids.subarray(0, 7)]);
    expect([...targets.subarray(7)]).toEqual([...next.ids.subarray(9)]);
    expect([ids[0], ids[7]]).toEqual([data.eot, data.eot]);
  });

  test("are the same again, and none is met twice", () => {
    const seen = new Set();
    for (let step = 0; step < 50; step++) {
      const { ids } = data.rows(0, step, 4, 60);
      expect(ids).toEqual(data.rows(0, step, 4, 60).ids);
      for (let row = 0; row < 4; row++)
        seen.add(data.decode([...ids.slice(60 * row, 60 * row + 60)]));
    }
    expect(seen.size).toBe(200);
    expect(data.rows(1, 0, 1, 60)).not.toEqual(data.rows(0, 0, 1, 60));
  });

  test("of the last seed end before those for validation begin", () => {
    const { ids } = data.rows(2 ** 16 - 1, 0, 1, 20);
    const number = 16n * (2n ** 32n * (2n ** 16n - 1n));
    expect(data.decode([...ids])).toBe(
      story(grammar, number).slice(0, data.decode([...ids]).length),
    );
    for (const seed of [2 ** 16, -1, 0.5, NaN]) {
      expect(() => data.rows(seed, 0, 1, 20)).toThrow("a whole number from 0 to 65,535");
    }
  });

  test("for validation, and simple models' losses on them, are Python's", () => {
    const { ids, targets } = data.held(T);
    expect([sha256([...ids]), sha256([...targets])]).toEqual([losses.ids, losses.targets]);
    const { unigram, bigram, truth } = data.floors(T);
    expect(unigram).toBeCloseTo(losses.unigram, 5);
    expect(bigram).toBeCloseTo(losses.bigram, 5);
    expect(truth).toBeCloseTo(losses.truth, 9);
  });

  test("are read and shown with the shipped model's tokens", () => {
    expect([data.vocabSize, data.eot, data.prompt]).toEqual([1024, 1023, [1023]]);
    expect(data.show.tokens.join("")).toBe("<|endoftext|>In the marsh, the crane");
    expect(data.judge(data.decode([...data.show.ids, data.eot])).expected).toContain("ate");
  });
});
