// What the tests of training share with the one in Chromium.

import { randomNumbers } from "../sampling.mjs";

export const BITS = 1091197259353; // of the weights after 20 steps of "larger sizes", by `checksum`

/**
 * The weights that fixtures.py makes, too; returns the random numbers that come after them.
 * @param {any} trainer
 * @param {any} expected  a case of fixtures/training.json
 */
export function fill(trainer, expected) {
  const random = randomNumbers(expected.seed);
  let [sum, place] = [0, 0];
  for (const { name } of expected.grads) {
    const { data, shape } = trainer.parameters.get(name);
    const scale = shape.length === 1 ? 1 : 3 * Math.min(...shape) ** -0.5;
    const shift = /ln_\w+\.weight$/.test(name) ? 1 : 0;
    for (let i = 0; i < data.length; i++) {
      data[i] = shift + scale * (random() - 0.5);
      sum += ++place * data[i];
    }
  }
  if (sum !== expected.checksum) throw new Error("these are other weights than Python's");
  const rows = expected.ids.length / expected.T;
  for (let i = 0; i < rows * (expected.T + 1); i++) random(); // ids, which the fixture has
  return random;
}

/**
 * A sum of the bits of numbers, each by its place.
 * @param {Float32Array} numbers
 */
export function checksum({ buffer, byteOffset, length }) {
  const bits = new Uint32Array(buffer, byteOffset, length);
  return bits.reduce((sum, n, i) => (sum + n * (1 + (i % 1000))) % 2 ** 40, 0);
}
