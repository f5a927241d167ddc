// What answers in the page: which model, in which arithmetic, how fast, and what of it the browser
// keeps.

import { numParameters } from "../shapes.mjs";
import { list, remove } from "../storage.mjs";
import { choice, labelled, make } from "./dom.mjs";

/** @import { Config } from "../config.mjs" */
/** @import { Page } from "./exhibit.mjs" */

const BACKENDS = {
  auto: "automatic",
  wasm: "WebAssembly",
  "wasm-half": "WebAssembly, float16 weights",
  "wasm-int8": "WebAssembly, int8 weights: not identical",
  "wasm-int4": "WebAssembly, int4 weights: not identical",
  plain: "plain JavaScript",
  webgpu: "WebGPU",
};
const OTHERS = "What other models lose has not been measured.";
// For the kind of weights that a backend names: the bits of each, and what is lost.
/** @type {[string, number, string][]} */
const KINDS = [
  [
    "int4",
    4,
    `Each weight is one of 15 multiples of a scale that 32 weights share. The book’s model loses 0.002 nats a token by this. ${OTHERS}`,
  ],
  [
    "int8",
    8,
    `Each weight is one of 255 multiples of the scale of its row. The book’s model loses less than 0.0001 nats a token by this. ${OTHERS}`,
  ],
  ["float16", 16, "Each weight keeps three decimal digits."],
  ["", 32, ""],
];
const WRITTEN = 40; // tokens, to tell how fast it is

const megabytes = (/** @type {number} */ bytes) =>
  `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

/**
 * What weights take of memory. Positions, biases and LayerNorms are never rounded to whole numbers;
 * a scale of 32 bits is shared by 32 weights of int4, and by a row of int8, most of which are C long.
 * @param {Config} config
 * @param {number} bits
 */
export function bytesOf(config, bits) {
  const { blockSize, nLayer, nEmbd: C, llama } = config;
  if (bits > 8) return (numParameters(config) * bits) / 8;
  const exact = llama ? (2 * nLayer + 1) * C : (blockSize + 13 * nLayer + 2) * C;
  const scale = bits === 4 ? 1 : 32 / C;
  return ((numParameters(config) - exact) * (bits + scale)) / 8 + 4 * exact;
}

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
    const { name, config, backend: now, seconds } = model.present;
    const { rounded, stored: place } = model.files ?? {};
    for (const option of backend.options) {
      option.disabled = Boolean(rounded) && !["auto", rounded].includes(option.value);
    }
    backend.value = model.backend;
    const [, bits, lost] = KINDS.find(([kind]) => now.includes(kind)) ?? KINDS[3];
    const size = megabytes(bytesOf(config, bits));
    const other = rounded ? ` For other arithmetic delete ${place}, and fetch all of it.` : "";
    facts.textContent = `${name} runs in ${now}; it was ready after ${seconds.toFixed(2)} s. Its weights take ${size} of memory. ${lost}${other}`;
    const models = await list().catch(() => []);
    stored.replaceChildren(
      ...models.map(({ name, bytes, complete, rounded }) => {
        const others = Object.entries(rounded).map(
          ([kind, bytes]) => `${megabytes(bytes)} as ${kind.replace("wasm-", "")}`,
        );
        const size = [...(bytes ? [megabytes(bytes)] : []), ...others].join(" and ");
        const onclick = () => remove(name).then(show, complain);
        const gone = make("button", { onclick }, `delete ${name}`);
        return make(
          "li",
          {},
          `${name}: ${size} in this browser${complete ? "" : ", unfinished"} `,
          gone,
        );
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
