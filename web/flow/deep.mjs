// What a reader needs who goes into the picture or changes it. Packed into deep.js, which a page asks
// for when somebody is near.

import { sceneOf } from "./scenes.mjs";
import { Tools } from "./tools.mjs";

/** @typedef {{sceneOf: typeof sceneOf, Tools: typeof Tools}} Deep */

/** @type {any} */ (globalThis).gpt2Deep = /** @type {Deep} */ ({ sceneOf, Tools });
