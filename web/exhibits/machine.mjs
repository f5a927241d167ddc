// What answers in the page: which model, in which arithmetic, how fast, and what of it the browser
// keeps.

import { list, remove } from "../storage.mjs";
import { choice, labelled, make } from "./dom.mjs";

/** @import { Page } from "./exhibit.mjs" */

const BACKENDS = {
  auto: "automatic",
  wasm: "WebAssembly",
  "wasm-half": "WebAssembly, float16 weights",
  "wasm-int8": "WebAssembly, int8 weights: not identical",
  plain: "plain JavaScript",
  webgpu: "WebGPU",
};
const WRITTEN = 40; // tokens, to tell how fast it is

/** @param {Page} page */
export function machine({ model, state, update, complain }) {
  const facts = make("p");
  const rate = make("p", { role: "status" });
  const backend = choice(BACKENDS, () => {
    facts.textContent = "The model is loaded …";
    rate.textContent = "";
    model.compute(backend.value).then(update, async (error) => {
      await show();
      complain(error);
    });
  });
  const stored = make("ul", { class: "stored" });

  const measure = async () => {
    const { ids } = await model.encode(state.get("text"));
    const began = performance.now();
    const settings = { temperature: 0, overflow: "crop" };
    const request = { ids, n: WRITTEN, key: "machine", settings };
    const { answer } = await model.stream(request, () => {});
    await answer;
    const seconds = (performance.now() - began) / 1000;
    const each = Math.round(WRITTEN / seconds).toLocaleString("en");
    rate.textContent = `${WRITTEN} tokens in ${seconds.toFixed(2)} s: ${each} a second.`;
  };

  /** What runs, and what is stored. */
  const show = async () => {
    const { name, backend: now, seconds } = model.present;
    backend.value = model.backend;
    facts.textContent = `${name} runs in ${now}; it was ready after ${seconds.toFixed(2)} s.`;
    const models = await list().catch(() => []);
    stored.replaceChildren(
      ...models.map(({ name, bytes, complete }) => {
        const size = `${Math.round(bytes / 1e6)} MB in this browser`;
        const onclick = () => remove(name).then(show, complain);
        const gone = make("button", { onclick }, `delete ${name}`);
        return make("li", {}, `${name}: ${size}${complete ? "" : ", unfinished"} `, gone);
      }),
    );
  };

  const element = make(
    "div",
    { class: "engine" },
    facts,
    labelled("arithmetic", backend),
    make("button", { onclick: () => measure().catch(complain) }, "how fast?"),
    rate,
    stored,
  );
  return { element, show };
}
