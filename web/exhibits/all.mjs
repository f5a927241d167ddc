// All exhibits of the book, as elements. Packed into live.js (npm run build), which pages with exhibits
// load behind gpt2.js and base.js.

import { ask } from "./ask.mjs";
import { bits } from "./bits.mjs";
import { blocks } from "./blocks.mjs";
import { cache } from "./cache.mjs";
import { crane } from "./crane.mjs";
import { cost } from "./cost.mjs";
import { cups } from "./cups.mjs";
import { downhill } from "./downhill.mjs";
import { draft } from "./draft.mjs";
import { define } from "./exhibit.mjs";
import { heads } from "./heads.mjs";
import { layernorm } from "./layernorm.mjs";
import { mask } from "./mask.mjs";
import { order } from "./order.mjs";
import { mistakes } from "./mistakes.mjs";
import { mlp } from "./mlp.mjs";
import { museum } from "./museum.mjs";
import { rotation } from "./rotation.mjs";
import { sampling } from "./sampling.mjs";
import { scores } from "./scores.mjs";
import { snapshots } from "./snapshots.mjs";
import { tokens } from "./tokens.mjs";
import { unit } from "./unit.mjs";
import { units } from "./units.mjs";
import { valley } from "./valley.mjs";
import { writers } from "./writers.mjs";

define("ask", ask, { needsModel: false }); // it loads its own, when asked
define("bits", bits);
define("blocks", blocks, { takesLlama: true });
define("cache", cache);
define("crane", crane, { needsModel: false });
define("cost", cost, { needsModel: false });
define("cups", cups, { needsModel: false }); // it loads its own, when asked
define("downhill", downhill, { needsModel: false });
define("draft", draft, { needsModel: false }); // so does this one
define("heads", heads, { takesLlama: true });
define("layernorm", layernorm);
define("mask", mask, { takesLlama: true });
define("mistakes", mistakes, { needsModel: false }); // it loads its own
define("mlp", mlp);
define("museum", museum);
define("rotation", rotation, { needsModel: false });
define("sampling", sampling, { takesLlama: true });
define("scores", scores, { needsModel: false });
define("snapshots", snapshots, { needsModel: false });
define("tokens", tokens, { needsModel: false });
define("unit", unit);
define("units", units);
define("valley", valley, { needsModel: false });
define("order", order, { takesLlama: true });
define("writers", writers);
