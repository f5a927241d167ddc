"""Exhibits with a Python face: in a live notebook they show widgets that run on your own objects.

On the published page, and while the book is made, the same object shows what the page answers
with; so a cell stands in the book and in Colab unchanged. Needs ipywidgets 7.7 or newer, and only
when it is shown.
"""

from .heads import Heads
from .lab import Lab
from .sampling import Sampling

__all__ = ["Heads", "Lab", "Sampling"]
