"""Sphinx extension: ``train-here``, a model that learns in the page.

Before a reader trains, and in print, a stored run of the same model is shown
(web/dev/page_run.mjs).
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FIRST = "Press train. Watch the loss fall, and the model learn to write."
MEANING = (
    "The window is how many tokens the model sees at once. More windows in a batch make each step "
    "slower and less noisy. The learning rate falls to a hundredth over all steps, so fewer steps "
    "end sooner. Another seed means other random weights. Without the mask the model sees the "
    "answer, without positions it does not know the order of tokens, and LayerNorm keeps its "
    "activations at one scale."
)
COLUMNS = ["step", "loss on new stories", "right of 20 stories", "one that it wrote"]


def stored() -> dict[str, Any]:
    """The stored run."""
    text = (files("gpt2_edu") / "assets" / "page_run.json").read_text(encoding="utf-8")
    return json.loads(text)


def settings() -> dict[str, Any]:
    """What the picture is told."""
    run = stored()
    before = {"points": run["losses"], "floors": run["floors"]}
    return {"first": FIRST, "meaning": MEANING, "before": before}


def caption(run: dict[str, Any]) -> str:
    """What the stored run was."""
    model, floors = run["plan"]["model"], run["floors"]
    return (
        f"A stored run of the first model: {run['parameters']:,} parameters in {model['nLayer']} "
        f"blocks of width {model['nEmbd']}. Knowing how frequent each token is gives a loss of "
        f"{floors['unigram']:.2f}, knowing pairs {floors['bigram']:.2f}, knowing the grammar "
        f"{floors['truth']:.2f}. ⟦ marks where a story breaks a rule."
    )


def printed() -> str:
    """What stands in the picture's place without a script."""
    run = stored()
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    rows = "".join(
        f'<tr><th scope="row">{row["step"]:,}</th><td>{row["held"]:.2f}</td><td>{row["right"]}</td>'
        f"<td>{escape(row['story'])}</td></tr>"
        for row in run["rows"]
    )
    return (
        f'<div class="scroll printed"><table class="table"><caption>{escape(caption(run))}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


class TrainHere(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        told = escape(json.dumps(settings(), ensure_ascii=False))
        html = f'<gpt2-learn class="g2-live" data-settings="{told}">{printed()}</gpt2-learn>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("train-here", TrainHere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
