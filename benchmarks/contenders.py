"""What is compared: the same GPT-2, ours, and by ``transformers`` and CTranslate2 if installed."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gpt2_edu import GPT2, GPT2Config, generate

from .common import installed

# No dropout, as large models are trained today, and so that both do the same arithmetic.
NO_DROPOUT = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
SMALLEST = GPT2Config(vocab_size=50257, **NO_DROPOUT)  # the 124 million of "gpt2"
TINY = GPT2Config(vocab_size=97, block_size=64, n_layer=2, n_head=2, n_embd=16, **NO_DROPOUT)


def size(quick: bool) -> GPT2Config:
    return TINY if quick else SMALLEST


def ours(config: GPT2Config, device: torch.device, dtype: torch.dtype = torch.float32) -> GPT2:
    """Our model with random weights, in eval mode."""
    torch.manual_seed(0)
    return GPT2(config).to(device, dtype).eval()


def has_transformers() -> bool:
    return installed("transformers") is not None


def theirs(
    config: GPT2Config, device: torch.device, dtype: torch.dtype = torch.float32
) -> nn.Module:
    """The same model by ``transformers``, with its default, fused attention, in eval mode.

    ``generate`` there stops at an end-of-text id. It has none here, so that it need not be kept
    from stopping early.
    """
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=config.vocab_size,
            n_positions=config.block_size,
            n_layer=config.n_layer,
            n_head=config.n_head,
            n_embd=config.n_embd,
            **NO_DROPOUT,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="sdpa",
        )
    )
    return model.to(device, dtype).eval()


def our_generation(model: GPT2, idx: Tensor, new: int, **settings: Any) -> Callable[[], Tensor]:
    """Greedy and with the cache; ``settings`` go to ``generate``."""
    return lambda: generate(model, idx, new, temperature=0, **settings)


def their_generation(
    model: nn.Module, idx: Tensor, new: int, **settings: Any
) -> Callable[[], Tensor]:
    """The same by ``transformers``; ``settings`` go to its ``generate``."""
    return lambda: model.generate(
        idx,
        attention_mask=torch.ones_like(idx),
        do_sample=False,
        min_new_tokens=new,
        max_new_tokens=new,
        use_cache=True,
        pad_token_id=0,
        **settings,
    )


def has_ctranslate2() -> bool:
    return has_transformers() and installed("ctranslate2") is not None


def ctranslate2_generations(
    model: GPT2, idx: Tensor, new: int, kinds: tuple[str, ...]
) -> dict[str, Callable[[], list[str]]]:
    """Our weights by CTranslate2, greedy, in its types; raises ValueError if its text is another.

    It is converted from a folder by its own TransformersConverter, which wants words for the ids.
    """
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    words = [f"t{i}" for i in range(model.config.vocab_size - 1)] + ["<|endoftext|>"]
    prompt = [words[i] for i in idx[0].tolist()]
    runs: dict[str, Callable[[], list[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        vocabulary = {word: i for i, word in enumerate(words)}
        (Path(folder) / "vocab.json").write_text(json.dumps(vocabulary))
        (Path(folder) / "merges.txt").write_text("#version: 0.2\n")
        logging.getLogger("transformers").setLevel(logging.ERROR)
        converted = TransformersConverter(folder).convert(f"{folder}/converted")
        for kind in kinds:
            made = ctranslate2.Generator(
                converted, compute_type=kind, intra_threads=torch.get_num_threads()
            )

            def run(made: Any = made) -> list[str]:
                found = made.generate_batch(
                    [prompt],
                    max_length=new,
                    min_length=new,
                    sampling_topk=1,
                    end_token=[],
                    include_prompt_in_result=False,
                )
                return found[0].sequences[0]

            runs[f"CTranslate2, {kind}"] = run
    ours = [words[i] for i in our_generation(model, idx, 4)()[0, -4:].tolist()]
    if (theirs := runs[f"CTranslate2, {kinds[0]}"]()[:4]) != ours:
        raise ValueError(f"CTranslate2 writes {theirs}, and we {ours}")
    return runs


def compiled(model: Any, quick: bool) -> Any:
    """``torch.compile``; for a quick look its first half only, which needs no C++ compiler."""
    return torch.compile(model, dynamic=False, backend="aot_eager" if quick else "inductor")


def our_loss(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    def loss(idx: Tensor, targets: Tensor) -> Tensor:
        return model(idx, targets)[1]

    return loss


def their_loss(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """``transformers`` shifts the labels itself, so it gets the ids as labels and T - 1 count."""

    def loss(idx: Tensor, targets: Tensor) -> Tensor:
        return model(input_ids=idx, labels=idx, use_cache=False).loss

    return loss


def training_step(
    model: nn.Module,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    idx: Tensor,
    precision: torch.dtype = torch.float32,
    *,
    fused: bool = True,
) -> Callable[[], None]:
    """A plain step around a model: forward, backward, clip, AdamW. idx is (B, T + 1)."""
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=fused)
    device = idx.device.type

    def step() -> None:
        with torch.autocast(device, precision, enabled=precision != torch.float32):
            loss = loss_of(idx[:, :-1], idx[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step
