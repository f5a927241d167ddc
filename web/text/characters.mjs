// A vocabulary of characters, as merges of their bytes: one tokenizer reads both.

import { byteIds, packed } from "./merges.mjs";

/** @import { Pair } from "./merges.mjs" */

/**
 * Merges that make one token of each character of a text, the most frequent first, as far as `most`
 * tokens go. A character's bytes are merged from left to right; only its first byte can begin a
 * character, so no merge joins parts of two.
 * @param {string} text
 * @param {number} [most]  tokens with the 256 bytes and <|endoftext|>
 */
export function characterMerges(text, most = 1024) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const order = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  /** @type {Pair[]} */
  const pairs = [];
  /** @type {Map<string, number>} */
  const known = new Map(); // beginnings of characters, by their pair
  let whole = 0; // characters that are one token
  for (const [character] of order) {
    const [first, ...rest] = byteIds(character);
    if (257 + pairs.length + rest.length > most) continue;
    let id = first;
    for (const next of rest) {
      const key = `${id} ${next}`;
      const merged = known.get(key) ?? 255 + pairs.push([id, next]);
      known.set(key, merged);
      id = merged;
    }
    whole++;
  }
  return { merges: packed(pairs), different: counts.size, whole };
}
