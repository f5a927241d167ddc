// What is offered in place of a word that Crane World has never met.

import { beforeAll, expect, test } from "vitest";
import { unknown } from "../exhibits/crane_world.mjs";
import { Suggest } from "../flow/suggest.mjs";
import { pageModel } from "./page.mjs";

let suggest;
beforeAll(async () => {
  suggest = Object.assign(Object.create(Suggest.prototype), { known: new Map() });
  suggest.model = await pageModel();
});

// Only nouns of the model's language may be written for a noun.
const NOUNS =
  /^(car|door|ladder|crane|mole|bat|seal|mouse|bank|doll|lantern|map|puzzle|bell|city|marsh|forest)$/;

test.each([
  ["The dog", "dog", ""],
  ["What is a dog", "dog", ""],
  ["By the river, the dog ate", "dog", ""],
  ["The big dog ate", "big dog", ""],
  ["dog", "dog", "A "],
  ["In Paris, the crane", "Paris", "the "],
])("in “%s” nouns are offered for “%s”", async (text, replaced, article) => {
  const { start, end, words } = await suggest.instead(text, unknown(text));
  expect(text.slice(start, end)).toBe(replaced);
  expect(words[0].startsWith(article)).toBe(true);
  expect(words[0].slice(article.length)).toMatch(NOUNS);
});

test("for a verb another one", async () => {
  const { words } = await suggest.instead("The crane sleeps", ["sleeps"]);
  expect(words.slice(0, 3)).toEqual(["ate", "stood", "lifted"]);
});

test.each(["I love you", "Once upon a time", "When I was young", '"Thank you," said Hugo'])(
  "in “%s” nothing fits, and nothing is offered",
  async (text) => {
    const { words } = await suggest.instead(text, unknown(text));
    expect(words).toEqual([]);
  },
);
