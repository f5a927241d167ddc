"""Llama, Qwen2 and Qwen3 beside transformers: the largest relative differences, as a table.

python -m tests.llama_parity
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from gpt2_edu import generate
from gpt2_edu.config import LlamaConfig, RopeScaling
from gpt2_edu.llama import Llama
from gpt2_edu.llama_weights import to_hugging_face

# No two sizes agree, and H · D (84) is not C, so that a transposition cannot pass.
SIZES = LlamaConfig(
    vocab_size=101,
    block_size=41,
    n_layer=2,
    n_head=6,
    n_kv_head=2,
    n_embd=42,
    n_inner=46,
    head_size=14,
    rope_base=997.0,
    rms_norm_eps=1e-3,
    tie_word_embeddings=False,
)
SCALED = RopeScaling(factor=4.0, low_freq_factor=1.5, original_block_size=16)
KINDS = {
    "llama": {},
    "tied": {"tie_word_embeddings": True},
    "one head each": {"n_kv_head": 6},
    "one head for all": {"n_kv_head": 1},
    "scaled": {"rope_scaling": SCALED},
    "qwen2": {"qkv_bias": True},
    "qwen2, tied and scaled": {
        "qkv_bias": True,
        "tie_word_embeddings": True,
        "rope_scaling": SCALED,
    },
    "qwen3": {"qk_norm": True},
    "qwen3, tied": {"qk_norm": True, "tie_word_embeddings": True},
}
IDX = torch.randint(SIZES.vocab_size, (3, 29), generator=torch.Generator().manual_seed(1))


def made(**changes: object) -> Llama:
    """A model in eval mode whose every parameter is random."""
    model = Llama(dataclasses.replace(SIZES, **changes))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            std = 0.3 if parameter.ndim == 1 else 2 * parameter.size(-1) ** -0.5
            parameter.normal_(std=std, generator=generator)
            if parameter.ndim == 1:
                parameter += 1
    return model.eval()


def theirs(folder, dtype: torch.dtype = torch.float32) -> nn.Module:
    import transformers

    load = transformers.AutoModelForCausalLM.from_pretrained
    return load(folder, attn_implementation="eager", dtype=dtype).eval()


def relative(ours: Tensor, reference: Tensor) -> float:
    assert ours.shape == reference.shape
    return ((ours - reference).abs().max() / reference.abs().max()).item()


# ---- What is compared ----------------------------------------------------------------------------


def logits(model: Llama, reference: nn.Module) -> float:
    with torch.no_grad():
        return relative(model(IDX)[0], reference(IDX).logits)


def loss_and_gradients(model: Llama, reference: nn.Module) -> float:
    """The largest difference of the loss and of each parameter's gradient."""
    targets = torch.cat([IDX[:, 1:], torch.full_like(IDX[:, :1], -100)], dim=1)
    _, loss = model(IDX, targets)
    loss.backward()
    answer = reference(IDX, labels=IDX)  # which shifts the labels itself
    answer.loss.backward()
    ours = to_hugging_face({name: weight.grad for name, weight in model.named_parameters()})
    gradients = {name: weight.grad for name, weight in reference.named_parameters()}
    assert ours.keys() == gradients.keys()
    differences = [relative(ours[name], gradients[name]) for name in ours]
    return max(relative(loss, answer.loss), *differences)


@torch.no_grad()
def cached(model: Llama, reference: nn.Module) -> float:
    """Both with a cache: a prompt of several parts, then token by token."""
    cache, kept, differences = model.make_cache(len(IDX)), None, []
    for part in IDX.split([9, 4, *[1] * 16], dim=1):
        answer = reference(part, past_key_values=kept, use_cache=True)
        kept = answer.past_key_values
        differences.append(relative(model(part, cache=cache)[0], answer.logits))
    return max(differences)


@torch.no_grad()
def padded(model: Llama, reference: nn.Module) -> float:
    """Texts of three lengths, with padding on the left."""
    padding = torch.tensor([0, 4, 11])
    real = torch.arange(IDX.size(1)) >= padding.unsqueeze(1)
    positions = (torch.arange(IDX.size(1)) - padding.unsqueeze(1)).clamp(min=0)
    answer = reference(IDX, attention_mask=real.long(), position_ids=positions).logits
    return relative(model(IDX, padding=padding)[0][real], answer[real])


@torch.no_grad()
def generated(model: Llama, reference: nn.Module) -> float:
    """The share of 20 greedy tokens of each text that differ: each continues what it wrote."""
    prompt = IDX[:, :9]
    ours = generate(model, prompt, 20, temperature=0)
    answer = reference.generate(
        prompt, max_new_tokens=20, min_new_tokens=20, do_sample=False, pad_token_id=0
    )
    return (ours != answer).float().mean().item()


COMPARED: dict[str, Callable[[Llama, nn.Module], float]] = {
    "logits": logits,
    "loss and gradients": loss_and_gradients,
    "cached": cached,
    "padded": padded,
    "greedy tokens": generated,
}


def rows() -> Iterator[tuple[str, list[float]]]:
    for kind, changes in KINDS.items():
        model = made(**changes)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            reference = theirs(folder)
        yield kind, [compare(model, reference) for compare in COMPARED.values()]


def main() -> None:
    print(f"{'':24}" + "".join(f"{name:>20}" for name in COMPARED))
    for kind, differences in rows():
        print(f"{kind:24}" + "".join(f"{difference:20.1e}" for difference in differences))


if __name__ == "__main__":
    main()
