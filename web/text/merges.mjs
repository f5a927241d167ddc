// A tokenizer's merges: bytes of a file → Tokenizer, and learned from a text as gpt2_edu/bpe.py does.

import { fromMerges } from "../tokenizer.mjs";

/**
 * @param {Uint8Array} merges  256 bytes in their order, then two uint16 for each merge
 */
export function ofMerges(merges) {
  return fromMerges(merges.subarray(0, 256), new Uint16Array(merges.slice(256).buffer));
}
