"""From text to batches: sources of text, token shards on disk, batches to train on."""

from .batches import BatchLoader, validation_batches
from .shards import TokenShards

__all__ = ["BatchLoader", "TokenShards", "validation_batches"]
