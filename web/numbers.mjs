// Functions of numbers that every backend on the processor shares.

/** @param {number[]} shape */
export function size(shape) {
  return shape.reduce((product, n) => product * n, 1);
}

/**
 * In place; the largest is taken off first, so that nothing overflows.
 * @template {Float32Array | Float64Array} Row
 * @param {Row} row
 */
export function softmax(row) {
  let largest = -Infinity;
  for (const value of row) if (value > largest) largest = value;
  let sum = 0;
  for (let i = 0; i < row.length; i++) {
    row[i] = Math.exp(row[i] - largest);
    sum += row[i];
  }
  for (let i = 0; i < row.length; i++) row[i] /= sum;
  return row;
}

/**
 * x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))); (1 + tanh u) / 2 is 1 / (1 + e⁻²ᵘ), and that is faster.
 * @param {number} x
 */
export function geluTanh(x) {
  return x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));
}

/**
 * x · sigmoid(x)
 * @param {number} x
 */
export function silu(x) {
  return x / (1 + Math.exp(-x));
}

/** @param {number} x */
export function geluErf(x) {
  return 0.5 * x * (1 + erf(x / Math.SQRT2));
}

/**
 * The error function to 1.5e-7: Abramowitz and Stegun 7.1.26.
 * @param {number} x
 */
export function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = t * (1.421413741 + t * (-1.453152027 + t * 1.061405429));
  const sum = t * (0.254829592 + t * (-0.284496736 + tail));
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/**
 * A float16's bits of exponent and fraction, moved into a float32's places, are the number over
 * 2¹¹²; those of infinity and NaN stay what they are.
 * @param {number} bits
 */
export function fromHalf(bits) {
  const special = (bits & 0x7c00) === 0x7c00 ? 0x7f800000 : 0;
  BITS[0] = ((bits & 0x8000) << 16) | ((bits & 0x7fff) << 13) | special;
  return FLOAT[0] * 2 ** 112;
}

/**
 * The bits of the nearest float16, ties to even. Beyond 65,504 it is infinite.
 * @param {number} bits  of a float32
 */
export function toHalf(bits) {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude < 0x38800000) {
    BITS[0] = magnitude;
    FLOAT[0] += 0.5; // the last 23 bits now count in units of 2⁻²⁴
    return sign | (BITS[0] - 0x3f000000);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

/**
 * @param {Float32Array} numbers
 * @returns {Uint32Array}  the same memory
 */
export function bitsOf({ buffer, byteOffset, length }) {
  return new Uint32Array(buffer, byteOffset, length);
}

/**
 * @param {string} text  two hexadecimal digits for each byte
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}
