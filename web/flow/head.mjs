// Level 2: a head. Queries meet keys, the scores are divided, masked, made shares, and mix the values.

import { nothing, svg } from "lit/html.js";
import { fixed, quoted } from "../exhibits/dom.mjs";
import { headOf, heat, press, steps } from "./cells.mjs";
import { WIDE } from "./layout.mjs";
import { endsOf, operation, turnOf } from "./operation.mjs";
import { STEPS } from "./place.mjs";
import { sides } from "./tiles.mjs";

/** @import { View } from "./scenes.mjs" */

const SHARE = STEPS.indexOf("share");
const MOST = 12; // tokens that are shown
const BESIDE = 142; // px between the vectors and the matrix: the shares, and the names of its rows
const TELLS = [
  "score: q · k, 32 products summed",
  "scale: each score ÷ √32, the root of the head’s width",
  "mask: what comes later is −∞",
  "share: the softmax of each row, which sums to 1",
  "mix: the values, each times its share, summed",
];

/**
 * What a step of a head holds, (T, T).
 * @param {import("./pass.mjs").Pass} pass
 * @param {number} block
 * @param {number} head
 * @param {number} step
 * @returns {Float32Array | null}
 */
export function stepOf({ tensor }, block, head, step) {
  const names = [
    "attn.scores",
    "attn.scores",
    "attn.masked_scores",
    "attn.weights",
    "attn.weights",
  ];
  const noted = tensor?.(`transformer.h.${block}.${names[step]}`);
  if (!noted) return null;
  const values = headOf(noted, head);
  if (step) return values;
  const D = /** @type {number} */ (tensor?.(`transformer.h.${block}.attn.q`).shape.at(-1));
  return values.map((value) => value * Math.sqrt(D));
}

/** @type {import("./scenes.mjs").Kind} */
export function head(view) {
  const { pass, place, width, at, go, setStep, pick, sizes } = view;
  const step = pass.only ? SHARE : view.step; // nothing else of it is stored
  const [n, h] = [Number(place.block), Number(place.head)];
  const { tokens, nHead } = pass;
  const T = tokens.length;
  const turned = sizes.llama ? ", turned" : ""; // by their positions
  const wide = width >= WIDE;
  const path = `transformer.h.${n}.attn.`;
  const part = (/** @type {string} */ name) => pass.tensor?.(path + name);
  const [q, k, v, mixed] = ["q", "k", "v", "heads"].map(part);
  const from = Math.max(0, T - MOST);
  const shown = Array.from({ length: T - from }, (_, i) => from + i);
  const values = stepOf(pass, n, h, step) ?? Float32Array.from(pass.weights[n][h]);
  const D = q?.shape.at(-1) ?? 0;

  // The matrix of this step.
  const label = wide ? 78 : 64;
  const alone = wide && !q; // nothing but the shares is stored
  const room = wide ? Math.min(alone ? 520 : 420, width * 0.42) : width - label - 10;
  const low = wide ? (view.height ?? Infinity) : Infinity; // px that there are
  const size = Math.min(alone ? 58 : 46, room / shown.length, (low - 138) / shown.length);
  const right = alone ? (width - room - 10) / 2 : 10;
  const [mx, my] = wide
    ? [width - room - right + (room - size * shown.length) / 2, 98]
    : [label, 92];
  const row = shown.indexOf(at);
  const masked = step >= 2;
  const scale =
    step >= 3
      ? 1
      : Math.max(
          ...shown.flatMap((r) =>
            shown.filter((c) => c <= r).map((c) => Math.abs(values[r * T + c])),
          ),
        );
  const grid = shown.flatMap((r, i) =>
    shown.map((c, j) => {
      const value = values[r * T + c];
      const later = c > r;
      const hidden = masked && later && (step > 2 ? !value : value === -Infinity); // a bug may hide none
      const [x, y] = [mx + j * size, my + i * size];
      const open = () =>
        later || pass.only ? undefined : (pick(r), go({ block: n, head: h, query: r, key: c }));
      const heatOf = hidden || !Number.isFinite(value) ? 0 : Math.min(1, Math.abs(value) / scale);
      const label = `${quoted(tokens[r])} looks at ${quoted(tokens[c])}: ${hidden ? "masked" : fixed(value, 2)}`;
      const written = r === at || (step >= 3 && value >= 0.05) || (hidden && step === 2);
      const text = size >= 34 && written && !(hidden && step > 2);
      return svg`<g class=${`cellbox${later ? " later" : ""}${hidden ? " hidden" : ""}${r === at ? " own" : ""}`}
        style="--i:${j};--r:${r === at ? 0 : i + 1}" data-of="t${c}"
        role="button" data-rove="scores" aria-label=${label} aria-disabled=${String(later || Boolean(pass.only))}
        tabindex=${r === at && c === from ? 0 : -1} @click=${open}
        @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, open)}>
        <rect class=${`weights ${value < 0 ? "minus" : "plus"}`} x=${x} y=${y} width=${size - 1} height=${size - 1}
          style="--heat:${heatOf.toFixed(3)}"></rect>
        ${text ? svg`<text x=${x + size / 2} y=${y + size / 2 + 4} text-anchor="middle">${hidden ? "−∞" : fixed(value, Math.abs(value) >= 10 ? 1 : 2)}</text>` : nothing}
        <title>${label}</title></g>`;
    }),
  );
  const names = shown.map((t, i) => {
    const name = tokens[t].length > 9 ? `${tokens[t].slice(0, 8)}…` : tokens[t];
    const y = my + (i + 0.5) * size + 4;
    return svg`<text class="token-name" x=${mx - 6} y=${y} text-anchor="end">${name}</text>
      <text class="token-name" transform="translate(${mx + (i + 0.5) * size + 4} ${my - 6}) rotate(-60)">${name}</text>`;
  });

  // q of the row, k and v of all tokens: D numbers each.
  const back = sizes.llama ? "o_proj" : "c_proj"; // into the stream
  const strips = wide ? { x: 84, width: mx - 84 - BESIDE } : { x: 64, width: width - 74 };
  const cell = D ? strips.width / D : 0;
  const high = wide ? Math.min(20, (low - 190) / (2 * shown.length + 2) - 1) : 14;
  const start = wide ? 70 : my + shown.length * size + 48;
  const title = (
    /** @type {string} */ letter,
    /** @type {string} */ told,
    /** @type {number} */ y,
  ) => {
    const open = () =>
      go({ block: n, head: h, weight: letter === "proj" ? back : letter, token: at });
    return svg`<text class=${`letter opens ${letter}`} x=${strips.x} y=${y - 6} role="button" tabindex="0"
      aria-label="${told}: open its matrix" @click=${open}
      @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, open)}>${told} ▸</text>`;
  };
  const line = (/** @type {number} */ t, /** @type {number} */ y) =>
    svg`<text class="token-name" x=${strips.x - 6} y=${y + high - 5} text-anchor="end">${tokens[t].slice(0, 9)}</text>`;
  const yk = start + high + 36;
  const yv = yk + shown.length * (high + 1) + 34;
  const ym = yv + shown.length * (high + 1) + 34;
  /** @type {(noted: any, tokens: number[], y: number) => import("./operation.mjs").Row[]} */
  const rowsOf = (noted, tokens, y) => {
    const rows = tokens.map((t) => headOf(noted, h, nHead).subarray(t * D, (t + 1) * D));
    const scale = Math.max(1e-9, ...rows.flatMap((values) => Array.from(values, Math.abs)));
    return rows.map((values, i) => ({ values, y: y + i * (high + 1), scale }));
  };
  /** @type {(rows: import("./operation.mjs").Row[], role: string, tokens: number[]) => unknown} */
  const drawn = (rows, role, tokens) =>
    rows.map(
      ({ values, y, scale }, i) =>
        svg`<g class="vector" data-of=${tokens.length > 1 ? `t${tokens[i]}` : nothing}
          style=${role === "v" && tokens.length > 1 ? `--share:${own[i].toFixed(3)}` : nothing}>
          ${heat(values, { x: strips.x, y, columns: D, cell, high, gap: 1, role, scale })}${line(tokens[i], y)}</g>`,
    );
  const shares = headOf(part("weights") ?? { values: new Float32Array(T * T), shape: [T, T] }, h);
  const own = shown.map((t) => shares[at * T + t]);
  const widths = own.map(
    (
      share,
      i,
    ) => svg`<rect class="share" style="--i:${i};width:${(share * (wide ? BESIDE - 84 : 0)).toFixed(1)}px"
      x=${strips.x + strips.width + 6} y=${yv + i * (high + 1) + 3} height=${high - 6}></rect>`,
  );
  const known = q && k && v && mixed;
  const rows = () => {
    const [asks, keys, values] = [
      rowsOf(q, [at], start),
      rowsOf(k, shown, yk),
      rowsOf(v, shown, yv),
    ];
    const sum = rowsOf(mixed, [at], ym);
    const body = svg`${title("q", `q of ${quoted(tokens[at])}${turned}`, start)}${drawn(asks, "q", [at])}
        ${title("k", `k of all tokens${turned}`, yk)}${drawn(keys, "k", shown)}
        ${title("v", "v of all tokens, and their shares", yv)}${drawn(values, "v", shown)}${widths}
        ${title("proj", `mixed: what head ${n}.${h} brings to ${quoted(tokens[at])}`, ym)}<g class="sum">${drawn(sum, "v", [at])}</g>`;
    const where = { ...strips, high, size: size - 1, D };
    /** @type {(i: number) => [number, number]} */
    const to = (i) => [mx + i * size, my + row * size];
    const flies = operation(
      step,
      { q: asks[0], keys, values, shares: own, sum: sum[0] },
      { ...where, cell: to },
    );
    return svg`${body}${row < 0 ? nothing : flies}`;
  };
  const turns = shown.length;
  const [dx, dy] = [mx + turns * size, my + turns * size + 20];
  const divides = svg`<text class="divides" x=${dx} y=${dy} text-anchor="end">÷ √${D}</text>`;
  const bottom = known ? ym + high + 14 : my + shown.length * size + 20;
  const told = TELLS[step].replace("32", String(D || "D"));
  const old = from ? ` ${from} older tokens are not drawn.` : "";
  return {
    height: Math.max(bottom, my + shown.length * size + 40),
    body: svg`<g class=${`h${h % 4} op op-${STEPS[step]}`} style="--turn:${turnOf(turns).toFixed(0)}ms;--turns:${row < 0 ? 0 : turns}">${steps(STEPS, step, { x: wide ? width - room - 60 : 4, y: 4, width: wide ? room + 56 : width - 4, onPick: setStep, only: pass.only })}
      <g class="plate">${sides({ x: mx, y: my, width: shown.length * size - 1, height: shown.length * size - 1 }, 5)}</g>${names}${grid}
      <rect class="row-frame" x=${mx - 1} y=${my + row * size - 1} width=${shown.length * size + 1} height=${size + 1}></rect>
      <text class="axis" x=${mx} y=${my + shown.length * size + 18}>row = query, column = key</text>${known ? rows() : nothing}${step === 1 && row >= 0 ? divides : nothing}</g>`,
    boxes: ({ query, key, weight }) =>
      weight && known
        ? {
            x: strips.x,
            y: { q: start, k: yk, v: yv, [back]: ym }[weight] ?? start,
            width: strips.width,
            height: high,
          }
        : query === undefined || key === undefined || query < from || key < from
          ? null
          : {
              x: mx + (key - from) * size,
              y: my + (query - from) * size,
              width: size,
              height: size,
            },
    home: { x: mx, y: my, width: shown.length * size, height: shown.length * size },
    path: path + ["scores", "scores", "masked_scores", "weights", "heads"][step],
    fills: known
      ? { count: STEPS.length, show: (nth) => nth < 0 || setStep(nth), ends: endsOf(turns) }
      : undefined,
    code: step ? "" : "q @ k.transpose(-2, -1)", // the division is the next step
    tells: wide ? undefined : told,
    says: `${told}. ${look({ ...view, step }, values)}${old}`,
  };
}

/**
 * @param {View} view
 * @param {ArrayLike<number>} values
 */
function look({ pass: { tokens, weights }, place, at, step }, values) {
  const T = tokens.length;
  const row = Array.from(weights[Number(place.block)][Number(place.head)]).slice(
    at * T,
    (at + 1) * T,
  );
  const key = row.indexOf(Math.max(...row));
  return `From ${quoted(tokens[at])} to ${quoted(tokens[key])} ${step > 2 ? "the share" : "it"} is ${fixed(values[at * T + key], step >= 3 ? 3 : 2)}.`;
}
