"""Base class of labs: controls at the top, an error message, and the output below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

import ipywidgets as widgets

from ..exhibits import Live
from ..exhibits.jupyter import in_live_kernel
from ..machine.display import Exhibit
from ..tokenizer import Encoding

LONGEST = 32  # tokens in an attention map; a larger one is unreadable
SLOW = {"continuous_update": False}  # a slider that computes when it is released


def ids_of(text: str, encoding: Encoding) -> list[int]:
    """The ids of a text that begins after an end of text."""
    return [encoding.eot_token, *encoding.encode_ordinary(text)]


def text_field(text: str, description: str = "text") -> widgets.Text:
    """A field for a line of text, which reports when the reader has finished it."""
    return widgets.Text(text, description=description, **SLOW)


class InJupyter(Exhibit):
    """What stands in place of a lab that has no printed form, where no kernel is live."""

    def html(self) -> str:
        return '<div class="g2">Run this cell in Jupyter, and controls appear here.</div>'


class Lab(Live):
    """An exhibit that runs Python in a live kernel.

    ``printed`` and ``first`` are for pages of the book, see ``Live``: a lab of your own needs
    neither.

    A subclass returns its widgets, by name, from ``controls()``, and yields exhibits or text from
    ``show()``. ``show`` is called with the values of all widgets whenever one changes. The message
    of a ValueError is displayed above the previous output, which stays.
    """

    def __init__(
        self,
        kind: str,
        printed: Exhibit | None = None,
        *,
        first: str = "Change a control.",
        **settings: Any,
    ) -> None:
        super().__init__(kind, printed or InJupyter(), first=first, **settings)

    def html(self) -> str:
        """The page's exhibit. It runs the book's model, so a lab of your own does without it."""
        return super().html() if not isinstance(self.printed, InJupyter) else self.printed.html()

    controls: Callable[[], Mapping[str, Any]]
    show: Callable[..., Iterable[Exhibit | str]]

    def panel(self) -> widgets.VBox:
        """The widgets with their callbacks."""
        self.widgets = dict(self.controls())
        self.status, self.shown = widgets.HTML(), widgets.HTML()
        for widget in self.widgets.values():
            widget.observe(lambda change: self.update(), names="value")
        self.update()
        row = widgets.Layout(display="flex", flex_flow="row wrap")
        return widgets.VBox(
            [widgets.Box(list(self.widgets.values()), layout=row), self.status, self.shown]
        )

    def update(self) -> None:
        """Display the output for the current values."""
        try:
            outputs = list(self.show(**{name: w.value for name, w in self.widgets.items()}))
        except ValueError as error:
            self.say(str(error))
        else:
            self.say("")
            self.display(outputs)

    def say(self, sentence: str) -> None:
        """Display a sentence above the output."""
        self.status.value = f"<p><strong>{escape(sentence)}</strong></p>" if sentence else ""

    def display(self, outputs: Iterable[Exhibit | str]) -> None:
        self.shown.value = "".join(
            f'<p style="white-space: pre-wrap">{escape(output)}</p>'
            if isinstance(output, str)
            else output._repr_html_()
            for output in outputs
        )

    def _ipython_display_(self) -> None:
        """Display the widgets in a live kernel; otherwise IPython falls back to the HTML."""
        if not in_live_kernel():
            raise NotImplementedError
        from IPython.display import display

        display(self.panel())
