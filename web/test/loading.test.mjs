// Crane World's model loaded with mistakes: into which engine, and what is asked again.

import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { Engine } from "../client.mjs";
import { bundleScript } from "../dev/bundle.mjs";
import { Bundled } from "../exhibits/bundled.mjs";
import { Loading } from "../exhibits/loading.mjs";
import { startEngine } from "./engine.mjs";

const BEGINNING = [1023]; // <|endoftext|>

test("files that fail are asked for again, and an engine lost meanwhile is not waited for", async () => {
  let engine = new Engine({ postMessage() {} }); // as one that was terminated: it never answers
  const loading = new Loading(() => engine);
  await expect(loading.write([], BEGINNING, 2)).rejects.toThrow(); // no files yet
  runInThisContext(bundleScript("crane"));
  const files = globalThis.gpt2Files.crane;
  Object.defineProperty(globalThis.gpt2Files, "crane", {
    get() {
      engine = startEngine(); // the page replaces it while the files are read
      return files;
    },
  });
  expect(await loading.write([], BEGINNING, 2)).toHaveLength(2);

  const right = engine;
  engine = startEngine(); // and once more, when all is loaded
  const { loss } = await loading.measure(["nothing"], [...BEGINNING, 258]);
  expect(loss).toBeGreaterThan(5); // blind guessing: 6.9
  expect(engine).not.toBe(right);
  const again = await loading.write([], [...BEGINNING, 258], 2);
  expect(again).toHaveLength(2); // the right model is in the new engine as well
});

test("models of the site are loaded again where the engine was replaced, and else once", async () => {
  runInThisContext(bundleScript("draft"));
  let engine = startEngine();
  const bundled = new Bundled(() => engine, { mine: "draft" });
  const first = await bundled.load();
  expect(await bundled.load()).toBe(first);
  engine = startEngine();
  expect(await bundled.load()).toBe(engine);
});
