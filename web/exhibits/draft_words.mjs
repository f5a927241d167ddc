// What is said of drafted tokens: why each stays or goes, what the passes gave, what the clock says.

import { share } from "./bars.mjs";
import { fixed } from "./dom.mjs";

/** @import { Race } from "../race.mjs" */
/** @import { Pass } from "./drafting.mjs" */
/** @import { Token } from "./passes.mjs" */

/** @param {string} name @param {number} value */
export function is(name, value) {
  return `${name} ${share(value)
    .replace(/^(?!<)/, "= ")
    .replace("<", "< ")}`;
}

/** @param {Token} token */
export function reason(token) {
  if (!("fate" in token))
    return `each pass gives one token more, this one with ${is("p", token.p)}.`;
  const { fate, p, q, dart } = token;
  if (dart === null) return "drafted after a token that goes, so it is thrown away.";
  if (q <= p) return `${is("q", q)} is within ${is("p", p)}, so it stays wherever the dart lands.`;
  const at = `the dart lands at ${fixed(dart)} of ${is("q", q)}`;
  return `${at}, which is ${fate === "goes" ? "beyond" : "within"} ${is("p", p)}, so it ${fate}.`;
}

/** @param {Pass[]} passes */
export function summed(passes) {
  const tokens = passes.flatMap(({ drafted }) => drafted);
  const stays = tokens.filter(({ fate }) => fate === "stays").length;
  const judged = tokens.filter(({ fate }) => fate !== "unread").length;
  const written = stays + passes.filter(({ next }) => next).length;
  return { passes: passes.length, drafted: tokens.length, judged, stays, written };
}

/**
 * @param {ReturnType<typeof summed>} sum
 * @returns {[string, string][]}
 */
export function asRows({ passes, drafted, judged, stays, written }) {
  return [
    ["tokens written", String(written)],
    ["passes of the large model", String(passes)],
    ["tokens per pass of it", fixed(written / passes, 2)],
    ["passes of the draft", String(drafted)],
    ["stay, of the tokens judged", judged ? `${fixed((100 * stays) / judged, 0)} %` : "–"],
  ];
}

/**
 * What was measured, and what the passes let one expect.
 * @param {Race} race
 * @param {number} ahead
 */
export function raced({ plain, drafted, perPass, passes: { one, many, draft } }, ahead) {
  const ms = (/** @type {number} */ time) => `${fixed(time, 2)} ms`;
  const times = fixed(median(drafted) / median(plain), 2);
  /** @type {[string, string][]} */
  const rows = [
    ["tokens a second, alone", speed(plain)],
    ["with the draft", speed(drafted)],
    ["so many times as many", times],
    ["a pass over one token", ms(one)],
    [`a pass over ${ahead + 1}`, ms(many)],
    ["a pass of the draft", ms(draft)],
    ["tokens per pass", fixed(perPass, 2)],
  ];
  const expected = (perPass * one) / (ahead * draft + many);
  const sentence =
    `Medians of ${plain.length} turns (least to most). The passes let one expect ` +
    `${fixed(perPass, 2)} × ${fixed(one, 2)} ÷ (${ahead} × ${fixed(draft, 2)} + ${fixed(many, 2)}) = ` +
    `${fixed(expected, 2)}. A draft pays where a pass over ${ahead + 1} tokens takes little longer than ` +
    `a pass over one; here it takes ${fixed(many / one, 1)} times as long.`;
  return { rows, sentence };
}

/** @param {number[]} all */
function median(all) {
  return [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
}

/** @param {number[]} all  of the turns */
function speed(all) {
  const whole = (/** @type {number} */ one) => Math.round(one).toLocaleString("en");
  return `${whole(median(all))} (${whole(Math.min(...all))} to ${whole(Math.max(...all))})`;
}
