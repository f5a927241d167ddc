// What only some pages have beside the picture: a text that gives a vector, the tensors of the pass, the
// crane while it learned, the reader's own code. Packed into beside.js, which those pages ask for.

import { Learned } from "./learned.mjs";
import { Mine } from "./mine.mjs";
import { panels } from "./panels.mjs";

/** @typedef {{Learned: typeof Learned, Mine: typeof Mine, panels: typeof panels}} Beside */

/** @type {any} */ (globalThis).gpt2Beside = /** @type {Beside} */ ({ Learned, Mine, panels });
