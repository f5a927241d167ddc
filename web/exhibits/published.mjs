// OpenAI's GPT-2 in the browser: fetched once, when the reader has agreed, and stored until it is
// deleted on the page “Open the model”.

import { PUBLISHED, describe } from "../hub.mjs";
import { startEngine } from "../page.mjs";
import { list, open } from "../storage.mjs";
import { make } from "./dom.mjs";

/** @import { Published } from "../hub.mjs" */
/** @import { Files } from "./page_model.mjs" */

const NAME = "gpt2"; // of the download, and in the storage
export const MEGABYTES = Math.round(PUBLISHED[NAME].bytes / 1e6);
const NO_STORAGE =
  "A page that was opened from a disk has no storage: download the model's two files yourself, " +
  "and choose them as your model.";

/**
 * Fetch a model into the browser's storage, in a worker of its own, so that the engine stays free.
 * @param {string} name
 * @param {Published} published
 * @param {(sentence: string, share: number) => void} told  how far it is
 */
export function fetchModel(name, published, told) {
  told(`${new URL(published.endpoint).host} is asked …`, 0);
  const all = Math.round(published.bytes / 1e6);
  const worker = startEngine();
  const { answer, cancel } = worker.download(
    name,
    (bytes) => told(`${Math.round(bytes / 1e6)} of ${all} MB are here`, bytes / published.bytes),
    { published },
  );
  return { answer: answer.finally(() => worker.port.terminate?.()), cancel };
}

/** @returns {Promise<Files>} GPT-2, once it is stored */
export async function storedGpt2() {
  return { name: "GPT-2", stored: NAME, ...(await open(NAME)) };
}

/**
 * A button that puts GPT-2 in the place of the present model. Before the first time the question stands
 * beside it, and then how much has come.
 * @param {(files: Promise<Files>) => void} use
 * @param {(said: unknown) => void} say  a sentence, or an error
 */
export function gpt2Button(use, say) {
  const told = make("span");
  const bar = make("progress", { "aria-label": "fetched" });
  const yes = make("button", { type: "button", onclick: () => bring().catch(say) }, "fetch it");
  const no = make("button", { type: "button", onclick: () => stop() });
  const style =
    "flex-basis: 100%; display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.5rem 0.8rem; font-size: 0.9rem; text-align: start; overflow-wrap: anywhere; background: var(--zone); border-radius: 6px";
  const question = make("div", { role: "group", "aria-label": "GPT-2", style }, told, bar, yes, no);
  let stop = () => {
    question.remove();
    button.focus();
  };

  const ask = async () => {
    const stored = await list().catch(() => []);
    if (stored.some(({ name, complete }) => name === NAME && complete)) return use(storedGpt2());
    if (location.protocol === "file:") return say(NO_STORAGE);
    if (question.isConnected) return;
    told.textContent = `${describe(PUBLISHED[NAME])}. Fetch it?`;
    no.textContent = "no";
    bar.hidden = true;
    yes.hidden = false;
    button.after(question);
    yes.focus();
  };
  const bring = async () => {
    const close = stop;
    const { answer, cancel } = fetchModel(NAME, PUBLISHED[NAME], (sentence, share) => {
      told.textContent = sentence;
      bar.value = share;
    });
    stop = cancel;
    no.textContent = "stop fetching";
    bar.hidden = false;
    yes.hidden = true;
    no.focus();
    try {
      await answer;
    } finally {
      stop = close;
      close();
    }
    use(storedGpt2());
  };
  const button = make("button", { type: "button", onclick: () => ask().catch(say) }, "use GPT-2");
  return button;
}
