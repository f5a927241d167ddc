"""The kernels of a decoding step: on a GPU, or else in Triton's interpreter."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpt2_edu import GPT2Config, KVCache, kernels

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

SIZES = [  # B, C, H: one text and several, odd sizes, more texts than the products' kernels take
    (1, 24, 3),
    (2, 20, 5),
    (3, 26, 1),
    (7, 16, 4),
]
CLOSE = {torch.float32: 3e-6, torch.bfloat16: 0.06}


def steps(fused, model, B, n, padding, monkeypatch) -> Tensor:
    """Logits (n, B, V) of n tokens behind a prompt that is longer than a block of keys."""
    monkeypatch.setattr(kernels, "fused", lambda x: fused)
    generator = torch.Generator().manual_seed(5)
    prompt = torch.randint(37, (B, 70), generator=generator).to(DEVICE)
    cache, found = KVCache(model.config, B, 100, DEVICE, model.dtype, padding), []
    with torch.no_grad():
        model(prompt, cache=cache)
        for _ in range(n):
            ids = torch.randint(37, (2, B), generator=generator).to(DEVICE).T[:, 0]
            with cache.step(model, ids.unsqueeze(1)) as (position, _):
                found.append(kernels.decode_logits(model, cache, ids, position))
    return torch.stack(found).float()


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("B, C, H", SIZES)
def test_the_kernels_compute_what_the_plain_lines_do(
    make_model, monkeypatch, B, C, H, dtype, padded
):
    config = GPT2Config(vocab_size=37, block_size=110, n_layer=2, n_head=H, n_embd=C)
    model = make_model(config).to(DEVICE, dtype)
    padding = torch.arange(B, device=DEVICE) % 5 if padded else None
    lines = steps(False, model, B, 2, padding, monkeypatch)
    ours = steps(True, model, B, 2, padding, monkeypatch)
    torch.testing.assert_close(ours, lines, atol=CLOSE[dtype], rtol=CLOSE[dtype])


@pytest.mark.parametrize("padded", [False, True])
def test_the_plain_lines_compute_what_the_model_does(make_model, monkeypatch, padded):
    config = GPT2Config(vocab_size=97, block_size=110, n_layer=2, n_head=3, n_embd=24)
    model, padding = make_model(config), torch.tensor([2, 0]) if padded else None
    monkeypatch.setattr(kernels, "fused", lambda x: False)
    idx = torch.randint(97, (2, 30))
    fixed, exact, whole = (KVCache(config, 2, padding=padding) for _ in range(3))
    with torch.no_grad():
        expected, _ = model(idx, cache=whole)
        for cache, S in ((fixed, 64), (exact, None)):
            for i in range(30):
                with cache.step(model, idx[:, [i]]) as (position, _):
                    logits = kernels.decode_logits(model, cache, idx[:, i], position, S)
                seen = slice(None) if padding is None else padding <= i
                torch.testing.assert_close(logits[seen], expected[seen, i], atol=1e-5, rtol=1e-5)
