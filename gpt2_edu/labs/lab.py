"""Base class of labs: controls at the top, an error message, and the output below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from ..exhibits import Live
from ..exhibits.jupyter import in_live_kernel
from ..machine.display import Exhibit


class Lab(Live):
    """An exhibit that runs Python in a live kernel.

    A subclass returns its widgets, by name, from ``controls()``, and yields exhibits or text from
    ``show()``. ``show`` is called with the values of all widgets whenever one changes. The message
    of a ValueError is displayed above the previous output, which stays.
    """

    show: Callable[..., Iterable[Exhibit | str]]  # yields the output

    def __init_subclass__(cls) -> None:
        """Do not register a lab as an exhibit: its static form is that of its ``Live``."""

    def controls(self) -> Mapping[str, Any]:
        """The widgets by name; their ``value``s are the arguments of ``show``."""
        raise NotImplementedError(f"{type(self).__name__} has no controls()")

    def panel(self) -> Any:
        """The widgets with their callbacks, as a VBox."""
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
        """Display the output for the current values."""
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
        """Display the widgets in a live kernel; otherwise IPython falls back to the HTML."""
        if not in_live_kernel():
            raise NotImplementedError
        from IPython.display import display

        try:
            display(self.panel())
        except ImportError:
            raise NotImplementedError from None
