// What the script train.js holds, which a page loads only to train: the arithmetic, as `gpt2Train`, in
// a page or in a worker.

// These come first: gzip finds what is alike within 32 kB, and nothing is like them.
import "../kernel.mjs";
import "./kernel.mjs";

import { randomNumbers } from "../sampling.mjs";
import { learningRate } from "./adamw.mjs";
import { bytesOf } from "./bytes.mjs";
import { IGNORED } from "./loss.mjs";
import { simdArithmetic } from "./simd.mjs";
import { Trainer } from "./trainer.mjs";

/** @type {any} */ (globalThis).gpt2Train = {
  IGNORED,
  Trainer,
  bytesOf,
  learningRate,
  randomNumbers,
  simdArithmetic,
};
