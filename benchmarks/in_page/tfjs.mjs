// TensorFlow.js on its WebAssembly backend, with the same GPT-2 written as one would write it. The
// backend has no gradient of `gather`, so tokens are looked up by a product with one-hot rows.

import "./node_modules/@tensorflow/tfjs/dist/tf.min.js";
import "./node_modules/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js";
import { serve } from "./trainee.mjs";

const { tf } = globalThis;
const WASM = "/benchmarks/in_page/node_modules/@tensorflow/tfjs-backend-wasm/dist/";

let adam;
let loss;

serve({
  async begin({ sizes, ids, targets, lr }) {
    tf.wasm.setWasmPaths(new URL(WASM, self.location.origin).href);
    await tf.setBackend("wasm");
    await tf.ready();
    if (tf.getBackend() !== "wasm" || !(await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT"))) {
      throw new Error("TensorFlow.js does not run its SIMD kernels here");
    }
    adam = tf.train.adam(lr, 0.9, 0.95);
    loss = model(sizes, ids, targets);
  },

  async steps({ n }) {
    for (let i = 1; i < n; i++) adam.minimize(loss);
    const cost = adam.minimize(loss, true);
    return (await cost.data())[0];
  },
});

/** A function that computes the loss of the batch from variables. */
function model({ V, N, H, C, T, B }, ids, targets) {
  const normal = (shape, std = 0.1) => tf.variable(tf.randomNormal(shape, 0, std));
  const linear = (K, R, std) => {
    const [weight, bias] = [normal([K, R], std), tf.variable(tf.zeros([R]))];
    return (x) => tf.add(tf.matMul(x, weight), bias);
  };
  const norm = () => {
    const [weight, bias] = [tf.variable(tf.ones([C])), tf.variable(tf.zeros([C]))];
    return (x) => {
      const { mean, variance } = tf.moments(x, -1, true);
      const h = x.sub(mean).mul(variance.add(1e-5).rsqrt());
      return h.mul(weight).add(bias);
    };
  };
  const small = 0.1 / Math.sqrt(2 * N);
  const blocks = Array.from({ length: N }, () => ({
    ...{ ln1: norm(), qkv: linear(C, 3 * C), project: linear(C, C, small) },
    ...{ ln2: norm(), expand: linear(C, 4 * C), contract: linear(4 * C, C, small) },
  }));
  const [wte, wpe, last] = [normal([V, C]), normal([T, C]), norm()];
  const tokens = tf.oneHot(tf.tensor1d(ids, "int32"), V).toFloat();
  const wanted = tf.oneHot(tf.tensor1d(targets, "int32"), V).toFloat();
  const mask = tf.tensor2d(
    Array.from({ length: T }, (_, t) => Array.from({ length: T }, (_, s) => (s > t ? -1e9 : 0))),
  );
  const heads = (x) => x.reshape([B, T, H, C / H]).transpose([0, 2, 1, 3]);
  const gelu = (x) => {
    const u = x.add(x.mul(x).mul(x).mul(0.044715)).mul(Math.sqrt(2 / Math.PI));
    return x.mul(0.5).mul(u.tanh().add(1));
  };
  return () => {
    let x = tf
      .matMul(tokens, wte)
      .reshape([B, T, C])
      .add(wpe)
      .reshape([B * T, C]);
    for (const { ln1, qkv, project, ln2, expand, contract } of blocks) {
      const [q, k, v] = tf.split(qkv(ln1(x)), 3, -1).map(heads);
      const scores = tf.matMul(q, k, false, true).mul(1 / Math.sqrt(C / H));
      const mixed = tf.matMul(tf.softmax(scores.add(mask)), v);
      x = x.add(project(mixed.transpose([0, 2, 1, 3]).reshape([B * T, C])));
      x = x.add(contract(gelu(expand(ln2(x)))));
    }
    return tf.losses.softmaxCrossEntropy(wanted, tf.matMul(last(x), wte, false, true));
  };
}
