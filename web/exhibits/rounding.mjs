// Weights as whole numbers times a scale, by the rule of gpt2_edu/quantize.py: symmetric, the scale from
// the largest, each weight to the nearest. All in float32, so that the same numbers come out.

/** @typedef {"tensor" | "row" | "group"} Per  what has a scale of its own */

export const GROUP = 32; // columns
const { fround } = Math;

/**
 * @param {Float32Array} numbers  row by row; they are changed
 * @param {number} columns
 * @param {number} bits  2 to 16
 * @param {Per} per
 */
export function roundTo(numbers, columns, bits, per) {
  const size = per === "tensor" ? numbers.length : columns;
  for (let row = 0; row < numbers.length; row += size) {
    const step = per === "group" ? GROUP : size;
    for (let at = row; at < row + size; at += step) {
      roundOne(numbers.subarray(at, Math.min(at + step, row + size)), 2 ** (bits - 1) - 1);
    }
  }
  return numbers;
}

/**
 * @param {Float32Array} numbers  that share a scale
 * @param {number} most  the largest whole number
 */
function roundOne(numbers, most) {
  let largest = 0;
  for (let i = 0; i < numbers.length; i++) largest = Math.max(largest, Math.abs(numbers[i]));
  const scale = fround(largest / most);
  if (scale === 0) return;
  for (let i = 0; i < numbers.length; i++) {
    numbers[i] = scale * nearest(fround(numbers[i] / scale));
  }
}

/**
 * The nearest whole number; of two equally near ones the even one, as in PyTorch.
 * @param {number} x
 */
function nearest(x) {
  const up = Math.round(x); // a half goes up
  return up - x === 0.5 && up % 2 ? up - 1 : up;
}
