// The picture of the whole, as an element. Packed into flow.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { flow } from "./flow.mjs";

define("flow", flow, { waits: ({ passes }) => !passes });
