// A model that learns in the page, as an element. Packed into learn.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { learn } from "./learn.mjs";

define("learn", learn, { needsModel: false });
