"""Parts of HTML that matrices, attention maps, tokens and the map share."""

from __future__ import annotations

from html import escape


def number(value: float, decimals: int) -> str:
    """A number as text, rounded, with a real minus sign and never a negative zero."""
    if value == float("-inf"):
        return "−∞"
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def cell(value: float, scale: float, decimals: int, hidden: bool = False) -> str:
    """One ``<td>``: its text is the number, its heat |value| / scale."""
    if hidden or value == float("-inf"):
        return f'<td class="off">{"0" if value == 0 else number(value, decimals)}</td>'
    heat = min(abs(value) / scale, 1.0) if scale > 0 else 0.0
    sign = ' class="neg"' if value < 0 else ""
    return f'<td{sign} style="--heat:{heat:.2f}">{number(value, decimals)}</td>'


def figure(kind: str, caption: str, body: str, legend: str = "") -> str:
    """A ``<figure>`` with a caption, and a legend behind it in plain type."""
    title = f"<strong>{escape(caption)}</strong>" if caption else ""
    text = " ".join(filter(None, [title, escape(legend)]))
    head = f"<figcaption>{text}</figcaption>" if text else ""
    return f'<figure class="g2 g2-{kind}">{head}{body}</figure>'
