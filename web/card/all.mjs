// Cards of models, as an element. Packed into card.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { card } from "./card.mjs";

define("card", card, { needsModel: false });
