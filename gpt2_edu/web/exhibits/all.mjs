// All exhibits of the book, as elements. Packed into live.js (make web), which pages with exhibits
// load behind gpt2.js.

import { cache } from "./cache.mjs";
import { crane } from "./crane.mjs";
import { define } from "./exhibit.mjs";
import { heads } from "./heads.mjs";
import { inside } from "./inside.mjs";
import { layernorm } from "./layernorm.mjs";
import { mask } from "./mask.mjs";
import { mistakes } from "./mistakes.mjs";
import { museum } from "./museum.mjs";
import { tokens } from "./tokens.mjs";

define("cache", cache);
define("crane", crane, { needsModel: false });
define("heads", heads);
define("inside", inside);
define("layernorm", layernorm);
define("mask", mask);
define("mistakes", mistakes);
define("museum", museum);
define("tokens", tokens, { needsModel: false });
