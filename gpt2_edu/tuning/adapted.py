"""Modules that an adapter changes while it is in use, and a table of embeddings of its own."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from ..language_model import LanguageModel


class Adapted:
    """A module with a frozen weight; ``merged()`` is what the adapter in use makes of it."""

    in_use: str | None = None


def adapted(model: nn.Module) -> dict[str, Any]:
    """The modules that adapters have changed, by their places."""
    return {at: module for at, module in model.named_modules() if isinstance(module, Adapted)}


class AdaptedTable(Adapted):
    """A table (V, C) in whose place an adapter may have its own, in ``tables``."""

    def merged(self: Any) -> Tensor:
        return self.tables[self.in_use] if self.in_use in self.tables else self.weight


class AdaptedEmbedding(AdaptedTable, nn.Embedding):
    """The token embeddings."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__(table.num_embeddings, table.embedding_dim, _weight=table.weight)
        self.weight, self.tables = table.weight, nn.ParameterDict()

    def forward(self, idx: Tensor) -> Tensor:
        return F.embedding(idx, self.merged())


class AdaptedHead(AdaptedTable, nn.Linear):
    """The head. One that is tied shares the tables of the embeddings."""

    def __init__(self, head: nn.Linear, tables: nn.ParameterDict) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = head.in_features, head.out_features
        self.weight, self.bias, self.tables = head.weight, head.bias, tables

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.merged())


def add_table(model: LanguageModel, name: str) -> None:
    """Give an adapter a copy of the token embeddings to train, and of a head that is not tied."""
    wte, head = model.wte, model.lm_head
    if not isinstance(wte, AdaptedEmbedding):
        wte, tied = AdaptedEmbedding(wte), model.is_tied()
        head = AdaptedHead(head, wte.tables if tied else nn.ParameterDict())
        model.transformer.wte, model.lm_head = wte, head
    for module in adapted(model).values():
        if isinstance(module, AdaptedEmbedding | AdaptedHead) and name not in module.tables:
            module.tables[name] = nn.Parameter(module.weight.detach().clone())
