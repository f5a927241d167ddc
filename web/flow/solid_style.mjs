// How what has depth looks: plates, planks and slabs, and the whole in small.

export const SOLID = `
gpt2-flow.g2-live .flow-inset { min-width: 0; min-height: 0; padding: 2px; line-height: 0; color-scheme: dark; forced-color-adjust: none; --paper: #0a0e13; --zone: #131b24; --stream: #465666; --dim: #212c38; background: #0a0e13; border: 1px solid #3d4b59; border-radius: 6px; cursor: zoom-out; }
.flow-inset svg { width: 100%; height: 100%; pointer-events: none; }
.flow-top > .flow-inset { position: absolute; inset: auto 16px 3px auto; width: 4.5rem; height: calc(var(--bar-high) - 6px); }
.flow-inset .stream { fill: color-mix(in oklab, var(--sense, color-mix(in oklab, var(--bird) var(--side, 50%), var(--machine))) var(--strength, 0%), #7d90a3); }
.flow-inset .flow-ahead { position: static; }
.flow-inset .top { fill: #33444f; }
.flow-inset .side { fill: #1b2733; }
.flow-inset :is(.place, .tile) { fill: #1d2833; }
.flow-inset .tile { fill: #43586b; }
.flow-inset text { display: none; }
.flow-inset .here { fill: #5fc3ca22; stroke: var(--g2-accent, #5fc3ca); stroke-width: 10; }
.flow-stage > .flow-inset { position: absolute; z-index: 2; left: 10px; bottom: 10px; width: 9rem; }
.flow-stage > .flow-inset svg { height: auto; }
.plays .flow-inset { pointer-events: none; }
@media (max-width: 41.9rem) { .flow-stage > .flow-inset { display: none; } .flow-top > .flow-inset { right: 10px; } }

.flow-picture .cap { fill: none; stroke: var(--hue); stroke-width: 3; }
.flow-picture .cap[data-lit] { stroke-width: 6; }
.flow-picture .slice { fill: var(--hue); fill-opacity: 0.75; }
.flow-picture .slice[data-lit] { fill-opacity: 1; }
.vectors rect { fill: #33465a; }
.flow-picture .vectors image { image-rendering: auto; }
.slab { --made: #33424f; fill: var(--made); }
.flow-picture .slab .top { fill: #202c37; }
.flow-picture .slab .side { fill: #0e151c; }
.deep :is(.brick, .slab, .plate, .sum) { filter: drop-shadow(0 5px 5px #000a); }
.flow-picture .plate .top { fill: #4a5d6e; }
.flow-picture .plate .side { fill: #0a1017; }
.deep .flow-stage { --paper: #121a23; --dim: #293642; background: linear-gradient(#1d2833, #0d1319 65%); box-shadow: 0 0 0 10px var(--stage), inset 0 1px #fff2; }
`;
