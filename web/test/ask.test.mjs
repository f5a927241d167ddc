// A question is the ids of gpt2_edu/tuning/messages.py; the adapter that answers fits the book's model.

import { expect, test } from "vitest";
import { readAdapter } from "../adapter.mjs";
import { readConfig } from "../config.mjs";
import { Conversation } from "../exhibits/conversation.mjs";
import { inMemory } from "../load.mjs";
import { fromRanks } from "../tokenizer.mjs";
import { CRANE, asset, fixture } from "./files.mjs";

const { conversations } = fixture("ask");
const tokenizer = fromRanks(asset("crane/crane.tiktoken", "latin1"));
const talk = (asked, most = 1000) => new Conversation(tokenizer, asked, most);

test.each(conversations)("$question", (asked) => {
  const { ids, read } = talk(asked);
  expect(ids).toEqual(asked.prompt);
  const answer = talk(asked).answerIds(asked.answer);
  expect([...ids, ...answer]).toEqual(asked.ids);
  expect(talk(asked).text(answer)).toBe(asked.answer);
  expect(asked.inAnswer.indexOf(true)).toBe(ids.length);
  const roles = read.flatMap(({ role, names }) => names.map(() => role));
  const of = (role) => tokenizer.decode(ids.filter((_, i) => roles[i] === role));
  expect(of("story") + of("question")).toBe(`${asked.story} ${asked.question}`);
  expect(roles.filter((role) => role === "mark").length).toBe(3);
});

test("that is too long loses its beginning", () => {
  const [asked] = conversations;
  const whole = talk(asked);
  const { ids, read, cut } = talk(asked, 20);
  expect([cut, ids.length]).toEqual([whole.ids.length - 23, 23]);
  expect(read.slice(2)).toEqual(whole.read.slice(2)); // the question is whole
  expect(talk(asked, 3).read.map(({ names }) => names.length)).toEqual([2, 0, 3, 1]);
  expect(ids.slice(2)).toEqual(whole.ids.slice(-21));
});

test("Crane World's adapter fits Crane World's model", async () => {
  const adapter = await readAdapter(
    asset("ask/adapter_config.json", "utf8"),
    inMemory(new Uint8Array(asset("ask/adapter_model.safetensors"))),
    readConfig(CRANE.config),
  );
  const { nEmbd } = readConfig(CRANE.config);
  expect(adapter.tables.get("transformer.wte").length).toBe((tokenizer.size + 2) * nEmbd);
});
