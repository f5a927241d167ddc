// Texts that a reader brings, and chapter 6's sentences: vocabularies, rows, losses, refusals.

import { describe, expect, test } from "vitest";
import { randomNumbers } from "../sampling.mjs";
import { characterMerges } from "../text/characters.mjs";
import { tokenizerOf, trainMerges } from "../text/merges.mjs";
import { makeData } from "../text/own.mjs";
import { checkText, readText } from "../text/reading.mjs";
import { SENTENCES } from "../text/sentences.mjs";
import { IGNORED } from "../train/loss.mjs";
import { fixture } from "./files.mjs";

const texts = fixture("own_text");
const T = 16;

/** The data of a text. */
const own = (text, more = {}, T = 16, given = {}) =>
  makeData({ data: { kind: "text", unit: "characters", text, ...more }, model: { T } }, given);

describe.each(Object.entries(texts))("the text %s", (_, { text, merges }) => {
  test.each(Object.keys(merges))("gives Python's merges for %s tokens", (vocabSize) => {
    const learned = trainMerges([text], Number(vocabSize));
    expect(Buffer.from(learned).toString("base64")).toBe(merges[vocabSize]);
  });

  test("has a token for each character, and comes back", () => {
    const { merges, different, whole } = characterMerges(text);
    const tokenizer = tokenizerOf(merges);
    const ids = tokenizer.encode(text);
    expect(ids.map((id) => tokenizer.show(id))).toEqual(Array.from(text));
    expect(tokenizer.decode(ids)).toBe(text);
    expect([whole, new Set(ids).size]).toEqual([different, different]);
    expect(new Set(tokenizer.tokens).size).toBe(tokenizer.tokens.length);
  });
});

test("merges end when every piece is one token, and none are made where none are asked for", () => {
  expect(tokenizerOf(trainMerges(["abab abab"], 600)).encode("abab abab").length).toBe(2);
  expect(trainMerges(["abab"], 257).length).toBe(256);
  expect(trainMerges(["abab"], 258).length).toBe(260);
  expect(trainMerges([""], 300).length).toBe(256);
});

test("progress goes up to the whole", () => {
  const shares = [];
  trainMerges([texts.stories.text], 257 + 128, (share) => shares.push(share));
  expect(shares).toEqual([0.5, 1]);
});

test("the most frequent characters have tokens where there are too many, the others bytes", () => {
  const many = Array.from({ length: 6000 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join("");
  const text = many + "鶴は魚を食べた。".repeat(30);
  const data = own(text);
  expect(data.vocabSize).toBeLessThanOrEqual(1024);
  expect(data.vocabSize).toBeGreaterThan(1000);
  expect(data.note).toMatch(
    /^Of 6,00\d different characters, the \d{3} most frequent have tokens of their own/,
  );
  const tokenizer = tokenizerOf(data.merges);
  expect(tokenizer.encode("鶴は魚を食べた。").length).toBe(8);
  expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
});

describe("rows of a text", () => {
  const text = texts.stories.text;
  const data = own(text);
  const decode = (ids) => data.decode([...ids]);

  test("begin with <|endoftext|>, then come tokens of the text and the token after each", () => {
    const B = 40;
    const { ids, targets } = data.rows(7, 3, B, T);
    for (let row = 0; row < B; row++) {
      const [input, target] = [ids, targets].map((all) => all.subarray(row * T, (row + 1) * T));
      expect(input[0]).toBe(data.eot);
      expect(target.subarray(0, T - 1)).toEqual(input.subarray(1));
      expect(text.slice(0, 0.9 * text.length)).toContain(decode(target));
    }
  });

  test("depend on seed and step only", () => {
    expect(data.rows(7, 3, 4, T)).toEqual(own(text).rows(7, 3, 4, T));
    expect(data.rows(7, 4, 4, T)).not.toEqual(data.rows(7, 3, 4, T));
    expect(data.rows(8, 3, 4, T)).not.toEqual(data.rows(7, 3, 4, T));
    expect(() => data.rows(2 ** 16, 0, 1, T)).toThrow("65,535");
  });

  test("come from all of the first nine tenths, to the last window", () => {
    const words = Array.from({ length: 10_000 }, (_, i) => 10_000 + i);
    const numbers = own(words.join(" "));
    const starts = Array.from({ length: 1000 }, (_, step) => {
      return (
        Number(numbers.decode([...numbers.rows(0, step, 1, T).targets]).match(/\d{5}/)) - 10_000
      );
    });
    expect(Math.min(...starts)).toBeLessThan(50);
    expect(Math.max(...starts)).toBeGreaterThan(8950);
    expect(Math.max(...starts)).toBeLessThan(9000);
  });

  test.each([
    ["characters", 257],
    ["merges", 600],
  ])("of %s begin with words, where one is near, for validation, too", (unit, vocabSize) => {
    const data = own(text, { unit, vocabSize });
    for (const { targets } of [data.rows(0, 0, 40, T), data.held(T)]) {
      for (let row = 0; row < targets.length / T; row++) {
        const part = data.decode([...targets.subarray(row * T, row * T + T)]);
        expect([" ", "\n"].some((blank) => `\n${text}`.includes(blank + part.trimStart()))).toBe(
          true,
        );
        expect(part).toMatch(unit === "merges" ? /^ ?["\w]/ : /^["\w]/);
      }
    }
  });

  test("without spaces come from anywhere, but never cross into the validation rows", () => {
    const data = own("鶴".repeat(450) + "魚".repeat(450) + "石".repeat(100));
    const read = ({ targets }) => new Set(data.decode([...targets]));
    expect(read(data.rows(0, 0, 300, T))).toEqual(new Set("鶴魚"));
    expect(read(data.held(T))).toEqual(new Set("石"));
  });

  test("for validation come from the last tenth", () => {
    const { ids, targets } = data.held(T);
    expect(ids.length).toBe(40 * T);
    for (let row = 0; row < 40; row++) {
      const target = decode(targets.subarray(row * T, (row + 1) * T));
      expect(text.slice(Math.floor(0.9 * text.length) - 1)).toContain(target);
    }
  });

  test("of the shortest text are two to learn from and two for validation", () => {
    const short = "abcd efgh ".repeat(2);
    const data = own(short, {}, 5);
    expect(data.held(5).ids.length).toBe(10);
    expect(data.decode([...data.rows(0, 0, 1, 5).targets])).toMatch(/^(abcd |efgh )$/);
    expect(() => own(short.slice(1), {}, 5)).toThrow("fewer than 2 windows of 5 tokens are left");
  });

  test("with merges are of merges, and known merges are not learned again", () => {
    const plan = { unit: "merges", vocabSize: 600 };
    const data = own(text, plan);
    expect(data.vocabSize).toBe(600);
    expect(Buffer.from(data.merges).toString("base64")).toBe(texts.stories.merges[600]);
    const again = own(text, plan, T, { merges: data.merges });
    expect(again.rows(1, 1, 2, T)).toEqual(data.rows(1, 1, 2, T));
    expect(again.merges).toBe(data.merges);
  });
});

describe("simple models' losses on a text", () => {
  test("are those of its frequencies and pairs", () => {
    // Four pairs of letters, as likely as each other.
    const random = randomNumbers(0);
    const letters = ["ab", "cd", "ef", "gh"];
    const text = Array.from({ length: 20_000 }, () => letters[Math.floor(4 * random())]).join("");
    const { unigram, bigram, truth } = own(text, {}, 64).floors(64);
    expect(unigram).toBeCloseTo(Math.log(8), 1);
    expect(bigram).toBeCloseTo(Math.log(4) / 2, 1);
    expect(truth).toBe(null);
  });
});

describe("what was done to a text is said", () => {
  test.each([
    [
      "it has no spaces",
      "鶴は魚を食べた。".repeat(100),
      300,
      "no spaces, so merges are learned from parts of 128",
    ],
    ["there are fewer words than tokens", "crane ".repeat(100), 600, "With 262 tokens every word"],
    ["nothing", texts.stories.text, 300, /^$/],
  ])("where %s", (_, text, vocabSize, note) => {
    expect(own(text, { unit: "merges", vocabSize }).note).toMatch(note);
  });

  test("of which the shown part fits into the window", () => {
    expect(own(texts.stories.text).show.tokens.join("")).toBe("<|endoftext|>A mole ate a");
    expect(own(texts.stories.text, {}, 4).show.tokens.length).toBe(4);
  });
});

describe("chapter 6's sentences", () => {
  const data = makeData({ data: { kind: "sentences" }, model: { T: 5 } }, {});

  test("are 32, of five tokens each", () => {
    expect(new Set(SENTENCES).size).toBe(32);
    const tokenizer = tokenizerOf(data.merges);
    for (const sentence of SENTENCES) expect(tokenizer.encode(sentence).length).toBe(5);
    const { ids, targets } = data.rows(0, 1, 32, 5);
    const read = Array.from({ length: 32 }, (_, row) =>
      data.decode([...ids.subarray(5 * row, 5 * row + 5), targets[5 * row + 4]]),
    );
    expect(read).toEqual(SENTENCES);
    expect(targets.filter((_, t) => t % 5 === 0)).toEqual(new Int32Array(32).fill(IGNORED));
    expect(() => data.rows(0, 0, 1, 6)).toThrow("the window must be as long, not 6");
  });

  test("have the least loss that counting gives", () => {
    const { ids, targets } = data.held(5);
    const counts = new Map();
    const after = (t) => `${ids.subarray(t - (t % 5), t + 1)}`;
    ids.forEach((_, t) => {
      const seen = counts.get(after(t)) ?? counts.set(after(t), []).get(after(t));
      if (t % 5) seen.push(targets[t]);
    });
    const losses = [...ids.keys()]
      .filter((t) => t % 5)
      .map((t) => {
        const seen = counts.get(after(t));
        return -Math.log(seen.filter((one) => one === targets[t]).length / seen.length);
      });
    const { unigram, bigram, truth } = data.floors(5);
    expect(losses.reduce((a, b) => a + b) / losses.length).toBeCloseTo(truth, 12);
    expect(truth).toBeCloseTo(0.52, 3);
    expect(bigram).toBeCloseTo((2 * Math.log(4) + Math.log(2)) / 4, 2); // a verb has four objects
    expect(unigram).toBeGreaterThan(bigram);
  });

  test.each([
    ["The bat lifted stones.", "sentence", null, []],
    ["The bat lifted fruit.", null, "fruit", ["stones"]],
    ["The bat", null, "", ["ate", "lifted"]],
    ["The bat lifted stones. A", null, " A", [""]],
    ["", null, "", ["A", "One", "That", "The"]],
    ["The  bat", null, " bat", ["bat", "crane", "mouse", "seal"]],
  ])("%j is judged", (text, kind, rest, expected) => {
    const verdict = data.judge(text);
    expect([verdict.kind, verdict.expected]).toEqual([kind, expected]);
    if (kind === null) expect(text.slice(verdict.failsAt)).toMatch(new RegExp(`^ *${rest.trim()}`));
    expect(verdict.read).toBe(kind ? 1 : verdict.failsAt / (text.length || 1));
  });
});

describe("a text that is brought", () => {
  const bytes = (...parts) => new Blob(parts);
  const wide = (text, littleEndian) => {
    const view = new DataView(new ArrayBuffer(2 * text.length));
    for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), littleEndian);
    return new Blob([view]);
  };
  const text = "The crane 🏗️ ate fish.\nΓερανός\n";

  test.each([
    ["UTF-8", bytes(text)],
    ["UTF-8 with a mark", bytes("\ufeff", text)],
    ["UTF-16 little-endian", wide("\ufeff" + text, true)],
    ["UTF-16 big-endian", wide("\ufeff" + text, false)],
    ["lines of Windows", bytes(text.replaceAll("\n", "\r\n"))],
    ["the clipboard", text.replaceAll("\n", "\r\n")],
  ])("is read from %s", async (_, source) => {
    expect(await readText(source)).toBe(text);
  });

  test.each([
    [
      "a picture",
      bytes(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0x00)),
      "This is not a text in UTF-8",
    ],
    ["Latin-1", bytes(Uint8Array.of(0x63, 0xe9, 0x21)), "save it as UTF-8"],
    ["half of UTF-16", bytes(Uint8Array.of(0xff, 0xfe, 0x41)), "This is not a text in UTF-8"],
    ["100 MB", { size: 1e8 }, "This text has 100.0 MB, and a page takes at most 5 MB."],
  ])("is not read from %s", async (_, source, says) => {
    await expect(readText(source)).rejects.toThrow(says);
  });

  test.each([
    ["nothing", "", "There is no text yet"],
    ["white space", " \n\t\u3000", "There is no text yet"],
    ["a word", "crane", "at least 200 characters"],
    ["199 characters", "a".repeat(199), "at least 200 characters"],
    ["6 MB", "é".repeat(3e6), "This text has 6.0 MB, and a page takes at most 5 MB."],
    ["a zero byte", "ab\0".repeat(100), "This is not a text in UTF-8"],
    ["200 characters", "a".repeat(200), /^$/],
    ["5 MB in one line", "a".repeat(5e6), /^$/],
    ["emoji", "😀🏗️".repeat(100), /^$/],
    ["text from right to left", "أكل الكركي السمك. ".repeat(20), /^$/],
  ])("that is %s is judged", (_, text, says) => {
    expect(checkText(text)).toMatch(says);
  });

  test.each(["😀🏗️", "أكل الكركي السمك. ", "\ud800a"])("%j is learned from", (unit) => {
    const text = unit.repeat(3000);
    for (const more of [{ unit: "characters" }, { unit: "merges", vocabSize: 300 }]) {
      const data = own(text, more, 2);
      const { ids, targets } = data.rows(0, 0, 3, 2);
      for (const id of [...ids, ...targets]) expect(id).toBeLessThan(data.vocabSize);
      expect(Number.isFinite(data.floors(2).bigram)).toBe(true);
    }
  });

  test("of 5 MB in one line is learned from at once", () => {
    const text = "ab😀".repeat(5e6 / 6);
    const data = own(text, { unit: "merges", vocabSize: 300 });
    expect(data.note).toMatch("no spaces");
    expect(data.held(T).ids.length).toBe(40 * T);
  });
});
