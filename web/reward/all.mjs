// A model that learns from marks, as an element. Packed into reward.js (npm run build).

import { define } from "../exhibits/exhibit.mjs";
import { reward } from "./reward.mjs";

define("reward", reward, { needsModel: false });
