"""Labs: ipywidgets in a live notebook that run on your own model.

``labs.Sampling(model, encoding, text="Once")`` is all that a model of your own needs.

On the published page, and with GPT2_EDU_BOOK=1, the same object shows its in-page exhibit, so a
cell is the same in the book and in Colab. They require ipywidgets 7.7 or newer.
"""

from .cost import Cost
from .crane import Crane
from .lab import Lab
from .models import Heads, Museum, Patching, Sampling
from .training import Training

__all__ = ["Cost", "Crane", "Heads", "Lab", "Museum", "Patching", "Sampling", "Training"]
