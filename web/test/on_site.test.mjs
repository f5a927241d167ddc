// A model that the pages' own site has in 4 bits: fetched in parts, checked, and the same to the last
// bit as the whole that is rounded here. The server is on loopback, and breaks off when it is told to.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Engine } from "../client.mjs";
import { readConfig } from "../config.mjs";
import { bytesOf } from "../exhibits/machine.mjs";
import { Host } from "../host.mjs";
import { describe } from "../hub.mjs";
import { inMemory, loadModel } from "../load.mjs";
import { toFile } from "../rounded.mjs";
import { list, open } from "../storage.mjs";
import { startWhole } from "../whole.mjs";
import { CRANE, ODD } from "./files.mjs";
import { emptyStorage } from "./opfs.mjs";

const [NAME, BACKEND] = ["small", "wasm-int4"];

/** What a site has of a model, in three parts, and what it says of them. */
async function published({ config, weights }) {
  const model = await loadModel(config, inMemory(weights), () => startWhole("int4"));
  const made = Buffer.concat([...toFile(model)]);
  const third = Math.ceil(made.length / 3);
  const files = new Map(
    [0, 1, 2].map((n) => [`${n}.bin`, made.subarray(n * third, (n + 1) * third)]),
  );
  const parts = Object.fromEntries([...files].map(([name, { length }]) => [name, length]));
  const sha256 = { [`${BACKEND}.safetensors`]: createHash("sha256").update(made).digest("hex") };
  const said = { title: "A crane", config, backend: BACKEND, bytes: made.length, parts, sha256 };
  return { files, said };
}

let engine, files, said, asked, cut, server;
beforeAll(async () => {
  server = createServer((request, response) => {
    const name = request.url.slice(1);
    const [, from = "0"] = request.headers.range?.match(/bytes=(\d+)-/) ?? [];
    const rest = files.get(name)?.subarray(Number(from));
    asked.push(`${name} ${from}`);
    response.writeHead(!rest ? 404 : Number(from) ? 206 : 200, {
      "Content-Length": rest?.length ?? 0,
    });
    if (cut !== name) return response.end(rest);
    cut = "";
    response.write(rest.subarray(0, 1000), () => setTimeout(() => response.destroy(), 50));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
});
afterAll(() => server.close());

beforeEach(async () => {
  [asked, cut] = [[], ""];
  ({ files, said } = await published(CRANE));
  const endpoint = `http://127.0.0.1:${server.address().port}`;
  Object.assign(said, { endpoint, folder: `${endpoint}/` });
  emptyStorage();
  const port = { postMessage: (message) => host.receive(message) };
  const host = new Host((data) => port.onmessage({ data }));
  engine = new Engine(port);
});

const fetchIt = (onProgress, pauses = [1, 1]) =>
  engine.download(NAME, onProgress, { published: said, pauses });
const logits = async (files) => {
  await engine.load("it", { backend: BACKEND, ...files });
  return (await engine.run("it", { ids: [1023, 5, 77, 300] })).logits;
};

test.each([
  ["Crane World's", CRANE],
  ["a model of odd widths", ODD],
])("the logits of %s are those of the whole, rounded here", async (_, whole) => {
  const { endpoint, folder } = said;
  ({ files, said } = await published(whole));
  Object.assign(said, { endpoint, folder });
  const ids = [100, 5, 77, 30];
  const given = { config: whole.config, weights: inMemory(whole.weights), backend: BACKEND };
  await engine.load("whole", given);
  const expected = (await engine.run("whole", { ids })).logits;
  const came = [];
  await fetchIt((bytes) => came.push(bytes)).answer;
  expect(came.at(-1)).toBe(said.bytes);
  expect(asked).toEqual(["0.bin 0", "1.bin 0", "2.bin 0"]);
  const rounded = { [BACKEND]: said.bytes };
  expect(await list()).toEqual([{ name: NAME, bytes: 0, complete: true, rounded }]);
  const stored = { ...(await open(NAME)), stored: NAME, backend: BACKEND };
  expect(stored.weights).toBe(undefined);
  expect((await engine.load("small", stored)).rounded).toBe(true);
  expect((await engine.run("small", { ids })).logits).toEqual(expected);
});

test("what breaks off in a part goes on there, by itself or with the next click", async () => {
  const expected = await logits({ config: CRANE.config, weights: inMemory(CRANE.weights) });
  cut = "1.bin";
  await expect(fetchIt(undefined, []).answer).rejects.toThrow("broke off in 1.bin: try again");
  expect(await list()).toMatchObject([
    { complete: false, rounded: { [BACKEND]: said.parts["0.bin"] + 1000 } },
  ]);
  await expect(open(NAME)).rejects.toThrow("is not stored here");
  cut = "2.bin";
  await fetchIt().answer;
  expect(asked).toEqual(["0.bin 0", "1.bin 0", "1.bin 1000", "2.bin 0", "2.bin 1000"]);
  expect(await logits({ ...(await open(NAME)), stored: NAME })).toEqual(expected);
  asked = [];
  await fetchIt().answer;
  expect(asked).toEqual([]); // it is there
});

test.each([
  ["a wrong byte", () => (files.get("1.bin")[7] ^= 1), "(its SHA-256 differs); it was deleted"],
  ["a part too few", () => files.delete("2.bin"), "answered HTTP 404 for 2.bin"],
  [
    "a part that is too short",
    () => files.set("2.bin", files.get("2.bin").subarray(9)),
    "sent only",
  ],
  ["no digest", () => (said.sha256 = {}), "differs"],
])("%s is refused, with another way", async (_, change, sentence) => {
  change();
  const failed = await fetchIt().answer.catch(({ message }) => message);
  expect(failed).toContain(sentence);
  expect(failed).toMatch(/^127\.0\.0\.1:\d+ .*, or fetch all of it$/);
  expect((await list()).filter(({ complete }) => complete)).toEqual([]);
});

test("stored weights that another version wrote say so", async () => {
  await fetchIt().answer;
  const { config } = ODD;
  const stored = { config, stored: NAME, backend: BACKEND };
  await expect(engine.load("it", stored)).rejects.toThrow(/^\S+ does not have \d+ bytes/);
  await expect(engine.load("it", { config })).rejects.toThrow("there are no weights");
});

test("GPT-2 takes 81 MB, and it says where they come from", () => {
  const header = Buffer.concat([...files.values()]).readUInt32LE();
  expect(bytesOf(readConfig(CRANE.config), 4)).toBe(said.bytes - header - 8);
  const sizes = { vocab_size: 50257, n_positions: 1024, n_layer: 12, n_head: 12, n_embd: 768 };
  const bytes = bytesOf(readConfig(JSON.stringify(sizes)), 4);
  expect(describe({ ...said, bytes })).toBe(
    "A crane: 81 MB from this site, kept in this browser until you delete it",
  );
});
