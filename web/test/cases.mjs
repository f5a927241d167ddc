// Runs a case of fixtures/model.json; for vitest, and for a page with a graphics device.

import { loadModel, inMemory } from "../load.mjs";
import { KVCache } from "../model.mjs";
import { PlainBackend } from "../plain.mjs";
import { randomNumbers } from "../sampling.mjs";
import { readConfig } from "../config.mjs";
import { expectedShapes } from "../shapes.mjs";
import { Tape } from "../tape.mjs";

/** @param {string} text  in base64 */
export const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/**
 * The passes that a case asks for: of each the logits, and the tensors that were noted.
 * @param {{config: string, weights: Uint8Array}} files
 * @param {any} request
 * @param {import("../plain.mjs").Backend} backend
 */
export async function passes({ config, weights }, request, backend) {
  const { chunks, lastOnly, scaled = {}, switches: given = {} } = request;
  const model = await loadModel(config, inMemory(weights), () => backend);
  const edits = Object.fromEntries(
    Object.entries(scaled).map(([path, scale]) => [
      path,
      (/** @type {Float32Array} */ values) => values.map((value) => value * Number(scale)),
    ]),
  );
  const switches = { ...given };
  if (switches.headsOff) switches.headsOff = new Set(switches.headsOff);
  const cache = chunks.length > 1 ? new KVCache(model.config, model.backend) : undefined;
  const tape = new Tape(edits);
  const found = [];
  for (const ids of chunks) {
    const logits = await model.forward(ids, { cache, tape, switches, lastOnly });
    found.push({ logits, noted: [...tape.noted.values()].map((entry) => ({ ...entry })) });
  }
  return found;
}

/**
 * How far a backend's numbers are from those of plain JavaScript, at most; relative to the largest.
 * @param {{config: string, weights: Uint8Array}} files
 * @param {any} request
 * @param {import("../plain.mjs").Backend} backend
 */
export async function apartFromPlain(files, request, backend) {
  const [plain, own] = [new PlainBackend(), backend].map((one) => passes(files, request, one));
  const expected = await plain;
  const pairs = (await own).flatMap(({ logits, noted }, i) => [
    [expected[i].logits, logits],
    ...expected[i].noted.map(({ values }, n) => [values, noted[n].values]),
  ]);
  return Math.max(
    ...pairs.map(([theirs, values]) => {
      const largest = theirs.reduce(
        (most, v) => (Number.isFinite(v) ? Math.max(most, Math.abs(v)) : most),
        0,
      );
      return (
        theirs.reduce(
          (most, v, n) => Math.max(most, v === values[n] ? 0 : Math.abs(v - values[n])),
          0,
        ) / largest
      );
    }),
  );
}

/**
 * How far the passes are from what PyTorch gave, at most; relative to 1 or to the value.
 * @param {any[]} found
 * @param {any[]} expected
 */
export function furthest(found, expected) {
  if (found.length !== expected.length) throw new Error("there are other passes");
  let largest = 0;
  expected.forEach(({ logits, noted }, i) => {
    largest = Math.max(largest, apart(found[i].logits, logits));
    if (!noted) return;
    const names = (/** @type {any[]} */ entries) => entries.map((e) => `${e.path}: ${e.axes}`);
    const [own, theirs] = [names(found[i].noted), names(noted)];
    if (`${own}` !== `${theirs}`) throw new Error(`other tensors are noted: ${own}`);
    for (const [n, entry] of noted.entries()) {
      const { path, shape, values } = found[i].noted[n];
      if (`${shape}` !== `${entry.shape}`) throw new Error(`${path} is ${shape}`);
      largest = Math.max(largest, apart(values, entry));
    }
  });
  return largest;
}

/**
 * @param {ArrayLike<number>} values
 * @param {{shape: number[], every: number, values: (number | string)[]}} sample
 */
function apart(values, { shape, every, values: expected }) {
  if (values.length !== shape.reduce((a, b) => a * b)) return Infinity;
  return Math.max(
    ...expected.map((given, i) => {
      const [own, theirs] = [values[i * every], Number(given)];
      return own === theirs ? 0 : Math.abs(own - theirs) / Math.max(1, Math.abs(theirs));
    }),
  );
}

/** Sizes of which the width is the published model's. */
export const WIDE = { vocab_size: 503, n_positions: 32, n_layer: 1, n_head: 12, n_embd: 768 };

/**
 * The files of a model with random weights.
 * @param {Record<string, number>} sizes  as config.json names them
 */
export function randomModel(sizes) {
  const config = JSON.stringify({ model_type: "gpt2", ...sizes });
  const random = randomNumbers(1);
  /** @type {Record<string, any>} */
  const header = {};
  const numbers = [];
  for (const [name, shape] of expectedShapes(readConfig(config))) {
    const start = 4 * numbers.length;
    const gain = /ln_\w+\.weight/.test(name) ? 1 : 0;
    const scale = shape.length > 1 ? 3 * Math.min(...shape) ** -0.5 : 1;
    const length = shape.reduce((a, b) => a * b);
    for (let i = 0; i < length; i++) numbers.push(gain + scale * (random() - 0.5));
    header[name] = { dtype: "F32", shape, data_offsets: [start, 4 * numbers.length] };
  }
  return { config, weights: safetensors(header, Float32Array.from(numbers)) };
}

/**
 * @param {object} header
 * @param {Float32Array} numbers
 */
export function safetensors(header, numbers) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = 8 + Math.ceil(text.length / 8) * 8; // the numbers stand where float32 may stand
  const file = new Uint8Array(start + numbers.byteLength).fill(32);
  new DataView(file.buffer).setBigUint64(0, BigInt(start - 8), true);
  file.set(text, 8);
  file.set(new Uint8Array(numbers.buffer), start);
  return file;
}
