// A model among chosen files: its two files are found, or a sentence says why not.

import { expect, test } from "vitest";
import { modelFromFiles } from "../exhibits/files.mjs";
import { safetensors } from "./cases.mjs";

/** Files as a browser gives them: {path: content, or null for one that cannot be read}. */
const choose = (contents) =>
  modelFromFiles(
    Object.entries(contents).map(([path, content]) => {
      const file = new File([content ?? ""], path.split("/").at(-1));
      file.webkitRelativePath = path.includes("/") ? path : "";
      const fail = () => Promise.reject(new DOMException("gone", "NotFoundError"));
      if (content === null) file.slice = () => ({ arrayBuffer: fail, text: fail });
      return file;
    }),
  );

test.each([
  [{ "config.json": "C", "model.safetensors": "W" }, "model"],
  [{ "config.json": "C", "My GPT.safetensors": "W" }, "My GPT"],
  [{ "gpt/config.json": "C", "gpt/model.safetensors": "W", "gpt/vocab.json": "x" }, "gpt"],
  [{ "a/config.json": "no", "a/b/config.json": "C", "a/b/model.safetensors": "W" }, "a/b"],
  [{ "s/config.json": "C", "s/model.safetensors": "W", "s/optimizer.safetensors": "no" }, "s"],
  [{ "g/config.json": "C", "g/model.safetensors": "W", "g/pytorch_model.bin": "no" }, "g"],
  [{ "g/config.json": "C", "g/model.safetensors": "W", "g/._model.safetensors": "no" }, "g"],
])("%j has a model", async (contents, name) => {
  const { weights, ...found } = await choose(contents);
  expect({ ...found, weights: await weights.text() }).toEqual({ name, config: "C", weights: "W" });
});

test("a file with its config and tokenizer needs no other", async () => {
  const metadata = { "gpt2-edu.config": "C", "gpt2-edu.merges": "M" };
  const file = safetensors({ __metadata__: metadata }, new Float32Array(1));
  expect(await choose({ "own.safetensors": file })).toMatchObject({ config: "C", merges: "M" });
});

test.each([
  [{}, "There is no model in this: choose a folder with config.json and model.safetensors"],
  [{ "notes.txt": "x" }, "such as gpt2-edu export writes."],
  [{ "config.json": "C" }, "config.json has come without its model.safetensors"],
  [{ "a.safetensors": "W" }, "a.safetensors lacks its config.json"],
  [{ "x/config.json": "C", "y/model.safetensors": "W" }, "y/model.safetensors lacks its conf"],
  [
    { "runs/1/model.safetensors": "W", "runs/2/model.safetensors": "W" },
    "models: runs/1/model.safetensors, runs/2/model.safetensors; choose one of them.",
  ],
  [{ "config.json": "C", "model-00001-of-00002.safetensors": "W" }, "is one of several files"],
  [{ "config.json": "C", "model.safetensors.index.json": "{}" }, "is one of several files"],
  [{ "config.json": "C", "pytorch_model.bin": "W" }, "in a form that a page cannot read"],
  [{ "last.pt": "W" }, "with gpt2-edu export or"],
  [{ "config.json": null, "model.safetensors": "W" }, "config.json cannot be read: is it"],
  [{ "config.json": "C", "model.safetensors": null }, "model.safetensors cannot be read"],
])("%j has none", async (contents, said) => {
  await expect(choose(contents)).rejects.toThrow(said);
});
