"""The trainer by its short name: ``from gpt2_edu.trainer import TrainConfig, Trainer``."""

from .training import Summary, TrainConfig, Trainer

__all__ = ["Summary", "TrainConfig", "Trainer"]
