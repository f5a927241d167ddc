// Level 2: LayerNorm, spelled out for one number of a token: its distance from the mean of the token's
// numbers, in their standard deviations, times a gain, plus a bias. RMSNorm has no mean and no bias: it
// divides by the root of the mean square.

import { svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { button, cents, chain, columns, digits, heat, unknown } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { largestOf, normOf, sizeOfNorm, vectorOf } from "./parts.mjs";

const HIGH = 18; // px of a strip
const EACH = 44; // with what is written above it

/**
 * The norm of a token, step by step. One without a bias is RMSNorm, whose mean counts as 0.
 * @param {import("./pass.mjs").Pass} pass
 * @param {import("./place.mjs").Place} place
 * @param {import("./parts.mjs").Norm} part
 * @param {number} t
 */
export function normedOf({ tensor }, place, { weight, bias, epsilon }, t) {
  const { input, output } = normOf(place);
  const [stream, noted] = [input, output].map((path) => tensor?.(path));
  if (!stream || !noted) return null;
  const x = vectorOf(stream, t);
  const mean = bias ? x.reduce((sum, value) => sum + value, 0) / x.length : 0;
  const spread = Math.sqrt(sizeOfNorm(x, !bias) ** 2 + epsilon);
  const units = Float64Array.from(x, (value) => (value - mean) / spread);
  const made = units.map((value, i) => value * weight[i] + (bias?.[i] ?? 0));
  return { x, mean, spread, units, gain: weight, bias, made, noted: vectorOf(noted, t) };
}

/**
 * One number of it as it is printed: with so many decimals that every step holds.
 * @param {NonNullable<ReturnType<typeof normedOf>>} all
 * @param {number} i
 */
export function printed({ x, mean, spread, units, gain, bias, made }, i) {
  const [z, g, b, y] = [units[i], gain[i], bias?.[i] ?? 0, cents(made[i])];
  const few = digits((round) => cents(round(z) * g + b) === y);
  const unit = Number(z.toFixed(few));
  const more = digits((round) => cents(unit * round(g) + round(b)) === y);
  const most = digits((round) => {
    const made = (round(x[i]) - round(mean)) / round(spread);
    return Number(made.toFixed(few)) === unit;
  });
  return {
    x: fixed(x[i], most),
    mean: fixed(mean, most),
    spread: fixed(spread, most),
    unit: fixed(z, few),
    gain: fixed(g, more),
    bias: fixed(b, more),
    made: fixed(made[i], 2),
  };
}

/** @type {import("./scenes.mjs").Kind} */
export function norm(view) {
  const { pass, place, parts, width, at, go } = view;
  const t = place.token ?? at;
  const all = parts.norm && normedOf(pass, place, parts.norm, t);
  if (!parts.norm || !all)
    return unknown(pass.tensor ? "The weights are fetched." : "The vectors are not stored.");
  const { x, units, gain, bias, made, noted } = all;
  const C = x.length;
  const chosen = place.output ?? largestOf(made);
  const told = printed(all, chosen);
  const wide = width >= WIDE;
  const token = quoted(pass.tokens[t]);
  const [left, top] = [16, 40];
  const cell = (width - 2 * left) / C;
  /** @type {[string, ArrayLike<number>][]} */
  const strips = [
    [`x: the stream at ${token}, ${C} numbers`, x],
    bias
      ? [wide ? "less their mean μ, divided by their standard deviation σ" : "(x − μ) ÷ σ", units]
      : ["divided by the root of their mean square, rms", units],
    ["times the gain γ", gain],
    .../** @type {[string, ArrayLike<number>][]} */ (bias ? [["plus the bias β", bias]] : []),
    [`${place.norm} of ${token}`, made],
  ];
  const rows = strips.map(([name, values], i) => {
    const y = top + i * EACH;
    return svg`<text class="axis" x=${left} y=${y - 6}>${name}</text>
      ${heat(values, { x: left, y, columns: C, cell, high: HIGH, gap: cell > 4 ? 1 : 0 })}
      <rect class="chosen-cell" x=${left + chosen * cell - 1} y=${y - 1} width=${cell + 2} height=${HIGH + 2}></rect>`;
  });
  const end = top + strips.length * EACH;
  const choose = (/** @type {number} */ to) => go({ ...place, token: t, output: (to + C) % C });
  const { epsilon } = parts.norm;
  /** @type {[string, string, string][]} */
  const stages = bias
    ? [
        [`x, number ${chosen}`, told.x, "x"],
        ["μ, the mean of all", told.mean, "mean = x.mean(dim=-1)"],
        [`σ, with ε = ${epsilon}`, told.spread, "sqrt(variance + eps)"],
        ["(x − μ) ÷ σ", told.unit, "(x - mean) / sqrt(…)"],
        ["γ", told.gain, `${place.norm}.weight`],
        ["β", told.bias, `${place.norm}.bias`],
        ["times γ, plus β", told.made, `normed = ${place.norm}(x)`],
      ]
    : [
        [`x, number ${chosen}`, told.x, "x"],
        [`rms, with ε = ${epsilon}`, told.spread, "sqrt((x**2).mean(dim=-1) + eps)"],
        ["x ÷ rms", told.unit, "x / sqrt(…)"],
        ["γ", told.gain, `${place.norm}.weight`],
        ["times γ", told.made, `normed = ${place.norm}(x)`],
      ];
  const steps = chain(stages, { y: end + 50, width });
  const other = Math.abs(made[chosen] - noted[chosen]) > 1e-3 * Math.max(1, Math.abs(made[chosen]));
  const differs = other ? ` This pass has ${fixed(noted[chosen])} here.` : "";
  const becomes = `number ${chosen}: ${told.x} becomes ${told.made}`;
  return {
    height: end + 50 + steps.height,
    body: svg`${rows}
      ${columns("number", { x: left, y: top - 4, width: C * cell, height: end - top - EACH + HIGH + 8 }, { count: C, chosen, told: becomes, choose })}
      ${button("◂", { x: left, y: end - 12, width: 40, act: () => choose(chosen - 1), label: "the number before" })}
      ${button("▸", { x: left + 46, y: end - 12, width: 40, act: () => choose(chosen + 1), label: "the next number" })}${steps.body}`,
    boxes: () => null,
    path: normOf(place).output,
    says: bias
      ? `LayerNorm looks at one token at a time. At ${token} the mean of ${C} numbers is ${told.mean}, their standard deviation ${told.spread}. Number ${chosen}: (${told.x} − ${signed(told.mean)}) ÷ ${told.spread} = ${told.unit}, and ${told.unit} × ${signed(told.gain)} + ${signed(told.bias)} = ${told.made}.${differs}`
      : `RMSNorm looks at one token at a time. At ${token} the root of the mean square of ${C} numbers is ${told.spread}. Number ${chosen}: ${told.x} ÷ ${told.spread} = ${told.unit}, and ${told.unit} × ${signed(told.gain)} = ${told.made}.${differs}`,
  };
}

/**
 * A number behind a sign.
 * @param {string} told
 */
function signed(told) {
  return told.startsWith("−") ? `(${told})` : told;
}
