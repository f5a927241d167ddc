"""Each kernel runs this first, as one in Colab: its own module is there before the first cell."""

import google.colab  # noqa: F401
