// Tokenizers and sampling as a test asks: a JSON request on standard input, JSON on standard output.

import { readFileSync, writeFileSync } from "node:fs";
import { draw, nextProbabilities, randomNumbers } from "../../web/sampling.mjs";
import { fromMerges, fromRanks, mergeHistory } from "../../web/tokenizer.mjs";

const {
  ranks,
  merges,
  texts = [],
  history = [],
  decode = [],
  knobs = [],
  logits = [],
  draws,
} = JSON.parse(readFileSync(0, "utf8"));
const tokenizer = merges
  ? fromMerges(Uint8Array.from(merges.bytes), Uint16Array.from(merges.pairs))
  : ranks && fromRanks(readFileSync(ranks, "latin1"));
const tried = (f) => {
  try {
    return f();
  } catch (error) {
    return { error: error.message };
  }
};
const counts = () => {
  const random = randomNumbers(draws.seed);
  const found = draws.probabilities.map(() => 0);
  const probabilities = Float64Array.from(draws.probabilities);
  for (let i = 0; i < draws.n; i++) found[draw(probabilities, random)]++;
  return found;
};
const row = () => Float32Array.from(logits.map(Number));
const answer = {
  ids: texts.map((text) => tokenizer.encode(text)),
  back: texts.map((text) => tokenizer.decode(tokenizer.encode(text))),
  history: history.map((text) => mergeHistory(tokenizer, text)),
  decoded: decode.map((ids) => tried(() => tokenizer.decode(ids))),
  probabilities: knobs.map((given) => tried(() => [...nextProbabilities(row(), given)])),
  counts: draws ? counts() : [],
};
writeFileSync(1, JSON.stringify(answer));
