// What the packed script holds (npm run build): for a page, what it needs of the engine, as `gpt2`; and
// in a worker, which runs the same script, the engine itself.

// These come first: gzip finds what is alike within 32 kB, and nothing is like them.
import "./kernel.mjs";
import "./whole_kernel.mjs";
import "./shaders.mjs";

import "./worker.mjs";
import { Engine } from "./client.mjs";
import { readConfig } from "./config.mjs";
import { PUBLISHED, describe } from "./hub.mjs";
import { SUPERSEDED } from "./messages.mjs";
import {
  beside,
  bundle,
  bundledAdapter,
  bundledModel,
  loadTokenizer,
  script,
  startEngine,
  unpackTokenizer,
} from "./page.mjs";
import { geluTanh, silu, softmax } from "./numbers.mjs";
import { GROUP, roundTo } from "./rounding.mjs";
import { nextProbabilities } from "./sampling.mjs";
import { numParameters } from "./shapes.mjs";
import { lacking } from "./speculative.mjs";
import { list, open, remove } from "./storage.mjs";
import { nextTask } from "./tasks.mjs";
import { END_OF_TEXT, SPACE } from "./tokenizer.mjs";

/** @type {any} */ (globalThis).gpt2 = {
  END_OF_TEXT,
  Engine,
  GROUP,
  PUBLISHED,
  SPACE,
  SUPERSEDED,
  beside,
  bundle,
  bundledAdapter,
  bundledModel,
  describe,
  geluTanh,
  lacking,
  list,
  loadTokenizer,
  nextProbabilities,
  nextTask,
  numParameters,
  open,
  readConfig,
  script,
  remove,
  roundTo,
  silu,
  softmax,
  startEngine,
  unpackTokenizer,
};
