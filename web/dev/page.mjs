// The styles are imported, so that a change of one shows without loading the page again.

import "../../gpt2_edu/exhibits/static/exhibits.css";
import "../../gpt2_edu/exhibits/static/base.css";
import "../../gpt2_edu/exhibits/static/live.css";
import "../../gpt2_edu/exhibits/static/flow.css";
import "../../gpt2_edu/exhibits/static/scale.css";
import "../../gpt2_edu/exhibits/static/scaling.css";
import "../exhibits/all.mjs";
import "../flow/all.mjs";
import "../scale/all.mjs";
import "../scaling/all.mjs";
