"""What every lab shares: controls above, what they make below, errors as a sentence between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from ..exhibits import Live
from ..exhibits.jupyter import in_live_kernel
from ..machine.display import Exhibit


class Lab(Live):
    """An exhibit that answers in Python where a kernel is there.

    A subclass says in ``controls()`` which widgets there are, by name, and in ``show()`` what
    their values make: exhibits, or text. Whenever a value changes, ``show`` is called with all of
    them; what it raises as ValueError is shown as a sentence, and what was there before stays.
    """

    show: Callable[..., Iterable[Exhibit | str]]  # what these values make; a text as it is

    def __init_subclass__(cls) -> None:
        """A lab is no exhibit of its own: in print it is the one that it began with."""

    def controls(self) -> Mapping[str, Any]:
        """The widgets by name; those with a ``value`` give it to ``show``."""
        raise NotImplementedError(f"{type(self).__name__} has no controls()")

    def panel(self) -> Any:
        """The widgets, wired: a VBox."""
        import ipywidgets as widgets

        self.widgets = dict(self.controls())
        self.status, self.shown = widgets.HTML(), widgets.HTML()
        for widget in self.widgets.values():
            if hasattr(widget, "value"):
                widget.observe(lambda change: self.update(), names="value")
            elif hasattr(widget, "on_click"):
                widget.on_click(lambda button: self.update())
        row = widgets.Layout(display="flex", flex_flow="row wrap")
        self.update()
        return widgets.VBox(
            [widgets.Box(list(self.widgets.values()), layout=row), self.status, self.shown]
        )

    def update(self) -> None:
        """Show what the controls ask for now."""
        values = {
            name: widget.value for name, widget in self.widgets.items() if hasattr(widget, "value")
        }
        try:
            made = list(self.show(**values))
        except ValueError as error:
            self.status.value = f"<p><strong>{escape(str(error))}</strong></p>"
            return
        self.status.value = ""
        self.shown.value = "".join(
            f'<p style="white-space: pre-wrap">{escape(one)}</p>'
            if isinstance(one, str)
            else one._repr_html_()
            for one in made
        )

    def _ipython_display_(self) -> None:
        """In a live kernel the widgets; elsewhere IPython goes on to the HTML."""
        if not in_live_kernel():
            raise NotImplementedError
        from IPython.display import display

        try:
            display(self.panel())
        except ImportError:
            raise NotImplementedError from None
