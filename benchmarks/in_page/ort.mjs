// onnxruntime-web in a worker, behind the messages of web/host.mjs, so that the page asks
// both contenders in the same words. One thread, as a page without special headers has it.

import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./node_modules/onnxruntime-web/dist/", import.meta.url).href;

/** @type {ort.InferenceSession} */
let session;
let sizes = { nLayer: 0, nHead: 0, headSize: 0 };

self.onmessage = async ({ data: { id, ...request } }) => {
  try {
    self.postMessage({ id, result: await answer(id, request) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
};

async function answer(id, { call, config, graph, weights, ids, n }) {
  if (call === "load") {
    const { n_layer: nLayer, n_head: nHead, n_embd: C } = JSON.parse(config);
    sizes = { nLayer, nHead, headSize: C / nHead };
    session = await ort.InferenceSession.create(new Uint8Array(await graph.arrayBuffer()), {
      executionProviders: ["wasm"],
      graphOptimizationLevel: "all",
      externalData: [{ path: weights.name, data: weights }],
    });
    return { backend: "onnxruntime-web" };
  }
  const feeds = { ids: tokens(ids), ...nothingSeen() };
  if (call === "run") return { logits: (await session.run(feeds)).logits.data };
  const written = [];
  for (let i = 0; i < n; i++) {
    const { logits, ...kept } = await session.run(feeds);
    const token = argmax(logits.data);
    written.push(token);
    self.postMessage({ id, token });
    feeds.ids = tokens([token]);
    for (const [name, tensor] of Object.entries(kept)) feeds[`past_${name}`] = tensor;
  }
  return { ids: written };
}

function tokens(ids) {
  return new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [ids.length]);
}

function nothingSeen() {
  const { nLayer, nHead, headSize } = sizes;
  const empty = () => new ort.Tensor("float32", new Float32Array(0), [nHead, 0, headSize]);
  const feeds = {};
  for (let layer = 0; layer < nLayer; layer++) {
    feeds[`past_key.${layer}`] = empty();
    feeds[`past_value.${layer}`] = empty();
  }
  return feeds;
}

function argmax(numbers) {
  let best = 0;
  for (let i = 0; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}
