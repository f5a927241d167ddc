// Another token in a lane's place: the rest of the text stays as it is.

import { beforeAll, expect, test } from "vitest";
import { unknown } from "../exhibits/crane_world.mjs";
import { readPass } from "../flow/read.mjs";
import { exchanged, likely } from "../flow/swap.mjs";
import { pageModel } from "./page.mjs";

let model;
beforeAll(async () => (model = await pageModel()));
const swap = async (text, t, word) => {
  const { ids } = await model.encode(text, 128);
  return exchanged(model.present.tokenizer, ids, t, word);
};

test.each([
  ["In the marsh, the crane", 3, "city", "In the city, the crane"],
  ["In the marsh, the crane", 3, " city", "In the city, the crane"],
  ["In the marsh, the crane", 4, " and", "In the marsh and the crane"],
  ["In the marsh, the crane", 1, "By", "By the marsh, the crane"],
  ["In the marsh, the crane", 6, "<b>", "In the marsh, the <b>"],
])("in “%s” token %i becomes “%s”", async (text, t, word, after) => {
  expect(await swap(text, t, word)).toBe(after);
});

test("what is offered are whole words that the model finds likely there", async () => {
  const text = "In the marsh, the crane";
  const { ids } = await model.encode(text, 128);
  const pass = await readPass(model, { text, ids, key: "test" });
  const words = await likely(model, pass, 3);
  expect(words).toHaveLength(6);
  expect(words).not.toContain(" marsh");
  const { ids: before } = await model.encode("In the", 128);
  const { logits } = await model.run({ ids: before, key: "test", lastOnly: true });
  const best = model.best(model.probabilities(logits), 7).map(({ name }) => name);
  const rest = best.filter((name) => name !== "␣marsh").slice(0, 6);
  words.forEach((word, i) => expect(word.startsWith(rest[i].replace("␣", " "))).toBe(true));
  for (const word of words) expect(unknown(`${word}.`), word).toEqual([]);
});
