// Vectors of any kind of array.

/**
 * As many products as the first one has numbers.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * The largest difference of two numbers in the same place, as far as the first one goes.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function farthest(a, b) {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
  return most;
}
