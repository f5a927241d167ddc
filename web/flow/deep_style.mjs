// How the deeper part of the picture looks: the rules come with it, so that a first page does not wait
// for them. Colours and the whole are in flow.css.

import { SOLID } from "./solid_style.mjs";

export const STYLE = [
  SOLID,
  // Deeper levels.
  `
gpt2-flow { --q: light-dark(#1f77b4, #66abdd); --k: light-dark(#d0651b, #ee8f55); --v: light-dark(#148a5e, #43b892); --weights: light-dark(#7c468f, #b47fca); --plain: light-dark(#3d5a80, #8fb0d8); --minus: light-dark(#9a8f80, #8a8072); }
.flow-picture .heat { --shade: var(--plain); fill: var(--shade); }
.flow-picture .heat.q, .flow-picture tspan.q, .flow-picture .letter.q { --shade: var(--q); }
.flow-picture .heat.k, .flow-picture tspan.k, .flow-picture .letter.k { --shade: var(--k); }
.flow-picture .heat.v, .flow-picture .letter:is(.v, .proj) { --shade: var(--v); }
.flow-picture .heat.weights { --shade: var(--weights); }
.flow-picture .heat.minus { fill: var(--minus); } .flow-picture .heat.none { fill: var(--dim); fill-opacity: 0.5; }
.flow-picture :is(tspan.q, tspan.k, .letter) { fill: var(--shade); font-weight: 600; }
.flow-picture .map .letter { font-size: 10px; }
.flow-picture .map [role], .flow-picture .map[role], .flow-picture .field, .flow-picture .dial { cursor: zoom-in; }
.flow-picture :is(.h0, .h1, .h2, .h3) { --weights: var(--hue); }
.flow-picture .frame { fill: var(--paper); stroke: var(--line); }
.flow-picture .map.cut .heat { opacity: 0.25; }
.flow-picture .map .row { fill: none; stroke: var(--ink); }
.flow-picture .cutter { cursor: pointer; }
.flow-picture .cutter text { font-size: 12px; text-decoration: underline; fill: var(--quiet); }
.flow-picture :is(.length, .axis, .code, .token-name) { font-size: 12px; fill: var(--quiet); }
.flow-picture :is(.code, .token-name) { font-family: ui-monospace, Menlo, Consolas, monospace; }
.flow-picture .detour { fill: none; stroke: var(--stream); stroke-width: 3; stroke-linejoin: round; }
.flow-picture .dial .hill { fill: var(--plain); }
.flow-picture .dial .base { stroke: var(--line); }
.flow-picture .dial text { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; font-size: 12px; fill: var(--quiet); }
.flow-picture .step { cursor: pointer; }
.flow-picture .step rect { fill: var(--paper); stroke: var(--line); }
.flow-picture .step[aria-disabled="true"] { opacity: 0.45; cursor: not-allowed; }
.flow-picture .step.chosen rect { stroke: var(--g2-accent, var(--bird)); stroke-width: 2; fill: var(--zone); }
.flow-picture .cellbox { cursor: zoom-in; }
.flow-picture .cellbox rect { fill: color-mix(in oklab, var(--weights) calc(100% * var(--heat)), var(--zone)); transition: fill 0.3s; }
.flow-picture .cellbox rect.minus { fill: color-mix(in oklab, var(--minus) calc(100% * var(--heat)), var(--zone)); }
.flow-picture .cellbox.later { cursor: default; opacity: 0.55; }
.flow-picture .cellbox.hidden rect { fill: var(--dim); opacity: 0.5; }
.flow-picture .cellbox text { font-size: 12px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-opacity: 0.7; pointer-events: none; }
.flow-picture .divides { font-size: 17px; font-weight: 600; }
.flow-picture .row-frame, .flow-picture .chosen-cell { fill: none; stroke: var(--ink); stroke-width: 2; pointer-events: none; }
.flow-picture .share { fill: var(--weights); transition: width 0.3s; }
.flow-picture .axes { fill: none; stroke: var(--line); }
.flow-picture .axis { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.flow-picture .curve { fill: none; stroke: var(--plain); stroke-width: 2; }
.flow-picture .dots { fill: none; stroke: var(--plain); stroke-width: 4; stroke-linecap: round; stroke-opacity: 0.35; }
.flow-picture .point { fill: var(--plain); }
.flow-picture .guide { fill: none; stroke: var(--ink); stroke-dasharray: 3 3; }
.flow-picture .figure { font-size: 22px; font-variant-numeric: tabular-nums; }
.flow-picture .product { font-variant-numeric: tabular-nums; }
.flow-picture .fall .drop { fill: color-mix(in oklab, var(--plain) 55%, var(--dim)); }
.flow-picture .fall.minus .drop { fill: var(--minus); }
.flow-picture .fall.chosen .drop { fill: var(--plain); stroke: var(--ink); }
.flow-picture .drop.later { opacity: 0.12; }
.flow-picture .played * { animation: none !important; }
.flow-picture .level { stroke: var(--plain); stroke-dasharray: 2 4; }
.flow-picture .sum { --made: var(--plain); fill: var(--made); }
.flow-picture .sum.minus { --made: var(--minus); }
.flow-picture .sum .top { fill: color-mix(in oklab, var(--made) 70%, #fff); }
.flow-picture .sum .side { fill: color-mix(in oklab, var(--made) 55%, #000); }
.flow-picture .summed { font-size: 18px; font-weight: 600; font-variant-numeric: tabular-nums; paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
@media (prefers-reduced-motion: no-preference) {
  .flow-picture .fall .drop { animation: flow-fall 0.3s calc(var(--n) * 40ms) backwards; }
}
@keyframes flow-fall { from { opacity: 0; transform: translateY(-14px); } }
`,
  // The operation of a head: each part in its turn (operation.mjs).
  `
.flow-picture :is(.meets, .lands, .adds, .partial, .lights) { opacity: 0; pointer-events: none; }
.op-mix .vector[style] .heat { opacity: calc(0.25 + 0.75 * var(--share)); }
:is(.op-score, .op-scale, .op-mask) .heat.v, :is(.op-scale, .op-mask, .op-share, .op-mix) :is(.vector .q, .vector .k) { opacity: 0.35; }
.op :is(.adds, .cellbox > *, .share) { transform-box: fill-box; transform-origin: 50% 50%; }
.vector[data-lit] { outline: 2px solid var(--ink); }
@media (prefers-reduced-motion: no-preference) {
  .op * { --at: calc(var(--i, 0) * var(--turn)); animation-fill-mode: both; animation-duration: var(--turn); animation-delay: var(--at); animation-timing-function: cubic-bezier(0.4, 0, 0.2, 1); }
  .op-score .meets { animation-name: flow-meet; animation-fill-mode: forwards; }
  .op-score .lands { animation-name: flow-land; animation-delay: calc(var(--at) + 0.6 * var(--turn)); animation-duration: calc(1.3 * var(--turn)); }
  .op .lights { animation-name: flow-light; animation-duration: calc(1.2 * var(--turn)); }
  .op-score .cellbox { animation-name: flow-appear; animation-duration: 0.3s; animation-delay: calc((var(--i) + 1.7) * var(--turn)); }
  .op-score .cellbox:not(.own) { animation-delay: calc((var(--turns) + 1.5) * var(--turn) + var(--r) * 50ms); }
  .op-scale .cellbox > * { animation-name: flow-shrink; animation-duration: 0.5s; animation-delay: calc(1s * var(--i) / var(--turns)); }
  .op-mask .hidden > * { animation-name: flow-drop; animation-duration: 0.6s; animation-delay: calc((var(--i) + var(--r)) * 60ms); }
  .op-share .cellbox:not(.hidden) > rect { transform-origin: 50% 100%; animation-name: flow-grow; animation-duration: 0.8s; animation-delay: calc(var(--r) * 80ms); }
  .op-share rect.share { transform-origin: 0 50%; animation-name: flow-grow; animation-duration: 0.8s; animation-delay: 0s; }
  .op-mix .adds { animation-name: flow-add; animation-fill-mode: none; }
  .op-mix .partial { animation-name: flow-hold; animation-delay: calc((var(--i) + 1) * var(--turn)); animation-fill-mode: none; }
  .op-mix .own > rect { animation-name: flow-pulse; }
  .op-mix .sum .heat { animation: flow-appear 1ms calc((var(--turns) + 0.9) * var(--turn)) backwards; }
}
@keyframes flow-meet { 0%, 60% { opacity: 1; } 55%, to { transform: translateY(var(--by)); } to { opacity: 0; } }
@keyframes flow-land { 0% { opacity: 0; } 15%, 40% { opacity: 1; transform: none; } 95% { opacity: 0.8; transform: var(--to); } to { opacity: 0; transform: var(--to); } }
@keyframes flow-light { 0%, to { opacity: 0; } 20%, 80% { opacity: 1; } }
@keyframes flow-appear { from { opacity: 0; } }
@keyframes flow-shrink { 40% { transform: scale(0.5); } }
@keyframes flow-drop { from { opacity: 0; transform: translateY(-90px); } }
@keyframes flow-grow { from { transform: scale(0); } }
@keyframes flow-add { 0% { opacity: 1; } 40% { opacity: 1; transform: scaleY(var(--share)); } 95% { opacity: 1; } to { opacity: 0; transform: translateY(var(--by)) scaleY(var(--share)); } }
@keyframes flow-hold { from, to { opacity: 1; } }
@keyframes flow-pulse { 30%, 60% { stroke: var(--ink); stroke-width: 3px; } }
`,
  // Weights below the whole, and what belongs together.
  `
.tile-part { fill: transparent; cursor: zoom-in; }
.tile-part:is([data-lit], :hover), .lamp[role]:is([data-lit], :hover), .head[data-lit] .pill, .cellbox[data-lit] rect { stroke: var(--ink); stroke-width: 2; }
.flow-picture:is([data-lights], [data-tells]) .ribbon:not([data-lit], [data-told]) { stroke-opacity: 0.05 !important; }
.flow-picture[data-lights] :is(.others, .sink:not(.dash)) { stroke-opacity: 0.08 !important; }
.flow-picture .ribbon:is([data-lit], [data-told]) { stroke-opacity: 1 !important; }
.flow-picture .token[data-told] rect, .flow-picture .next[data-told] .slot, .flow-picture .plus[data-told] circle, .flow-picture .head[data-told] .pill, .flow-picture .cellbox[data-told] rect { stroke: var(--g2-accent, var(--bird)); stroke-width: 2.5; }
.flow-picture .cell[data-told] { stroke: var(--g2-accent, var(--bird)); }
.flow-picture :is(.word, .product)[data-told] { text-decoration: underline 3px var(--g2-accent, var(--bird)); text-underline-offset: 5px; }
.flow-picture :is(.plus, .fall, .point, .chosen-cell)[data-told] { filter: drop-shadow(0 0 3px var(--g2-accent, var(--bird))); }
@media (prefers-reduced-motion: no-preference) { .flow-stage [data-told]:not(.ribbon, .cell) { animation: flow-told 0.9s 3 alternate ease-in-out; } }
@keyframes flow-told { from { opacity: 0.4; } }
`,
  // Words that are offered: while one types, and in place of a token.
  `
.flow-field { position: relative; }
.suggests > .flow-examples { position: relative; }
.suggests > .flow-examples > :not(#flow-suggest, .flow-more) { visibility: hidden; } /* its room stays */
.g2-live .flow-examples #flow-suggest { position: absolute; inset: 0 4rem auto 0; flex-wrap: nowrap; }
#flow-suggest:empty { display: none !important; }
gpt2-flow.g2-live #flow-suggest button { font: 600 0.9rem system-ui, sans-serif; }
gpt2-flow.g2-live #flow-suggest [aria-selected="true"] { color: var(--paper); background: var(--g2-accent, var(--bird)); }
.flow-ghost { position: absolute; left: 0; top: 0; padding: 0 calc(0.6rem + 1px); font-size: 1rem; line-height: 2.75rem; white-space: pre; color: var(--quiet); pointer-events: none; }
.flow-ghost i { visibility: hidden; }
.flow-ghost:not(:empty)::after { content: " →" / ""; font-size: 0.8rem; }
gpt2-flow.g2-live .flow-dice { flex: none; padding: 0 0.4rem; border: 0; font-size: 1.5rem !important; line-height: 1; color: var(--g2-accent, var(--bird)); }
.flow-field > .flow-dice { margin-left: calc(-2.75rem - 0.5rem); }
.flow-swap { position: absolute; z-index: 3; display: flex; flex-wrap: wrap; gap: 0.4rem; align-items: center; max-width: min(34rem, calc(100% - 8px)); padding: 0.6rem 0.8rem; font-family: system-ui, sans-serif; background: #16202af5; border: 1px solid var(--line); border-radius: 10px; box-shadow: 0 12px 40px #000; }
.flow-swap .soft { flex-basis: 100%; }
gpt2-flow.g2-live .flow-swap :is(button, input) { min-height: 2.25rem; font-size: 0.95rem; }
gpt2-flow.g2-live .flow-swap input { flex: 1; min-width: 6rem; width: 0; }
.flow-swap i { font-size: 0.85rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
.flow-swap i.bird { color: var(--bird); } .flow-swap i.machine { color: var(--machine); }
`,
  // A deeper level begins at its bar.
  `
.flow-top { scroll-margin-top: 3.2rem; }
@media (max-width: 41.9rem) { .flow-top { scroll-margin-top: 0.3rem; } }
/* What plays it is seen with what moves; the focus does not go behind it. */
@media (min-width: 42rem) { .deep > .flow-controls { position: sticky; bottom: 0; z-index: 4; } .deep .flow-picture [tabindex] { scroll-margin-bottom: 4rem; } }
`,
  // A word that the model has never met: its numbers mean little. What asks before GPT-2 comes.
  `
.unread :is(.next, .fan, .word) { opacity: 0.4; }
.flow-who { position: relative; }
.flow-who > [role="group"] { position: absolute; z-index: 5; inset: calc(100% + 0.3rem) 0 auto auto; width: min(36rem, 100%); box-sizing: border-box; box-shadow: 0 6px 24px #000a; }
`,
  // Heads that are cut, and what comes of it.
  `
.flow-picture .cut.ribbon { stroke-dasharray: 3 5; }
.flow-picture .head.cut .pill { fill: none; stroke: var(--hue); stroke-dasharray: 2 2; }
.flow-picture .head.cut text { fill: var(--ink); text-decoration: line-through; }
.flow-picture .before { fill: none; stroke: var(--ink); stroke-opacity: 0.7; stroke-width: 1.5; stroke-dasharray: 3 3; pointer-events: none; }
.flow-picture :is(.ghost, .sheet) { pointer-events: none; } .flow-picture .sheet { fill: #18222c; stroke: var(--line); stroke-width: 1.5; }
`,
  // What a stored pass cannot do is grey.
  `
.stored :is(.snip, .cutter) { opacity: 0.45; }
.stored :is(.snip, .cutter, .next, .mlp, .tile) { cursor: not-allowed !important; }
`,
  // Below the picture: the tensor at a station, a text that gives a vector, the engine.
  `
.flow-tensor { margin: 0.5rem 0; font-variant-numeric: tabular-nums; }
.flow-tensor-head { display: flex; flex-wrap: wrap; gap: 0.4rem 1rem; align-items: center; }
gpt2-flow.g2-live .flow-tensor table { font-size: 0.85rem; border-spacing: 2px; border-collapse: separate; margin: 0.4rem 0; width: auto; }
gpt2-flow.g2-live .flow-tensor :is(th, td) { padding: 0.15rem 0.45rem; text-align: right; font-weight: 400; border: 0; }
gpt2-flow.g2-live .flow-tensor caption { text-align: left; color: var(--quiet); white-space: nowrap; }
.flow-tensor th { font-family: ui-monospace, Menlo, Consolas, monospace; }
.flow-tensor [data-role] td[style] { min-width: 3.4rem; background: color-mix(in oklab, var(--shade) calc(55% * var(--heat)), var(--paper)); }
.flow-tensor [data-role] { --shade: var(--plain); }
.flow-tensor [data-role="q"] { --shade: var(--q); } .flow-tensor [data-role="k"] { --shade: var(--k); } .flow-tensor [data-role="v"] { --shade: var(--v); }
.flow-tensor [data-role="weights"] { --shade: var(--weights); }
.flow-tensor td.minus { --shade: var(--minus); }
gpt2-flow.g2-live .flow-tensor .terms { white-space: nowrap; }
gpt2-flow.g2-live .flow-tensor .terms caption { white-space: normal; }
.flow-tensor .terms tr:last-child > * { font-weight: 600; border-top: 1px solid var(--line) !important; }
.flow-tensor svg { cursor: pointer; }
.flow-picture .gift { cursor: copy; }
.flow-picture .plus.gift circle:not(.touch) { fill: color-mix(in oklab, var(--sense, color-mix(in oklab, var(--bird) var(--side, 50%), var(--machine))) var(--strength, 0%), var(--paper)); }
.flow-picture .plus.gift .touch { stroke: none; fill: transparent; }
.flow-picture .plus.gift:hover circle:not(.touch) { stroke: var(--ink); stroke-width: 2; }
.flow-picture .plus.given circle:not(.touch) { stroke: var(--ink); stroke-width: 3; }
.flow-picture .plus.gift path { stroke: var(--ink); }
.flow-patch { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 0.5rem; margin: 0.5rem 0; align-items: start; }
.flow-patch > .chips { grid-column: 1 / -1; }
gpt2-flow .engine button { margin-top: 0.6rem; }
gpt2-flow .engine label { display: grid; width: fit-content; max-width: 100%; font-size: 0.875rem; }
gpt2-flow .stored { padding: 0; list-style: none; }
`,
  // The tour stands in the place of the text, on a phone below everything: its height is the same at each
  // step, so that the picture stays where it is.
  `
.flow-tour { position: relative; box-sizing: border-box; display: grid; grid-template: auto 1fr / minmax(0, 1fr) auto; gap: 0 1rem; padding: 0.3rem 1rem; background: var(--zone); border-left: 4px solid var(--g2-accent, var(--bird)); border-radius: 0 0.4rem 0.4rem 0; }
@media (min-width: 42rem) {
  .tours > .flow-tour { position: absolute; z-index: 5; inset: var(--over, 0) 0 auto; height: var(--room, 5.75rem); }
  .tours > .strip-box { visibility: hidden; }
  .flow-tour .flow-step { grid-area: 1 / 1; justify-self: end; }
}
.flow-tour h3 { margin: 0 !important; font-size: 1.1rem; line-height: 2.1rem; grid-area: 1 / 1; white-space: nowrap; }
.flow-read { position: absolute; inset: auto 0 0; height: 3px; background: var(--g2-accent, var(--bird)); scale: 0 1; transform-origin: left; }
.flow-tour [name="pause"] { min-width: 6rem; } .flow-tour [name="pause"]::before { content: "▶ " / ""; }
.flow-tour .runs::before { content: "❚❚ " / ""; }
.flow-tour p { margin: 0 !important; }
.flow-tour .flow-step { font-size: 0.85rem; line-height: 2.1rem; color: var(--quiet); }
.flow-tour [aria-live] { grid-area: 2 / 1 / 3 / 3; line-height: 1.4; text-wrap: pretty; }
.flow-tour-acts { grid-area: 1 / 2; display: flex; gap: 0.4rem; align-items: center; font-size: 0.9rem; white-space: nowrap; }
gpt2-flow.g2-live :is(.flow-tour-acts, .flow-guesses) button { min-height: 2.1rem; padding: 0.1rem 0.7rem; }
.flow-guesses { grid-area: 2 / 1; place-self: end start; display: flex; gap: 0.5rem; }
gpt2-flow.g2-live .flow-guesses button { min-height: 1.7rem; padding: 0 1.1rem; font-size: 1rem; border-radius: 1.2rem; font-weight: 600; border-color: var(--g2-accent, var(--bird)); background: var(--paper); }
@media (max-width: 41.9rem) {
  .flow-tour { position: sticky; bottom: 0; z-index: 5; padding: 0.3rem 0.6rem 0.5rem; grid-template: 2.1rem 4.9rem 2.4rem / minmax(0, 1fr) auto; order: 1; border-left: 0; border-top: 3px solid var(--g2-accent, var(--bird)); border-radius: 0; box-shadow: 0 -4px 16px rgb(0 0 0 / 0.15); }
  .flow-tour .flow-step { grid-area: 1 / 2; margin-right: 2.25rem !important; }
  gpt2-flow.g2-live .flow-tour [aria-label="close"] { position: absolute; top: 0.2rem; right: 0; border: 0; }
  .flow-tour [aria-live] { font-size: 0.9rem; }
  .flow-guesses { margin-bottom: 0.3rem; }
  gpt2-flow.g2-live .flow-guesses button { min-height: 2rem; }
  .flow-tour-acts { grid-area: 3 / 1 / 4 / 3; gap: 0.3rem; }
  .flow-tour-acts > :is(a, span) { margin-left: auto; }
  gpt2-flow.g2-live .flow-tour-acts button { min-width: 2rem; padding: 0.1rem 0.3rem; font-size: 0.82rem; }
  gpt2-flow.g2-live .flow-tour-acts [name="pause"] { min-width: 2.1rem; font-size: 0; }
  .flow-tour-acts [name="pause"]::before { font-size: 0.9rem; }
  gpt2-flow.tours { display: flex; flex-direction: column; }
  gpt2-flow.tours > .foot { order: 2; }
}
`,
  // What moves and what is written, once somebody is near.
  `
.flow-squares i { position: absolute; left: 0; top: 0; background: var(--hue); transform-origin: 0 0; will-change: transform; }
.early .flow-result { visibility: hidden; }
.unsaid :is(.flow-picture .word, .flow-picture .next, .fan, .flow-knob, .sentence, .aloud, .flow-result) { visibility: hidden; }
.flow-crumbs { font-size: 0.95rem; }
.flow-crumbs button { border: 0 !important; text-decoration: underline; padding: 0 0.2rem !important; min-height: 2rem !important; }
.flow-forks { padding-left: 1.2rem; }
.flow-forks button { border: 0 !important; text-align: left; min-height: 0 !important; color: var(--quiet); }
.flow-forks mark { background: none; color: var(--ink); border-bottom: 2px solid var(--line); }
`,
  // What is larger than its frame; its numbers lie over it.
  `
.flow-zoom { position: absolute; z-index: 2; right: 10px; bottom: 32px; display: flex; gap: 0.3rem; align-items: center; font: 12px/1.3 system-ui, sans-serif; color: var(--quiet); }
gpt2-flow.g2-live .flow-zoom button { min-width: 2rem; min-height: 1.75rem; padding: 0; font: 600 1rem/1 system-ui, sans-serif; background: var(--glass); }
.flow-zoom span:not(:empty) { padding: 0.2rem 0.5rem; background: var(--glass); border-radius: 4px; }
@container (max-width: 1000px) { .flow-zoom { bottom: 2px; } .flow-zoom span { display: none; } .turned .flow-zoom { right: 38%; } }
.plays .flow-zoom, .zoomed :is(.flow-knob, .flow-pulses) { visibility: hidden; }
.zoomed :is(.glow, .shine) { display: none; }
.zoomed .tile-part { stroke: none !important; }
.zoomed .flow-picture { cursor: grab; touch-action: none; }
.flow-numbers { position: absolute; inset: 0; pointer-events: none; font-size: 12px !important; font-variant-numeric: tabular-nums; }
.flow-numbers .ground { fill: #2b3845; }
.flow-numbers text { paint-order: stroke; stroke: #0a0e13; stroke-width: 3px; stroke-opacity: 0.6; }
`,
  // A matrix.
  `
.flow-picture .aside { fill: var(--paper); fill-opacity: 0.55; pointer-events: none; }
.flow-picture .blank { fill: var(--paper); }
.flow-picture .mark { stroke: var(--ink); stroke-width: 2; }
.flow-picture .letter.opens { cursor: zoom-in; text-decoration: underline; text-underline-offset: 3px; }
.flow-picture .letter.plain { --shade: var(--plain); }
.flow-picture .push { fill: color-mix(in oklab, var(--plain) 55%, var(--dim)); } .flow-picture .push.minus { fill: var(--minus); }
`,
  // The reader's my_gpt2.py: what is still the book's is grey.
  `
.flow-mine { display: flex; flex-wrap: wrap; gap: 0.4rem 0.8rem; align-items: center; }
.flow-mine details { flex-basis: 100%; }
.flow-mine pre { max-height: 24rem; overflow: auto; font-size: 0.85rem; }
.flow-stage[data-mine]:not([data-mine~="text"]) .token,
.flow-stage[data-mine]:not([data-mine~="embeddings"]) .cell,
.flow-stage[data-mine]:not([data-mine~="attention"]) .ribbon,
.flow-stage[data-mine]:not([data-mine~="mlp"]) .mlp,
.flow-stage[data-mine]:not([data-mine~="layernorm"]) .dial,
.flow-stage[data-mine]:not([data-mine~="stream"]) :is(.stream, .plus),
.flow-stage[data-mine]:not([data-mine~="logits"]) .next { filter: grayscale(1); opacity: 0.4; }
.flow-picture .by-hand { font-size: 18px; fill: var(--g2-accent, #0969a8); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.flow-hand { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end; margin: 0.5rem 0; }
.flow-hand .slider { flex: 1 1 18rem; }
.g2-live .flow-versus { flex-wrap: wrap; } .g2-live .flow-versus > .soft { flex: 0 1 auto; }
.flow-picture .next .bar.other { fill: none; stroke: var(--quiet); stroke-dasharray: 3 2; }
.flow-picture .next.bird .bar.other { stroke: var(--bird); fill: none; }
.flow-picture .next.machine .bar.other { stroke: var(--machine); fill: none; }
.flow-dart .slider { flex: 1 1 12rem; }
.flow-dart > label { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
.flow-learned { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0.25rem 1rem; align-items: end; margin: 0.5rem 0; }
.flow-learned > button { margin-bottom: 0.6rem; }
.flow-learned p { grid-column: 1 / -1; min-height: 5em; margin: 0 !important; }
`,
].join("");
