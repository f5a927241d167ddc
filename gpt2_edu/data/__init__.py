"""From text to batches: sources of text, token shards on disk, batches to train on."""

from .shards import BatchLoader, TokenShards, validation_batches

__all__ = ["BatchLoader", "TokenShards", "validation_batches"]
