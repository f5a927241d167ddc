// Level 2: the MLP of a token. Every unit is a number that GELU lets through or not; level 3 is one
// unit, which is the same picture with that unit spelled out. In Llama a unit is a gate, bent by SiLU,
// times what another projection made.

import { svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { geluTanh, silu } from "../numbers.mjs";
import { button, heat, rowOf, unknown } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { isLit, LIT } from "./pass.mjs";
import { matricesOf } from "./place.mjs";
import { sides } from "./tiles.mjs";
import { BESIDE, unitOf } from "./unit.mjs";

const REACH = 4; // of the curve, on both sides, at least

/**
 * The units of a token's MLP, the largest results first.
 * @param {import("./pass.mjs").Pass} pass
 * @param {number} block
 * @param {number} at
 */
export function unitsOf({ tensor, tokens }, block, at) {
  const [pre, act] = ["pre", "act"].map((name) => tensor?.(`transformer.h.${block}.mlp.${name}`));
  if (!pre || !act) return null;
  const n = act.values.length / tokens.length;
  return { pre: rowOf(pre, at, n), act: rowOf(act, at, n) };
}

/** @type {import("./scenes.mjs").Kind} */
export function mlp(view) {
  const { pass, place, width, at, go, sizes } = view;
  const bend = sizes.llama ? silu : geluTanh;
  const n = Number(place.block);
  const units = unitsOf(pass, n, at);
  const wide = width >= WIDE;
  if (!units) return unknown("What the MLP computes is not stored.");
  const { pre, act } = units;
  const columns = wide ? 32 * Math.ceil(act.length / 1024) : act.length > 768 ? 32 : 24;
  const room = wide ? Math.min(560, width * 0.5) : width - 20;
  const cell = room / columns;
  const rows = Math.ceil(act.length / columns);
  const high = Math.min(cell, (wide ? 280 : 420) / rows);
  const [fx, fy] = [10, 40];
  const order = Array.from(act.keys()).sort((a, b) => Math.abs(act[b]) - Math.abs(act[a]));
  const unit = place.unit ?? order[0];
  const choose = (/** @type {number} */ to) =>
    go({ block: n, mlp: true, unit: (to + act.length) % act.length });
  const pick = (/** @type {MouseEvent} */ event) => {
    const box = /** @type {SVGElement} */ (event.currentTarget).getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    choose(
      Math.min(
        act.length - 1,
        Math.floor((y / box.height) * rows) * columns + Math.floor((x / box.width) * columns),
      ),
    );
  };
  const step = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (!by) return;
    event.preventDefault();
    choose(unit + by);
  };
  const [ux, uy] = [fx + (unit % columns) * cell, fy + Math.floor(unit / columns) * high];

  // GELU, and where the unit is on it.
  const [gx, gy] = wide ? [fx + room + 60, 60] : [30, fy + rows * high + 60];
  const beside = width >= BESIDE && view.parts.unit; // what it pushes is below the curve
  const [gw, gh] = [Math.min(wide ? width - gx - 30 : width - 60, 440), beside ? 120 : 240];
  const reach = Math.ceil(Math.max(REACH, ...Array.from(pre, Math.abs)));
  const px = (/** @type {number} */ x) => gx + (x / reach + 1) * (gw / 2);
  const py = (/** @type {number} */ y) => gy + gh - ((y + 0.5) / (reach + 0.5)) * gh;
  const curve = Array.from({ length: 161 }, (_, i) => (i / 80 - 1) * reach);
  const line = curve
    .map((x, i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(bend(x)).toFixed(1)}`)
    .join("");
  const bent = sizes.llama ? pre.map(bend) : act; // what is made of pre
  const dots = Array.from(pre, (x, i) => `M${px(x).toFixed(1)} ${py(bent[i]).toFixed(1)}h0`).join(
    "",
  );
  const lit = act.reduce((sum, x) => sum + Number(isLit(x)), 0);
  const bottom = Math.max(fy + rows * high, gy + gh) + (wide ? 34 : 50);
  const more = unitOf(view, { y: bottom, act: act[unit], x: gx, top: gy + gh + 50 });
  const [into, out] = [pre[unit], act[unit]].map((x) => fixed(x, 2));
  const times = sizes.llama ? ` × ${fixed(out ? act[unit] / bent[unit] : 0, 2)} = ${out}` : "";
  const each = sizes.llama ? 68 : 90; // px of a button
  const told = `unit ${unit}: ${into} → ${fixed(bent[unit], 2)}${times}`;
  return {
    height: bottom + more.height,
    body: svg`<text class="name" x=${fx} y="22">${room > 460 ? `${act.length} units of ${quoted(pass.tokens[at])}, ${lit} of them lit` : `${lit} of ${act.length} units lit`}</text>
      ${matricesOf(sizes).mlp.map((weight, i, { length }) => button(`${weight.replace("_proj", sizes.llama ? "" : "_proj")} ▸`, { x: fx + room + 4 - each * (length - i), y: 4, width: each - 4, label: `${weight}: open its matrix`, act: () => go({ block: n, mlp: true, weight, token: at }) }))}
      <g class="field" role="slider" tabindex="0" aria-label="unit" aria-valuemin="0" aria-valuemax=${act.length - 1}
        aria-valuenow=${unit} aria-valuetext=${told} @click=${pick} @keydown=${step}>
        <rect class="touch" x=${fx} y=${fy} width=${columns * cell} height=${rows * high}></rect>
        <g class="plate">${sides({ x: fx, y: fy, width: columns * cell - 1, height: rows * high - 1 }, 5)}</g>${heat(act, { x: fx, y: fy, columns, cell, high, gap: 1, scale: 2 })}
        <rect class="chosen-cell" x=${ux - 1} y=${uy - 1} width=${cell + 1} height=${high + 1}></rect></g>
      <path class="axes" d="M${gx} ${py(0)}H${gx + gw}M${px(0)} ${gy}V${gy + gh}"></path>
      <path class="curve" d=${line}></path><path class="dots" d=${dots}></path>
      <circle class="point" cx=${px(pre[unit])} cy=${py(bent[unit])} r="7"></circle>
      <path class="guide" d="M${px(pre[unit])} ${py(0)}V${py(bent[unit])}H${px(0)}"></path>
      <text class="name" x=${gx} y=${gy - 12}>${sizes.llama ? "SiLU × up" : "GELU"}: ${told}</text>
      <text class="axis" x=${gx + gw} y=${py(0) + 16} text-anchor="end">pre, what comes in: ${reach}</text>
      <text class="axis" x=${px(0) - 6} y=${gy + 10} text-anchor="end">${reach} ${sizes.llama ? "silu(pre)" : "act, what goes on"}</text>
      <text class="axis" x=${gx} y=${py(0) + 16}>−${reach}</text>
      ${more.body}`,
    boxes: ({ unit: to }) =>
      to === undefined
        ? null
        : {
            x: fx + (to % columns) * cell,
            y: fy + Math.floor(to / columns) * high,
            width: cell,
            height: high,
          },
    path: `transformer.h.${n}.mlp.act`,
    says: `The MLP sees one token at a time. At ${quoted(pass.tokens[at])} ${lit} of ${act.length} units are ${sizes.llama ? `above ${LIT} or below −${LIT}` : `above ${LIT}`}. Unit ${unit} gets ${into}, and ${sizes.llama ? `SiLU makes ${fixed(bent[unit], 2)} of it; times what up_proj gives, that is ${out}` : `GELU makes ${out} of it`}.${more.says}`,
  };
}
