"""An output that answers on the page: the printed form inside, the live one around it."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from ..machine.display import Exhibit


class Live(Exhibit):
    """The exhibit ``<gpt2-KIND>`` of ``web/exhibits``, which computes in the page.

    ``printed`` is what stands there without JavaScript and on Colab: any exhibit, with the numbers
    of the notebook. ``first`` is one sentence that says what to try first; ``settings``
    go to the element as JSON.
    """

    def __init__(self, kind: str, printed: Exhibit, *, first: str, **settings: Any) -> None:
        if not re.fullmatch(r"[a-z]+(-[a-z]+)*", kind):
            raise ValueError(f"a kind is lower-case words joined by hyphens, got {kind!r}")
        if not first.rstrip().endswith((".", "?")):
            raise ValueError(f"first is a sentence that says what to try, got {first!r}")
        self.kind, self.printed = kind, printed
        self.settings = json.dumps({"first": first, **settings}, ensure_ascii=False)

    def __repr__(self) -> str:
        return f"Live({self.kind}, {self.printed!r})"

    def html(self) -> str:
        return (
            f'<gpt2-{self.kind} class="g2-live" data-settings="{escape(self.settings)}">'
            f"{self.printed.html()}</gpt2-{self.kind}>"
        )
