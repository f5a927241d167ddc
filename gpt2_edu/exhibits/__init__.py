"""Objects with an HTML representation for notebooks and pages; a Matrix also has ``plot()``.

The HTML consists of tables, lists and SVG, with rounded numbers. It needs no JavaScript and is
readable by screen readers; one stylesheet colours it in light and dark mode.
"""

from ..tape import Ledger
from .ask import Asked, exchanges
from .attention import Attention
from .bars import Bars
from .cups import Shuffled
from .draft import Speculated
from .live import Live
from .matrix import Matrix
from .plot import Plot, heat
from .reward import Rewarded
from .scaling import Scaling
from .setup import COLOURS, setup
from .staircase import Stairs
from .tokens import Tokens

__all__ = [
    "COLOURS",
    "Asked",
    "Attention",
    "Bars",
    "Ledger",
    "Live",
    "Matrix",
    "Plot",
    "Rewarded",
    "Scaling",
    "Shuffled",
    "Speculated",
    "Stairs",
    "Tokens",
    "exchanges",
    "heat",
    "setup",
]
