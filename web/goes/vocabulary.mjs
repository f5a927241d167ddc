// A byte-pair vocabulary in the forms of other programs: merges packed for a header, ranks for tiktoken,
// and the tokenizer.json of Hugging Face's tokenizers.

import { END_OF_TEXT, fromMerges } from "../tokenizer.mjs";
import { gzip } from "./zip.mjs";

export const MOST_TOKENS = 8192; // that a page trains with
const PRINTED = /[!-~\xa1-\xac\xae-\xff]/;

/** @typedef {{tokens: string[], pairs: Uint16Array, merges: Uint8Array}} Vocabulary
 *   the bytes of each token; two ids for each merge; 256 bytes and these pairs */

/** @param {Uint8Array} merges */
export async function packMerges(merges) {
  return btoa(Array.from(await gzip(merges), (byte) => String.fromCharCode(byte)).join(""));
}

/**
 * Merges may come from a file of the reader's, and gzip makes little of much: what unpacks to more
 * than a vocabulary of the page is refused.
 * @param {string} packed
 * @returns {Promise<Vocabulary>}
 */
export async function unpackMerges(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const reader = unpacked.getReader();
  const merges = new Uint8Array(256 + 4 * MOST_TOKENS);
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (length + part.value.length > merges.length) {
      await reader.cancel();
      throw new Error("these merges are more than those of a page");
    }
    merges.set(part.value, length);
    length += part.value.length;
  }
  const pairs = new Uint16Array(merges.slice(256, length).buffer);
  const { tokens } = fromMerges(merges.subarray(0, 256), pairs);
  return { tokens, pairs, merges: merges.slice(0, length) };
}

/**
 * As tiktoken writes it: in each line a token in base64 and its rank.
 * @param {Vocabulary} vocabulary
 */
export function ranks({ tokens }) {
  return tokens.map((bytes, rank) => `${btoa(bytes)} ${rank}\n`).join("");
}

/**
 * It is text, so each byte is written as a character: itself if it can be printed, the others as the
 * characters from number 256 on. Source: Radford et al. 2019, in OpenAI's encoder.py.
 * @param {Vocabulary} vocabulary
 */
export function tokenizerJson({ tokens, pairs }) {
  let others = 256;
  const characters = Array.from({ length: 256 }, (_, byte) => {
    const own = String.fromCharCode(byte);
    return PRINTED.test(own) ? own : String.fromCharCode(others++);
  });
  const written = tokens.map((bytes) =>
    Array.from(bytes, (byte) => characters[byte.charCodeAt(0)]).join(""),
  );
  const eot = tokens.length;
  const merges = Array.from({ length: pairs.length / 2 }, (_, i) =>
    [pairs[2 * i], pairs[2 * i + 1]].map((id) => written[id]),
  );
  const sides = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };
  return JSON.stringify({
    version: "1.0",
    added_tokens: [{ id: eot, content: END_OF_TEXT, ...sides, special: true }],
    pre_tokenizer: { ...byteLevel, use_regex: true },
    decoder: { ...byteLevel, use_regex: true },
    model: {
      type: "BPE",
      vocab: Object.fromEntries([...written, END_OF_TEXT].map((token, id) => [token, id])),
      merges,
    },
  });
}
