// The script runs.js: training runs in workers, as `gpt2Runs`. A page loads it when its reader presses
// "train"; each worker runs the same script.

// These come first: gzip finds what is alike within 32 kB, and nothing is like them.
import "../kernel.mjs";
import "../train/kernel.mjs";

import "./worker.mjs";
import { download, filesOf, folderOf } from "../goes/files.mjs";
import { openFile, openFiles } from "../goes/read.mjs";
import { checkText, readText } from "../text/reading.mjs";
import { start } from "./client.mjs";
import { available, drop, stored } from "./keep.mjs";

/** @type {any} */ (globalThis).gpt2Runs = {
  available,
  checkText,
  download,
  drop,
  filesOf,
  folderOf,
  openFile,
  openFiles,
  readText,
  start,
  stored,
};
