"""oneDNN, the library of matrix products that torch uses on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def onednn_knows(dtype: torch.dtype) -> bool:
    """Whether this processor and this build of torch have oneDNN kernels for the type."""
    if not torch.backends.mkldnn.is_available():
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    if dtype == torch.float16:
        return bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())
    return dtype == torch.float32


class PackedLinear(nn.Module):
    """``nn.Linear`` on a CPU, the weight rearranged for oneDNN: (…, in) → (…, out)."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.bias = linear.bias
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")
