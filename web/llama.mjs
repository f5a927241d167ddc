// Llama, Qwen2 and Qwen3: what llama.py has otherwise than model.py, with its names and numbers.
//
// Four parts differ. Positions turn queries and keys; RMSNorm subtracts no mean; the MLP multiplies two
// projections; and several heads of queries read one head of keys and values.

import { splitHeads } from "./heads.mjs";
import { GPT2, Pass } from "./model.mjs";

/** @import { Config, Llama as Parts } from "./config.mjs" */
/** @import { Tensor } from "./memory.mjs" */
/** @import { Backend, ForLlama } from "./plain.mjs" */

export class Llama extends GPT2 {
  Pass = LlamaPass;
}

class LlamaPass extends Pass {
  get llama() {
    return /** @type {Backend & ForLlama} */ (this.backend);
  }

  /**
   * There is no table of positions.
   * @param {ArrayLike<number>} ids  (T)
   */
  async embed(ids) {
    return this.backend.lookUp(this.weights["transformer.wte"].weight, ids);
  }

  /**
   * @param {Tensor} x  (T, C)
   * @param {number} layer
   */
  async attention(x, layer) {
    const path = `transformer.h.${layer}.attn.`;
    const merged = await this.gather(await this.project(x, path), layer);
    const out = this.linear(`${path}o_proj`, await this.note(`${path}merged`, merged, "B T M"));
    return this.note(`${path}out`, out, "B T C");
  }

  /**
   * @param {Tensor} x  (T, C)
   * @param {string} path
   */
  async project(x, path) {
    const { nHead: H, nKvHead: K } = this.config;
    const q = this.turned(this.heads(`${path}q`, x, H));
    const k = this.turned(this.heads(`${path}k`, x, K));
    const v = this.heads(`${path}v`, x, K);
    return {
      q: await this.note(`${path}q`, q, "B H T D"),
      k: await this.note(`${path}k`, k, "B K T D"),
      v: await this.note(`${path}v`, v, "B K T D"),
    };
  }

  /**
   * A projection, head by head, and normalised where there is a norm for it.
   * @param {string} path
   * @param {Tensor} x  (T, C)
   * @param {number} many  heads
   */
  heads(path, x, many) {
    const { backend, weights, config } = this;
    const heads = splitHeads(backend, this.linear(`${path}_proj`, x), 0, many, config.headSize);
    return `${path}_norm` in weights ? this.norm(`${path}_norm`, heads) : heads;
  }

  /**
   * Every pair of columns of every head turned by its token's angle.
   * @param {Tensor} x  (heads, T, D)
   */
  turned(x) {
    const { llama, config, start, switches } = this;
    return switches.positions === false ? x : llama.rotate(x, start, frequencies(config));
  }

  /**
   * One projection bends, as silu(x) = x · sigmoid(x), and scales the other.
   * @param {Tensor} x  (T, C)
   * @param {number} layer
   */
  async mlp(x, layer) {
    const path = `transformer.h.${layer}.mlp.`;
    const pre = await this.note(`${path}pre`, this.linear(`${path}gate_proj`, x), "B T F");
    const gated = this.llama.gate(pre, this.linear(`${path}up_proj`, x));
    const act = await this.note(`${path}act`, gated, "B T F");
    return this.note(`${path}out`, this.linear(`${path}down_proj`, act), "B T C");
  }

  /**
   * @param {string} name
   * @param {Tensor} x  (…, C)
   */
  norm(name, x) {
    if (this.switches.layerNorm === false) return x;
    return this.llama.rmsNorm(x, this.weights[name].weight, this.config.layerNormEpsilon);
  }
}

/**
 * Radians by which a step of one token turns each pair of columns: (D/2), falling. In float32, as in
 * Python.
 * @param {Config} config
 */
export function frequencies({ headSize: D, llama }) {
  const { ropeBase, scaling } = /** @type {Parts} */ (llama);
  return Float32Array.from({ length: D / 2 }, (_, pair) => {
    const turn = Math.fround(1 / Math.fround(ropeBase ** Math.fround((2 * pair) / D)));
    if (!scaling) return turn;
    const { factor, low_freq_factor: low, high_freq_factor: high } = scaling;
    const within = (scaling.original_max_position_embeddings * turn) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (within - low) / (high - low)));
    return kept * turn + ((1 - kept) * turn) / factor;
  });
}
