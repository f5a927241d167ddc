// Byte-pair encoding as GPT-2 has it: text → pieces → bytes → merges → ids, and back.
//
// A token's bytes are kept as a string of characters 0 to 255, so that they can be looked up.

import { shown } from "./messages.mjs";

export const SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
// tokenizer.py's pattern. White space is spelled out, because JavaScript's own differs from Unicode.
export const PATTERN = new RegExp(
  `'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^${SPACE}\\p{L}\\p{N}]+` +
    `|[${SPACE}]+$|[${SPACE}]+(?![^${SPACE}])|[${SPACE}]`,
  "gu",
);
export const END_OF_TEXT = "<|endoftext|>";
const MOST_BYTES = 2 ** 24; // of all tokens together; GPT-2's have 320,000
const GONE = -1; // an id that has become part of the one before it

export class Tokenizer {
  /** @param {string[]} tokens  the bytes of each id; <|endoftext|> follows as the last id */
  constructor(tokens) {
    this.tokens = tokens;
    this.ranks = new Map(tokens.map((bytes, id) => [bytes, id]));
    this.eot = tokens.length;
    this.size = tokens.length + 1;
    /** @type {Map<string, number[]>} */
    this.known = new Map(); // pieces met before
  }

  /**
   * Text → ids. <|endoftext|> in it is text like any other.
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    const ids = [];
    for (const [piece] of text.matchAll(PATTERN)) {
      let own = this.known.get(piece);
      if (own === undefined) {
        own = this.merge(toBytes(piece));
        if (this.known.size < 10_000) this.known.set(piece, own);
      }
      for (const id of own) ids.push(id);
    }
    return ids;
  }

  /**
   * The ids of a piece. Each round merges every occurrence of the pair that was learned first; the
   * places of all pairs are kept, so that a round looks only where it merges.
   * @param {string} bytes
   * @param {(ids: number[]) => void} [watch]  is shown the ids after each round
   */
  merge(bytes, watch) {
    const n = bytes.length;
    const ids = Array.from(bytes, (byte) => /** @type {number} */ (this.ranks.get(byte)));
    const next = Int32Array.from(ids, (_, i) => i + 1); // a token stands where its first byte stood
    const previous = Int32Array.from(ids, (_, i) => i - 1);
    const pair = (/** @type {number} */ i) =>
      next[i] < n ? this.ranks.get(this.tokens[ids[i]] + this.tokens[ids[next[i]]]) : undefined;
    /** @type {Map<number, number[]>} */
    const places = new Map(); // of the pairs that make an id, some of them broken by now
    const meet = (/** @type {number} */ i) => {
      const id = pair(i);
      if (id !== undefined)
        places
          .set(id, places.get(id) ?? [])
          .get(id)
          ?.push(i);
    };
    const left = () => ids.filter((id) => id !== GONE);
    for (let i = 0; i < n; i++) meet(i);
    watch?.(left());
    while (places.size) {
      let first = Infinity;
      for (const id of places.keys()) first = Math.min(first, id);
      const starts = /** @type {number[]} */ (places.get(first)).sort((a, b) => a - b);
      places.delete(first);
      let merged = false;
      for (const i of starts) {
        if (ids[i] === GONE || pair(i) !== first) continue;
        ids[i] = first;
        ids[next[i]] = GONE;
        next[i] = next[next[i]];
        if (next[i] < n) previous[next[i]] = i;
        meet(i);
        if (i > 0) meet(previous[i]);
        merged = true;
      }
      if (merged) watch?.(left());
    }
    return left();
  }

  /**
   * A token's text; where it is no whole character, its bytes in hexadecimal.
   * @param {number} id
   */
  show(id) {
    if (id === this.eot) return END_OF_TEXT;
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.bytes(id));
    } catch {
      return Array.from(this.bytes(id), (b) => b.toString(16).padStart(2, "0").toUpperCase()).join(
        " ",
      );
    }
  }

  /** @param {number} id */
  bytes(id) {
    if (id === this.eot) return new TextEncoder().encode(END_OF_TEXT);
    const token = this.tokens[id];
    if (token === undefined) throw new Error(`${shown(id)} is no id: there are ${this.size}`);
    return Uint8Array.from(token, (c) => c.charCodeAt(0));
  }

  /**
   * Ids → text. What is no whole character becomes "�".
   * @param {Iterable<number>} ids
   */
  decode(ids) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let text = "";
    for (const id of ids) text += decoder.decode(this.bytes(id), { stream: true });
    return text + decoder.decode();
  }
}

/** @param {string} text */
function toBytes(text) {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/**
 * From a file of ranks as tiktoken writes it: in each line a token in base64 and its rank.
 * @param {string} text
 */
export function fromRanks(text) {
  const lines = text.trimEnd().split("\n");
  const tokens = lines.map((line, i) => {
    const [token, rank] = line.split(" ");
    if (Number(rank) !== i) throw new Error(`line ${i + 1} of the ranks has no rank ${i}`);
    return atob(token);
  });
  return new Tokenizer(tokens);
}

/**
 * From 256 bytes in their order, and two ids for each merge: a third of the size.
 * @param {Uint8Array} bytes
 * @param {Uint16Array} pairs
 */
export function fromMerges(bytes, pairs) {
  const tokens = Array.from(bytes, (b) => String.fromCharCode(b));
  let total = tokens.length;
  for (let i = 0; i < pairs.length; i += 2) {
    if (!(pairs[i] < tokens.length && pairs[i + 1] < tokens.length)) {
      throw new Error(`merge ${i / 2} joins tokens that are not there yet`);
    }
    const token = tokens[pairs[i]] + tokens[pairs[i + 1]];
    total += token.length; // each may be twice as long as the one before
    if (total > MOST_BYTES) throw new Error("these tokens are longer than any tokenizer's");
    tokens.push(token);
  }
  return new Tokenizer(tokens);
}
