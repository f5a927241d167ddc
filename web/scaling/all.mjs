// Runs on the fitted surface of their losses, as an element. Packed into scaling.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { scaling } from "./scaling.mjs";

define("scaling", scaling, { needsModel: false });
