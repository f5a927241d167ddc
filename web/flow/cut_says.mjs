// What a cut does, in a sentence.

import { fixed, quoted } from "../exhibits/dom.mjs";
import { largestOf } from "./parts.mjs";
import { strongest } from "./pass.mjs";

/** @import { Pass } from "./pass.mjs" */

const LITTLE = 0.05; // that a cut changes
const LOOKS = 0.3; // a share with which a head looks at a token

/**
 * What came of a cut: the probability of what was likeliest, before and after.
 * @param {Pass} pass
 * @param {(id: number) => string} name  of a token
 */
export function cutSays(pass, name) {
  const { off = [], uncut, shares, next } = pass;
  if (!uncut || !shares) return "";
  const best = largestOf(uncut);
  const heads = `head${off.length > 1 ? "s" : ""} ${off.join(", ").replace(/, (?!.*, )/, " and ")}`;
  const [before, after] = [uncut[best], shares[best]].map((p) => fixed(p, 2));
  const goes = before === after ? `stays at ${after}` : `goes from ${before} to ${after}`;
  const word = (/** @type {{id: number, p: number}} */ { id, p }) =>
    `${quoted(name(id))} (${fixed(p, 2)})`;
  const [first, second] = next;
  const then =
    first.id === best ? `Next likeliest is ${word(second)}.` : `Now ${word(first)} comes first.`;
  const why = Math.abs(uncut[best] - shares[best]) < LITTLE ? alsoLooks(pass) : "";
  return `Without ${heads}, ${quoted(name(best))} ${goes}. ${why}${then}`;
}

/**
 * Where the last token looks by a head that is cut, a head beside it may look too. The first token is
 * where heads look that look for nothing.
 * @param {Pass} pass
 */
function alsoLooks(pass) {
  const { off = [], tokens, nHead } = pass;
  const last = tokens.length - 1;
  for (const cut of off) {
    const [block, nth] = cut.split(".").map(Number);
    const all = Array.from({ length: nHead }, (_, head) => strongest(pass, block, head, last));
    const { key, weight } = all[nth];
    if (weight < LOOKS || !key || key === last) continue;
    const left = all.filter(({ head }) => !off.includes(`${block}.${head}`));
    const [too] = left.filter((one) => one.key === key).sort((a, b) => b.weight - a.weight);
    if (too?.weight >= LOOKS)
      return `Head ${block}.${too.head} looks at ${quoted(tokens[key])} too: ${fixed(too.weight, 2)}. `;
  }
  return "";
}
