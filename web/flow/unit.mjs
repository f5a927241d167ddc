// Level 3: what a unit of the MLP reads, and what it writes into the stream.

import { nothing, svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { asProduct, decimals, heat } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { sizeOfNorm, vectorOf } from "./parts.mjs";
import { tableOf } from "./source.mjs";

/** @import { View } from "./scenes.mjs" */

const HIGH = 16; // of a strip
export const BESIDE = 900; // px: below it no words have room beside the field

/**
 * Below the field and the curve.
 * @param {View} view
 * @param {{y: number, act: number, x: number, top: number}} where  `y`: where it begins; `act`: the
 *   unit's result; `x` and `top`: where there is room for the words beside the field
 */
export function unitOf({ pass, place, parts, width, at, sizes }, { y, act, ...beside }) {
  const { unit } = parts;
  const [normed, stream] = ["ln_2", "resid_post"].map((name) =>
    pass.tensor?.(`transformer.h.${place.block}.${name}`),
  );
  if (!unit || !normed || !stream) return { height: 0, body: nothing, says: "" };
  const { row, bias, column, up, down } = unit;
  const wide = width >= WIDE;
  const x = vectorOf(normed, at);
  const products = row.map((w, c) => w * x[c]);
  const sum = products.reduce((all, p) => all + p, 0);
  const n = decimals([sum, bias], sum + bias);
  const C = x.length;
  const cell = (width - 20) / C;
  /** @param {ArrayLike<number>} values @param {string} told @param {number} nth */
  const strip = (values, told, nth) => {
    const top = y + 44 * nth;
    return svg`<text class="axis" x="10" y=${top}>${told}</text>
      ${heat(values, { x: 10, y: top + 7, columns: C, cell, high: HIGH, gap: cell > 4 ? 1 : 0 })}`;
  };
  const { llama } = sizes;
  const [reads, writes] = llama ? ["gate_proj", "down_proj"] : ["c_fc", "c_proj"];
  const added = `, + bias ${fixed(bias, n)}${wide ? ` = ${fixed(sum + bias, n)}` : ""}`;
  const summed = `${wide ? "the products sum to " : ""}${fixed(sum, n)}${llama ? "" : added}`;
  const strips = [
    strip(x, `reads ln_2 of ${quoted(pass.tokens[at])}, ${C} numbers,`, 0),
    strip(row, `times its row of ${reads}: ${summed}`, 1),
    strip(column, `writes its column of ${writes}, times its result ${fixed(act, 2)}`, 2),
  ];

  // The tokens, likeliest first on both sides.
  const aside = width >= BESIDE;
  const [start, top] = aside ? [beside.x, beside.top] : [10, y + 142];
  const most = Math.max(...[...up, ...down].map(({ by }) => Math.abs(by))) || 1;
  const half = (width - start - 10) / 2;
  const [name, number] = wide ? [100, 160] : [66, 120]; // px of a token, and of all but its bar
  const words = [up, down].map((list, side) =>
    list.map(({ name: token, by }, i) => {
      const [left, line] = [start + side * half, top + 20 + i * 22];
      const long = (Math.abs(by) / most) * (half - number);
      return svg`<text class="token-name" x=${left} y=${line + 12}>${token.slice(0, wide ? 12 : 9)}</text>
        <rect class=${side ? "push minus" : "push"} x=${left + name} y=${line} width=${long} height="16" rx="2"></rect>
        <text class="axis" x=${left + name + 6 + long} y=${line + 12}>${by < 0 ? "" : "+"}${fixed(by, 2)}</text>`;
    }),
  );
  const spread = fixed(sizeOfNorm(vectorOf(stream, at), llama), 2);
  const divided = llama
    ? `÷ ${spread} (the stream’s rms)`
    : `less its mean, ÷ ${spread} (the stream’s σ)`;
  const table = tableOf(sizes).replace("transformer.", "");
  const how = [
    "What a result of 1 adds to a token’s logit, as the lens reads the stream after this block:",
    `the column, ${divided}, × the gain of ln_f, × the token’s row of ${table}.`,
  ];
  const [best] = up;
  const [by, times, pushed] = asProduct(best.by, act);
  return {
    height: aside ? 118 : 142 + 20 + 66 + 12 + 18,
    body: svg`${strips}<text class="name" x=${start} y=${top + 8}>raises</text>
      <text class="name" x=${start + half} y=${top + 8}>lowers</text>${words}`,
    says: ` A result of 1 would raise ${quoted(best.name)} most, by ${by} in the lens’s logits; this one, ${times}, changes it by ${pushed}. ${how.join(" ")}`,
  };
}
