// One pass in space. Packed into space.js, which a page asks for when somebody wants to turn the picture.

import { make } from "../exhibits/dom.mjs";
import { Space } from "./space.mjs";
import { STYLE } from "./style.mjs";

document.head.append(make("style", {}, STYLE));

/** @type {any} */ (globalThis).gpt2Space = { Space };
