"""Exhibits with a Python face: in a live notebook they show widgets that run on your own objects.

On the published page, and while the book is made, the same object shows what the page answers
with; so a cell stands in the book and in Colab unchanged. Needs ipywidgets 7.7 or newer, and only
when it is shown.
"""

from .cost import Cost
from .crane import Crane
from .heads import Heads
from .lab import Lab
from .museum import Museum
from .patching import Patching
from .sampling import Sampling
from .training import Training

__all__ = ["Cost", "Crane", "Heads", "Lab", "Museum", "Patching", "Sampling", "Training"]
