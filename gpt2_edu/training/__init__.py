"""Training: settings, optimiser, loop, checkpoints, many devices, recipes."""

from .config import TrainConfig
from .trainer import Summary, Trainer

__all__ = ["Summary", "TrainConfig", "Trainer"]
