"""Exercises with automatic checks: ``check("layer_norm", layer_norm)``.

A check reports which cases pass, where the answer fails and the likely mistake. It works offline.
Passed exercises are recorded in progress.json beside the notebook.
"""

from .checking import check
from .drive import keep_in_drive
from .grading import graded
from .mine import build, my_gpt2
from .parts import own
from .record import export, merge, progress

__all__ = [
    "build",
    "check",
    "export",
    "graded",
    "keep_in_drive",
    "merge",
    "my_gpt2",
    "own",
    "progress",
]
