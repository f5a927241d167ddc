// Byte-pair merges: a tokenizer from them, and how they are learned, as in gpt2_edu/bpe.py.

import { PATTERN, fromMerges } from "../tokenizer.mjs";
import { Heap } from "./heap.mjs";

/** @typedef {[number, number]} Pair  the ids of two neighbours */

// The order in which GPT-2 numbers the 256 bytes: first those that Latin-1 prints, then the rest.
const printable = (/** @type {number} */ b) => (b > 32 && b < 127) || (b > 160 && b !== 173);
const ALL = Array.from({ length: 256 }, (_, b) => b);
const BYTES = [...ALL.filter(printable), ...ALL.filter((b) => !printable(b))];
const ID_OF = new Map(BYTES.map((b, id) => [b, id]));

export const LONGEST = 128; // characters of a piece that merges are learned from
const SHIFT = 2 ** 16; // a pair is also one number, in the order of its ids

/** @param {Uint8Array} merges  256 bytes in their order, then two uint16 for each merge */
export function tokenizerOf(merges) {
  const pairs = new Uint16Array(new Uint8Array(merges.subarray(256)).buffer);
  return fromMerges(merges.subarray(0, 256), pairs);
}

/**
 * The form that tokenizerOf reads.
 * @param {Pair[]} pairs
 */
export function packed(pairs) {
  const merges = new Uint8Array(256 + 4 * pairs.length);
  merges.set(BYTES);
  merges.set(new Uint8Array(Uint16Array.from(pairs.flat()).buffer), 256);
  return merges;
}

/**
 * The ids of the bytes of a text.
 * @param {string} text
 */
export function byteIds(text) {
  const bytes = new TextEncoder().encode(text);
  return Array.from(bytes, (b) => /** @type {number} */ (ID_OF.get(b)));
}

/**
 * Learn merges from texts until there are `vocabSize` tokens with the bytes and <|endoftext|>, or
 * every piece of the texts is one token. Each round merges the pair of neighbours that occurs most
 * often; of equals, the one whose first id is lowest, then whose second is.
 * @param {string[]} texts
 * @param {number} vocabSize
 * @param {(share: number) => void} [progress]
 */
export function trainMerges(texts, vocabSize, progress) {
  const pieces = countPieces(texts);
  const words = Array.from(pieces.keys(), byteIds);
  const wanted = vocabSize - 257;
  /** @type {Pair[]} */
  const pairs = [];
  if (wanted > 0) {
    for (const pair of merges(words, [...pieces.values()])) {
      pairs.push(pair);
      if (pairs.length % 64 === 0) progress?.(pairs.length / wanted);
      if (pairs.length === wanted) break;
    }
  }
  return packed(pairs);
}

/**
 * How often each piece occurs that GPT-2's pattern cuts the texts into, none above LONGEST.
 * @param {string[]} texts
 */
function countPieces(texts) {
  /** @type {Map<string, number>} */
  const pieces = new Map();
  const add = (/** @type {string} */ piece, /** @type {number} */ n) =>
    pieces.set(piece, (pieces.get(piece) ?? 0) + n);
  for (const text of texts) for (const [piece] of text.matchAll(PATTERN)) add(piece, 1);
  for (const [piece, count] of [...pieces]) {
    if (piece.length <= LONGEST) continue;
    const characters = Array.from(piece);
    pieces.delete(piece);
    for (let start = 0; start < characters.length; start += LONGEST) {
      add(characters.slice(start, start + LONGEST).join(""), count);
    }
  }
  return pieces;
}

/**
 * The pairs to merge, best first, until every word is one token. Merge n makes id 256 + n.
 * @param {number[][]} words
 * @param {number[]} weights  how often each word occurs
 * @returns {Generator<Pair>}
 */
function* merges(words, weights) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  /** @type {Map<number, Set<number>>} */
  const where = new Map(); // words that hold the pair, or once did
  const count = (/** @type {number} */ key, /** @type {number} */ n) =>
    counts.set(key, (counts.get(key) ?? 0) + n);
  const found = (/** @type {number} */ key, /** @type {number} */ w) => {
    const known = where.get(key);
    if (known) known.add(w);
    else where.set(key, new Set([w]));
  };
  words.forEach((word, w) => {
    for (const key of keys(word)) {
      count(key, weights[w]);
      found(key, w);
    }
  });
  const heap = new Heap();
  for (const [key, n] of counts) heap.push(n, key);
  for (let id = 256; ;) {
    const best = heap.pop();
    if (!best || best.count <= 0) return;
    const { key } = best;
    const now = /** @type {number} */ (counts.get(key));
    if (best.count > now) {
      heap.push(now, key); // counts only fall: this one is lower by now, so it must wait
      continue;
    }
    const pair = /** @type {Pair} */ ([Math.floor(key / SHIFT), key % SHIFT]);
    yield pair;
    const newPairs = new Set();
    for (const w of where.get(key) ?? []) {
      for (const old of keys(words[w])) count(old, -weights[w]);
      words[w] = merge(words[w], pair, id);
      for (const fresh of keys(words[w])) {
        count(fresh, weights[w]);
        if (Math.floor(fresh / SHIFT) === id || fresh % SHIFT === id) {
          found(fresh, w);
          newPairs.add(fresh);
        }
      }
    }
    where.delete(key);
    for (const fresh of newPairs) heap.push(/** @type {number} */ (counts.get(fresh)), fresh);
    id++;
  }
}

/**
 * The pairs of a word's neighbours.
 * @param {number[]} word
 */
function keys(word) {
  return word.slice(1).map((right, i) => word[i] * SHIFT + right);
}

/**
 * The same word, with every occurrence of the pair replaced by one new id.
 * @param {number[]} word
 * @param {Pair} pair
 * @param {number} id
 */
function merge(word, [left, right], id) {
  const merged = [];
  for (const next of word) {
    if (next === right && merged.at(-1) === left) merged[merged.length - 1] = id;
    else merged.push(next);
  }
  return merged;
}
