// OpenAI's GPT-2 in the browser: fetched once, when the reader has agreed, and stored until it is
// deleted on the page “Open the model”. From this site, where it has a copy in 4 bits, or from the hub.

import { PUBLISHED, describe } from "../hub.mjs";
import { beside, startEngine } from "../page.mjs";
import { list, open } from "../storage.mjs";
import { make } from "./dom.mjs";

/** @import { Published } from "../hub.mjs" */
/** @import { Files } from "./page_model.mjs" */

const [WHOLE, SMALL] = ["gpt2", "gpt2-int4"]; // in the storage
const ROUNDED = "wasm-int4"; // the backend that computes with what the site has
const NO_STORAGE =
  "A page that was opened from a disk has no storage: download the model's two files yourself, " +
  "and choose them as your model.";

/**
 * GPT-2 in 4 bits, where this site has it: `make gpt2` writes what it is below this script.
 * @returns {Published | null}
 */
function onSite() {
  const made = /** @type {any} */ (globalThis).gpt2Files?.gpt2_int4;
  const place = { endpoint: location.origin, folder: beside("files/"), backend: ROUNDED };
  return made && location.protocol !== "file:" ? { ...made, ...place } : null;
}

/** What would be fetched. */
export const megabytes = () => megabytesOf(onSite() ?? PUBLISHED[WHOLE]);

/** @param {Published} published */
const megabytesOf = ({ bytes }) => Math.round(bytes / 1e6);

/**
 * Fetch a model into the browser's storage, in a worker of its own, so that the engine stays free.
 * @param {string} name
 * @param {Published} published
 * @param {(sentence: string, share: number) => void} told  how far it is
 */
export function fetchModel(name, published, told) {
  told(`${new URL(published.endpoint).host} is asked …`, 0);
  const all = megabytesOf(published);
  const worker = startEngine();
  const { answer, cancel } = worker.download(
    name,
    (bytes) => told(`${Math.round(bytes / 1e6)} of ${all} MB are here`, bytes / published.bytes),
    { published },
  );
  return { answer: answer.finally(() => worker.port.terminate?.()), cancel };
}

/** The name of what is stored of GPT-2: all of it before what came rounded. */
async function stored() {
  const complete = (await list()).filter(({ complete }) => complete).map(({ name }) => name);
  return [WHOLE, SMALL].find((name) => complete.includes(name));
}

/** @returns {Promise<Files>} GPT-2, once it is stored */
export async function storedGpt2() {
  const name = (await stored()) ?? WHOLE;
  const rounded = name === SMALL ? ROUNDED : undefined;
  return { name: "GPT-2", stored: name, rounded, ...(await open(name)) };
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
  const yes = make("button", { type: "button" }, "fetch it");
  const all = make("button", { type: "button", onclick: () => bring(PUBLISHED[WHOLE]) });
  const no = make("button", { type: "button", onclick: () => stop() });
  const style =
    "flex-basis: 100%; display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.5rem 0.8rem; font-size: 0.9rem; text-align: start; overflow-wrap: anywhere; background: var(--zone); border-radius: 6px";
  const parts = [told, bar, yes, all, no];
  const question = make("div", { role: "group", "aria-label": "GPT-2", style }, ...parts);
  const close = () => {
    question.remove();
    button.focus();
  };
  let stop = close;

  const ask = async () => {
    if (await stored().catch(() => "")) return use(storedGpt2());
    if (location.protocol === "file:") return say(NO_STORAGE);
    if (question.isConnected) return;
    const site = onSite();
    const { content_root: root = "" } = document.documentElement.dataset;
    const chapter = make("a", { href: `${root}notebooks/21_bits.html` }, "chapter 21");
    const cost = [". Rounding changes what it predicts (", chapter, ")"];
    offer(site, describe(site ?? PUBLISHED[WHOLE]), ...(site ? cost : []), ". Fetch it?");
    button.after(question);
    yes.focus();
  };
  const offer = (
    /** @type {Published | null} */ site,
    /** @type {(string | Node)[]} */ ...said
  ) => {
    told.replaceChildren(...said);
    yes.onclick = () => bring(site ?? PUBLISHED[WHOLE]);
    const { endpoint } = PUBLISHED[WHOLE];
    all.textContent = `fetch all ${megabytesOf(PUBLISHED[WHOLE])} MB from ${new URL(endpoint).host}`;
    all.hidden = !site;
    no.textContent = "no";
    bar.hidden = true;
    yes.hidden = false;
    stop = close;
  };
  const bring = async (/** @type {Published} */ published) => {
    let stopped = false;
    const name = published.folder ? SMALL : WHOLE;
    const { answer, cancel } = fetchModel(name, published, (sentence, share) => {
      told.textContent = sentence;
      bar.value = share;
    });
    stop = () => {
      stopped = true;
      cancel();
    };
    no.textContent = "stop fetching";
    bar.hidden = false;
    yes.hidden = all.hidden = true;
    no.focus();
    const failed = await answer.then(
      () => null,
      (/** @type {Error} */ error) => error,
    );
    if (failed && name === SMALL && !stopped) {
      offer(published, `${failed.message}.`);
      return all.focus();
    }
    stop = close;
    close();
    if (failed) say(failed);
    else use(storedGpt2());
  };
  const button = make("button", { type: "button", onclick: () => ask().catch(say) }, "use GPT-2");
  return button;
}
