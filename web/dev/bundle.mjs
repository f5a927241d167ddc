// A model's or tokenizer's files as a script, made from the package's assets as web.py makes it.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { fromRanks } from "../tokenizer.mjs";

const ASSETS = new URL("../../gpt2_edu/assets/", import.meta.url);
const read = (path, encoding) => readFileSync(new URL(path, ASSETS), encoding);

const RANKS = { crane: "crane/crane.tiktoken", gpt2: "gpt2.tiktoken" };

/** 256 bytes in their order, and two ids for each merge: what fromMerges reads. */
export function merges(name) {
  const { tokens, ranks } = fromRanks(read(RANKS[name], "latin1"));
  const pairs = tokens.slice(256).flatMap((token, i) => {
    const parts = [...token];
    while (parts.length > 2) {
      const rankAt = (at) => ranks.get(parts[at] + parts[at + 1]) ?? Infinity;
      const places = Array.from(parts.slice(1), (_, at) => at);
      const first = places.reduce((best, at) => (rankAt(at) < rankAt(best) ? at : best));
      if (rankAt(first) >= i + 256) throw new Error(`token ${i + 256} comes from no merge`);
      parts.splice(first, 2, parts[first] + parts[first + 1]);
    }
    return parts.map((part) => ranks.get(part));
  });
  return Buffer.concat([
    Buffer.from(tokens.slice(0, 256).join(""), "latin1"),
    Buffer.from(Uint16Array.from(pairs).buffer),
  ]);
}

/** GPT-2's published runs, as stored.mjs reads them. */
function gpt2Runs() {
  const { tokens } = fromRanks(read(RANKS.gpt2, "latin1"));
  const name = (id) => Buffer.from(tokens[id], "latin1").toString().replaceAll(" ", "␣");
  const runs = JSON.parse(read("gpt2_runs.json", "utf8")).runs.map((run) => ({
    text: run.prompt,
    ids: run.ids,
    tokens: run.ids.map(name),
    attention: run.attention,
    unit: 1e-4,
    next: run.next_ids.slice(0, 6).map((id, i) => {
      return { id, name: name(id), p: Math.exp(run.next_log_probs[i] * 1e-4) };
    }),
  }));
  return JSON.stringify(runs);
}

/** Of each snapshot and text, block and head: the weights row by row. */
function attentionWhileItLearned() {
  const { snapshots } = JSON.parse(read("crane/snapshots.json", "utf8"));
  const flat = (text) => text.map((block) => block.map((head) => head.flat()));
  return JSON.stringify(snapshots.map(({ attention }) => attention.map(flat)));
}

/** What Python wrote for the tests. */
const ofTests = (name) => JSON.parse(read(`../../web/test/fixtures/${name}.json`, "utf8"));

/** The adapter with which Crane World's model answers questions. */
function adapter() {
  const config = read("ask/adapter_config.json", "utf8");
  const weights = read("ask/adapter_model.safetensors", "base64");
  return JSON.stringify({ "adapter_config.json": config, "adapter_model.safetensors": weights });
}

const STORED = {
  crane_ask: adapter,
  gpt2_runs: gpt2Runs,
  crane_learned: attentionWhileItLearned,
  crane_units: () => read("crane/units.json", "utf8"),
  crane_grammar: () => JSON.stringify(ofTests("language").grammar),
};

export function bundleScript(name) {
  if (STORED[name]) return `(globalThis.gpt2Files ??= {}).${name} = ${STORED[name]()};\n`;
  const files = RANKS[name] ? { merges: gzipSync(merges(name)).toString("base64") } : {};
  if (name !== "gpt2") {
    files["config.json"] = read(`${name}/config.json`, "utf8");
    files["model.safetensors"] = read(`${name}/model.safetensors`, "base64");
  }
  if (name === "crane") {
    const { tokens } = fromRanks(read(RANKS.crane, "latin1"));
    files.words = tokens.filter((token) => /^ ?[a-z]+$/i.test(token)).join(" "); // nearly all words
    files.deeds = ofTests("flow").deeds;
  }
  return `(globalThis.gpt2Files ??= {}).${name} = ${JSON.stringify(files)};\n`;
}
