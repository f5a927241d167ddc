// The script runs.js: training runs in workers of the page, as `gpt2Runs`. A page loads it when its
// reader presses "train".

import { DEFAULTS } from "../train/adamw.mjs";

/** @type {any} */ (globalThis).gpt2Runs = { DEFAULTS };
