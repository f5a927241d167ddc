// Which parts of the picture are the reader's own, by what my_gpt2.py says.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { partOf, partsOf } from "../flow/mine.mjs";
import { wayThrough } from "../flow/way.mjs";

const FILE = readFileSync(new URL("../../tests/saved/my_gpt2.py", import.meta.url), "utf8");

test("parts are read with their chapter, their author and their code", () => {
  const parts = partsOf(FILE);
  for (const name of ["encode", "Embeddings", "CausalSelfAttention", "MLP", "LayerNorm", "GPT2"]) {
    expect(parts.get(name)?.book, name).toBe(false);
  }
  expect(parts.get("MLP").chapter).toBe(7);
  expect(parts.get("MLP").source).toMatch(/^class MLP\(nn\.Module\):\n[\s\S]*F\.gelu[^\n]*$/);
  expect(parts.get("MLP").source).not.toContain("# from chapter");
  const filled = FILE.replace("chapter 7: mlp", "chapter 7: mlp (the book's answer)");
  expect(partsOf(filled.replaceAll("\n", "\r\n")).get("MLP").book).toBe(true);
});

test("other texts have no parts", () => {
  for (const text of ["", "class MLP: pass", "# from chapter 7: mlp", "\0".repeat(999)]) {
    expect(partsOf(text).size).toBe(0);
  }
});

test("every tensor of a pass belongs to a part", () => {
  const found = wayThrough(1).map(({ path }) => partOf(path));
  expect([...new Set(found)]).toEqual([
    "text",
    "embeddings",
    "layernorm",
    "attention",
    "stream",
    "mlp",
    "logits",
  ]);
  expect(partOf("transformer.h.11.attn.weights")).toBe("attention");
  expect(partOf("transformer.h.0.ln_2")).toBe("layernorm");
  expect(partOf("ln_f")).toBe("layernorm");
});
