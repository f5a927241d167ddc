// Weights as whole numbers times a scale, by the rule of gpt2_edu/quantize.py: symmetric, the scale from
// the largest, each weight to the nearest. All in float32, so that the same numbers come out.

/** @typedef {"tensor" | "row" | "group"} Per  what has a scale of its own */

export const GROUP = 32; // columns of a group

const { abs, fround } = Math;
const EVEN = 1.5 * 2 ** 52; // added to a number and taken off again, it leaves a whole one: the nearest, of two the even

/**
 * Numbers start … end - 1 of a row as whole ones, −largest … largest.
 * @param {Float32Array} row
 * @param {number} from  where it begins
 * @param {Int8Array | Int16Array} to
 * @param {number} at  where the same row begins there
 * @param {number} start
 * @param {number} end
 * @param {number} largest
 * @returns {number}  what one of them counts
 */
export function toWhole(row, from, to, at, start, end, largest) {
  let most = 0;
  for (let i = start; i < end; i++) {
    const size = abs(row[from + i]);
    if (size > most) most = size;
  }
  const scale = fround(most / largest) || 1;
  for (let i = start; i < end; i++) {
    to[at + i] = fround(row[from + i] / scale) + EVEN - EVEN;
  }
  return scale;
}

/**
 * What rounding leaves of numbers; they are changed.
 * @param {Float32Array} numbers  row by row
 * @param {number} columns
 * @param {number} bits  2 to 16
 * @param {Per} per
 */
export function roundTo(numbers, columns, bits, per) {
  const size = per === "tensor" ? numbers.length : columns;
  const step = per === "group" ? GROUP : size;
  const whole = new Int16Array(size);
  for (let row = 0; row < numbers.length; row += size) {
    for (let start = 0; start < size; start += step) {
      const end = Math.min(start + step, size);
      const scale = toWhole(numbers, row, whole, 0, start, end, 2 ** (bits - 1) - 1);
      for (let i = start; i < end; i++) numbers[row + i] = scale * whole[i];
    }
  }
  return numbers;
}
