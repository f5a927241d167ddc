// How the picture in space looks.

export const STYLE = `
.flow-space { position: absolute; inset: 0; overflow: hidden; background: radial-gradient(110% 90% at 50% 35%, #17222e, #06090d 80%); }
.flow-space canvas { display: block; filter: brightness(1); /* else Chromium without a GPU cuts it at the wrong end below the header */ cursor: grab; touch-action: pan-y; }
.flow-space canvas:focus-visible { outline: 2px solid var(--ink); outline-offset: -2px; }
.flow-space.held canvas { cursor: grabbing; }
.flow-space.points canvas { cursor: pointer; }
.space-labels { position: absolute !important; inset: 0; pointer-events: none; }
gpt2-flow.g2-live .space-label { all: unset; font: 600 14px/1 var(--face, Georgia, serif); color: var(--ink); text-shadow: 0 0 3px #06090d, 0 0 3px #06090d, 0 0 8px #06090d; white-space: nowrap; }
gpt2-flow.g2-live button.space-label { cursor: pointer; pointer-events: auto; padding: 4px 5px; border-radius: 4px; }
gpt2-flow.g2-live button.space-label:hover { background: #2a3947; }
gpt2-flow.g2-live button.space-label:focus-visible { outline: 2px solid var(--ink); }
gpt2-flow.g2-live .space-label.token { font: 500 13px/1 "JetBrains Mono", ui-monospace, monospace; }
gpt2-flow.g2-live .space-label.token.chosen { color: #8fe6eb; font-weight: 700; font-size: 15px; }
gpt2-flow.g2-live .space-label.part { font: 500 12px/1 system-ui, sans-serif; color: var(--quiet); }
gpt2-flow.g2-live .space-label.block { font: 600 14px/1 system-ui, sans-serif; color: var(--quiet); }
gpt2-flow.g2-live .space-label.word { --hue: var(--quiet); color: color-mix(in oklab, var(--ink) 40%, var(--hue)); padding: 5px 0 0; }
gpt2-flow.g2-live .space-label.bird { --hue: var(--bird); }
gpt2-flow.g2-live .space-label.machine { --hue: var(--machine); }
gpt2-flow.g2-live .space-label.winner { --hue: var(--winner); }
gpt2-flow.g2-live .space-label.next.first { font-size: 23px; }
gpt2-flow.g2-live .space-label i { font: 500 12px/1 system-ui, sans-serif; color: var(--quiet); }
.space-told { position: absolute; z-index: 99999; left: 0; top: 0; max-width: 22rem; pointer-events: none; padding: 0.45rem 0.65rem; font: 13px/1.4 system-ui, sans-serif; color: var(--ink); background: rgb(10 15 20 / 0.92); border: 1px solid #3d4b59; border-radius: 6px; }
.space-told p { margin: 0; }
.space-told p:last-child:not(:first-child) { color: var(--quiet); }
.space-digit { font: 600 12px/1 "JetBrains Mono", ui-monospace, monospace; color: #fff; text-shadow: 0 0 3px #000, 0 0 2px #000; }
.space-hint { position: absolute; left: 8px; top: 8px; margin: 0; padding: 0.3rem 0.6rem; font: 13px/1.4 system-ui, sans-serif; color: var(--quiet); background: rgb(10 15 20 / 0.75); border-radius: 6px; pointer-events: none; }
.space-hint b { color: var(--ink); font-size: 15px; }
.space-views { position: absolute; z-index: 99998; right: 10px; top: 8px; display: flex; gap: 0.3rem; }
gpt2-flow.g2-live .space-views button { min-width: 2.2rem; min-height: 1.9rem; padding: 0 0.6rem; font: 600 13px/1 system-ui, sans-serif; background: var(--glass); }
.in-space > :is(.flow-picture, .flow-veil, .flow-pulses, .flow-zoom, .flow-knob, .flow-unread) { visibility: hidden; }
@container (max-width: 640px) {
  .flow-space { position: relative; height: min(72svh, 620px); }
  .in-space > :is(.flow-picture, .flow-veil) { display: none; }
  .space-hint, gpt2-flow.g2-live .space-label:is(.token:not(.chosen), .next:not(.first)) { display: none; }
}
`;
