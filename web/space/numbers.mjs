// Numbers as textures, and colours as numbers.

import {
  DataArrayTexture,
  DataTexture,
  FloatType,
  LinearMipmapLinearFilter,
  NearestFilter,
  RGBAFormat,
} from "three";

/** @typedef {[number, number, number]} Ink  0 to 1 */

const SLANT = 8; // how far a texture stays sharp that is seen from the side

/** How far above zero a number is, or below: red or green, so that from afar they mix. @param {ArrayLike<number>} values @param {number} full  the value that has the full colour */
function bytes(values, full) {
  const all = new Uint8Array(4 * values.length);
  for (let i = 0; i < values.length; i++) {
    const strength = 255 * Math.min(1, Math.abs(values[i]) / full);
    all[4 * i + (values[i] < 0 ? 1 : 0)] = strength;
    all[4 * i + 3] = 255;
  }
  return all;
}

/**
 * A matrix, a row of numbers after the other.
 * @param {ArrayLike<number>} values
 * @param {number} width
 * @param {number} height
 * @param {number} full
 */
export function matrix(values, width, height, full) {
  return mixing(new DataTexture(bytes(values, full), width, height, RGBAFormat));
}

/**
 * Vectors, that do not mix with each other.
 * @param {ArrayLike<number>} values
 * @param {number} width
 * @param {number} full
 */
export function vectors(values, width, full) {
  return mixing(new DataArrayTexture(bytes(values, full), width, 1, values.length / width));
}

/** @template {DataTexture | DataArrayTexture} T @param {T} texture */
function mixing(texture) {
  texture.magFilter = NearestFilter;
  texture.minFilter = LinearMipmapLinearFilter;
  texture.generateMipmaps = true;
  texture.anisotropy = SLANT;
  texture.needsUpdate = true;
  return texture;
}

/**
 * @param {Ink[]} inks
 * @param {number} width
 * @param {number} height
 */
export function colours(inks, width, height) {
  const values = Float32Array.from(inks.flatMap((ink) => [...ink, 1]));
  const texture = new DataTexture(values, width, height, RGBAFormat, FloatType);
  texture.minFilter = texture.magFilter = NearestFilter;
  texture.needsUpdate = true;
  return texture;
}

/** Numbers in units of their own root mean square. @param {ArrayLike<number>} values */
export function scaled(values) {
  const all = Float32Array.from(values);
  const rms = Math.sqrt(all.reduce((sum, one) => sum + one * one, 0) / all.length) || 1;
  return all.map((one) => one / rms);
}

/** @param {Ink} a @param {Ink} b @param {number} share  of b @returns {Ink} */
export function mixed(a, b, share) {
  return /** @type {Ink} */ (a.map((one, i) => one + share * (b[i] - one)));
}

/** @param {string} css  rgb(…) or color(srgb …) @returns {Ink} */
export function inkOf(css) {
  const [r, g, b] = (css.match(/[\d.]+/g) ?? ["128", "128", "128"]).map(Number);
  const most = css.includes("srgb") ? 1 : 255;
  return [r / most, g / most, b / most];
}
