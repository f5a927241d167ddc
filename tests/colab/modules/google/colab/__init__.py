"""Stands in for Colab's own module: `"google.colab" in sys.modules` is how code knows Colab."""

from . import drive

__all__ = ["drive"]
