// Models to scale, as an element. Packed into scale.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { scale } from "./scale.mjs";

define("scale", scale, { needsModel: false });
