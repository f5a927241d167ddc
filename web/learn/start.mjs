// What training needs is fetched when a reader presses “train”: the script with the workers, and the
// grammar of the stories.

import { inWords } from "../exhibits/model_choice.mjs";
import { bundle, script } from "../page.mjs";

/** @typedef {import("./drive.mjs").Plan} Plan */

const DATABASE = "gpt2-edu-runs"; // where runs.js keeps what was trained

/** @returns {Promise<typeof gpt2Runs>} */
export function runs() {
  return script("runs.js", () => globalThis.gpt2Runs);
}

/** @param {Plan} plan */
export async function grammarFor(plan) {
  return plan.data.kind === "crane" ? bundle("crane_grammar") : undefined;
}

/**
 * What was kept of a run, if anything was, or why it cannot be continued. The script is asked for it
 * only where it was used before.
 * @returns {Promise<{saved?: import("./drive.mjs").Saved, problem: string}>}
 */
export async function keptRun() {
  try {
    const databases = await indexedDB.databases();
    if (!databases.some(({ name }) => name === DATABASE)) return { problem: "" };
  } catch {
    return { problem: "" }; // a page opened from a disk may have no storage
  }
  try {
    return { saved: await (await runs()).stored(0), problem: "" };
  } catch (error) {
    return { problem: inWords(error) };
  }
}

/** How many workers a single run may have. */
export function workers() {
  return navigator.hardwareConcurrency > 1 ? 2 : 1;
}

/**
 * The text of a file, or an Error that says what is wrong with it.
 * @param {File} file
 */
export async function textOf(file) {
  const { readText, checkText } = await runs();
  const text = await readText(file);
  const wrong = checkText(text);
  if (wrong) throw new Error(wrong);
  return text;
}

/** @param {File} file  for the reader to keep */
export function save(file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
