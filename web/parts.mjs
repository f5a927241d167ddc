// Parts of a model's weights, for those who look into it.

import { isList, shown } from "./messages.mjs";

/** @import { Request } from "./host.mjs" */
/** @import { GPT2 } from "./model.mjs" */

/**
 * A part of a module's weights. Rows are outputs, as nn.Linear stores them; of a vector they are its
 * numbers. Of more than `most` rows or columns so many are given, evenly spread; the bias is complete.
 * @param {GPT2} model
 * @param {Request} request  {module, rows: [first, end], columns: [first, end], most?}
 * @returns {Promise<{weight: Float32Array, bias: Float32Array | null}>}
 */
export async function partOf({ weights, backend }, { module, rows, columns, most = Infinity }) {
  /** @type {any}  some have a matrix, some a vector */
  const { weight, bias } = Object.hasOwn(weights, module) ? weights[module] : {};
  if (!weight) throw new Error(`there are no weights of ${shown(module)}`);
  if (typeof most !== "number" || !(most >= 1)) {
    throw new Error(`most must be a number from 1 on, not ${shown(most)}`);
  }
  const vector = !("rows" in weight);
  const [R, K] = vector ? [weight.shape[0], 1] : [weight.rows, weight.columns];
  const [first, end] = range("rows", rows, R);
  const [outputs, inputs] = [
    spread([first, end], vector ? R : most),
    spread(range("columns", columns, K), most),
  ];
  const stack = backend.mark();
  try {
    const part = vector ? backend.slice(weight, first, end) : backend.lookUp(weight, outputs);
    const all = await backend.read(part);
    const wide = inputs.length;
    const some = wide === K ? all : new Float32Array(outputs.length * wide);
    for (let row = 0; wide < K && row < outputs.length; row++) {
      for (let i = 0; i < wide; i++) some[row * wide + i] = all[row * K + inputs[i]];
    }
    return {
      weight: some,
      bias: bias ? await backend.read(backend.slice(bias, first, end)) : null,
    };
  } finally {
    backend.release(stack);
  }
}

/**
 * At most so many whole numbers of a range, evenly spread.
 * @param {number[]} range  [first, end]
 * @param {number} most
 */
function spread([first, end], most) {
  const many = Math.min(end - first, Math.floor(most));
  return Array.from({ length: many }, (_, i) => first + Math.floor((i * (end - first)) / many));
}

/**
 * @param {string} what
 * @param {unknown} given
 * @param {number} many
 * @returns {number[]}  [first, end]
 */
function range(what, given, many) {
  const [first, end] = isList(given) ? Array.from(/** @type {number[]} */ (given)) : [];
  const whole = Number.isInteger(first) && Number.isInteger(end);
  if (whole && first >= 0 && first < end && end <= many) return [first, end];
  throw new Error(`${what} must be [first, end] within 0 … ${many}`);
}
