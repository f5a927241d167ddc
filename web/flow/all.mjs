// The picture of the whole, as an element, and what its deeper levels need of it. Packed into flow.js
// (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { owns } from "../exhibits/own.mjs";
import { flow } from "./flow.mjs";

export { html, nothing, render, svg } from "lit/html.js";
export * from "./layout.mjs";
export * from "./pass.mjs";
export * from "./place.mjs";
export * from "./press.mjs";
export * from "./ribbons.mjs";
export * from "./tiles.mjs";
export * from "./timetable.mjs";
export * from "./way.mjs";
export * from "./whole.mjs";
export * from "./writer.mjs";

// Without stored passes it waits for the model, whose sizes it needs; and for the reader's own, which is
// shown on every page.
define("flow", flow, { takesLlama: true, waits: async ({ passes }) => !passes || owns() });
