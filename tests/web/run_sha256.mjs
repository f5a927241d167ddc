// Prints the digests of the first bytes of an endless sequence: {lengths, pieces}, where pieces are
// the numbers of bytes that are given at a time, again and again.

import { readFileSync, writeFileSync } from "node:fs";
import { Sha256 } from "../../web/sha256.mjs";

const { lengths, pieces } = JSON.parse(readFileSync(0, "utf8"));
const round = Uint8Array.from({ length: 1 << 20 }, (_, i) => (i * i) >>> 8);

function digest(length) {
  const hash = new Sha256();
  for (let at = 0, i = 0; at < length; i++) {
    const from = at % round.length;
    const piece = round.subarray(from, from + Math.min(pieces[i % pieces.length], length - at));
    hash.update(piece);
    at += piece.length;
  }
  return hash.hex();
}

writeFileSync(1, JSON.stringify(lengths.map(digest)));
