"""Compute at the time of answering: many tries, written steps, and drafts that a model checks."""

from .best_of import best_of, majority, pass_at_k
from .speculative import Drafted, speculate

__all__ = ["Drafted", "best_of", "majority", "pass_at_k", "speculate"]
