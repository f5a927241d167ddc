"""Python objects that show themselves as HTML in a notebook and on the page; tables of numbers
also as a matplotlib figure, with ``.plot()``.

The HTML is plain tables and lists with rounded numbers, and drawings as SVG. It needs no
JavaScript, reads well aloud, and one small stylesheet colours it, in light and dark.
"""

from ..tape import Ledger
from .attention import Attention
from .bars import Bars
from .live import Live
from .map import Map
from .matrix import Matrix
from .plot import Plot, heat
from .setup import COLOURS, setup
from .tokens import Tokens

__all__ = [
    "COLOURS",
    "Attention",
    "Bars",
    "Ledger",
    "Live",
    "Map",
    "Matrix",
    "Plot",
    "Tokens",
    "heat",
    "setup",
]
