// What a reader needs who goes into the picture or changes it. Packed into deep.js, which a page asks
// for when somebody is near.

import { STYLE } from "./deep_style.mjs";
import { fly } from "./camera.mjs";
import * as folded from "./folded.mjs";
import { notesOf } from "./notes.mjs";
import { make } from "../exhibits/dom.mjs";
import { sceneOf } from "./scenes.mjs";
import { wholeWords } from "./read.mjs";
import { Tools } from "./tools.mjs";

document.head.append(make("style", {}, STYLE));

/** @typedef {{sceneOf: typeof sceneOf, Tools: typeof Tools, wholeWords: typeof wholeWords,
 *   fly: typeof fly, folded: typeof folded & {notesOf: typeof notesOf}}} Deep */

/** @type {any} */ (globalThis).gpt2Deep = /** @type {Deep} */ ({
  sceneOf,
  Tools,
  wholeWords,
  fly,
  folded: { ...folded, notesOf },
});
