"""What a GPT-2 costs, worked out on paper: FLOPs, bytes and seconds for any size.

Nothing here runs a model. The letters are those of model.py: B batch, T tokens, C = n_embd,
H heads, V vocabulary, N = n_layer. A FLOP is one addition or one multiplication, so a matrix
product (m, k) × (k, n) costs 2·m·k·n. Memory is in bytes, time in seconds, rates in FLOP/s and
bytes/s, all without prefixes: 1e12, not "tera". Tests compare the formulas with torch's counts.

Sources: Kaplan et al. 2020, "Scaling Laws for Neural Language Models", section 2.1, and
Chowdhery et al. 2022, "PaLM", appendix B, for FLOPs and utilisation.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch

from .config import LlamaConfig, ModelConfig, check_positive
from .machine.data_sheets import bytes_per_number
from .model import fused_is_faster


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        check_positive(name, value)


# ---- Parameters --------------------------------------------------------------------------------


def parameters_by_part(config: ModelConfig) -> dict[str, int]:
    """Number of parameters of each part: wte, wpe, attn, mlp and the norms, and a head of its own.

    Where lm_head's weight is wte itself, as in GPT-2, it does not count a second time.
    """
    N, C = config.n_layer, config.n_embd
    if isinstance(config, LlamaConfig):
        H, K, D = config.n_head, config.n_kv_head, config.head_size
        biases, norms = (H + 2 * K) * D * config.qkv_bias, 2 * D * config.qk_norm
        return {
            "wte": config.vocab_size * C,
            "attn": N * ((2 * H + 2 * K) * D * C + biases + norms),
            "mlp": N * 3 * C * config.n_inner,
            "ln": (2 * N + 1) * C,
            "lm_head": 0 if config.tie_word_embeddings else config.vocab_size * C,
        }
    return {
        "wte": config.vocab_size * C,
        "wpe": config.block_size * C,
        "attn": N * (4 * C * C + 4 * C),
        "mlp": N * (8 * C * C + 5 * C),
        "ln": (2 * N + 1) * 2 * C,
    }


def num_parameters(config: ModelConfig) -> int:
    """Number of parameters, as ``model.num_parameters()`` counts them."""
    return sum(parameters_by_part(config).values())


def _linear_parameters(config: ModelConfig) -> int:
    """Weights and biases of all maps, lm_head among them; tables and norms do not count."""
    N, C = config.n_layer, config.n_embd
    parts = parameters_by_part(config)
    norms = 2 * config.head_size * config.qk_norm if isinstance(config, LlamaConfig) else 0
    return parts["attn"] + parts["mlp"] - N * norms + config.vocab_size * C


# ---- FLOPs --------------------------------------------------------------------------------------


def forward_flops_by_part(config: ModelConfig, T: int) -> dict[str, int]:
    """FLOPs per token of one forward pass over T tokens, by part; the mean over the T positions.

    Each weight of a matrix multiplies and adds once: 2 FLOPs. "attention" is q·k and weights·v,
    4·H·D (in GPT-2 4·C) for each key that a token looks at. Under the causal mask it looks at T/2
    on average, so the table's other half is not counted. A kernel that computes it anyway does
    more work, but no more that is useful.

    What is not a matrix product is left out: biases, LayerNorm, softmax, GELU, dropout, sums, the
    loss, the optimiser. That is about 70·C + 3·H·T FLOPs a token and block, for "gpt2" at
    T = 1024 less than half a percent of what is counted. In time it is far more than that, since
    such steps wait for memory.
    """
    _require_positive(T=T)
    N, C, V = config.n_layer, config.n_embd, config.vocab_size
    if isinstance(config, LlamaConfig):
        D, width = config.head_size, config.n_head * config.head_size
        return {
            "attn.q_proj": 2 * N * width * C,
            "attn.k_proj": 2 * N * config.n_kv_head * D * C,
            "attn.v_proj": 2 * N * config.n_kv_head * D * C,
            "attention": 2 * N * width * T,
            "attn.o_proj": 2 * N * width * C,
            "mlp": 2 * N * 3 * C * config.n_inner,
            "lm_head": 2 * V * C,
        }
    return {
        "attn.c_attn": 2 * N * 3 * C * C,
        "attention": 2 * N * C * T,
        "attn.c_proj": 2 * N * C * C,
        "mlp": 2 * N * 8 * C * C,
        "lm_head": 2 * V * C,
    }


def flops_per_token(config: ModelConfig, T: int, *, training: bool = True) -> int:
    """FLOPs per token at a context of T, as ``formula`` says, to train; a third of it forward.

    The backward pass costs twice the forward pass: each product is differentiated by both of
    its factors. See ``forward_flops_by_part`` for what is counted.
    """
    return (3 if training else 1) * sum(forward_flops_by_part(config, T).values())


def formula(config: ModelConfig) -> str:
    """``flops_per_token`` to train, in letters; K heads of keys, F the width of a Llama's MLP."""
    if isinstance(config, LlamaConfig):
        return "6·(2·N·(H + K)·D·C + 3·N·C·F + V·C) + 6·N·H·D·T"
    return "6·(12·N·C² + V·C) + 6·N·C·T"


def utilisation(
    config: ModelConfig,
    T: int,
    tokens_per_second: float,
    peak_flops_per_second: float,
    *,
    training: bool = True,
) -> float:
    """The share of a device's peak that useful work takes up; "model FLOPs utilisation".

    With several devices, give the rate and the peak of all together. Source: Chowdhery et al.
    2022, appendix B. There the whole attention table is counted, here half of it.
    """
    _require_positive(peak_flops_per_second=peak_flops_per_second)
    return flops_per_token(config, T, training=training) * tokens_per_second / peak_flops_per_second


# ---- Memory for training ------------------------------------------------------------------------


@dataclass(frozen=True)
class Bytes:
    """Bytes by part."""

    weights: int

    @property
    def total(self) -> int:
        return sum(asdict(self).values())


@dataclass(frozen=True)
class TrainingMemory(Bytes):
    """Bytes that one training step needs at its peak, by part. See ``memory``."""

    gradients: int
    optimiser: int  # AdamW's two averages
    autocast_copies: int  # of the weights, in the precision of the products
    activations: int  # what the forward pass keeps for the backward pass
    logits: int  # and what the loss makes of them


def memory(
    config: ModelConfig,
    batch: int,
    T: int,
    precision: str = "float32",
    *,
    device_type: str = "cuda",
) -> TrainingMemory:
    """Bytes to train on one device with AdamW, B = batch sequences of T tokens at a time.

    ``precision`` is that of the matrix products: "float32", "tf32", or under autocast "bfloat16"
    or "float16". Weights, gradients and optimiser stay in float32. The peak is the start of the
    backward pass, with gradients of an earlier micro-batch already there; without them it is
    lower by up to their size. (Where B·T is smaller than C, the end of the backward pass can be
    higher.) ``torch.compile`` keeps the same activations, but never writes the log-softmax, so of
    ``logits`` only a quarter (bfloat16: two sevenths) remains. Not counted: what the allocator
    keeps in reserve, the CUDA context (about half a gigabyte), workspaces of kernels.
    """
    _require_positive(batch=batch, T=T)
    P, V = num_parameters(config), config.vocab_size
    tokens, width = batch * T, bytes_per_number(precision)
    # Autocast copies the weights and biases of each Linear once, and keeps them to the end.
    copied = _linear_parameters(config) if width < 4 else 0
    # The logits; in float32: their log-softmax, its gradient, and the gradient of the logits.
    logits = V * (width + 3 * 4)
    return TrainingMemory(
        weights=4 * P,
        gradients=4 * P,
        optimiser=8 * P,
        autocast_copies=width * copied,
        activations=tokens * _activation_bytes_per_token(config, T, width, device_type),
        logits=tokens * logits,
    )


def _activation_bytes_per_token(config: ModelConfig, T: int, width: int, device_type: str) -> int:
    """What eager autograd saves, in the order of the forward pass; ``width`` bytes a product.

    The residual stream and LayerNorm's statistics stay in float32 under autocast. The fused
    attention kernel needs no table. The CPU has none with dropout: there torch falls back to the
    explicit way, in float32, and dropout keeps what it multiplied by, where CUDA keeps a byte. In
    half precision our model goes the explicit way there itself, unless T is long.
    """
    C, H = config.n_embd, config.n_head
    on_cpu = device_type == "cpu"
    if isinstance(config, LlamaConfig):
        return _llama_activation_bytes_per_token(config, T, width, device_type)
    norm = 4 * C + 2 * 4  # a LayerNorm's input, mean and scale
    dropped = C * (width if on_cpu else 1) if config.resid_pdrop else 0
    product = torch.bfloat16 if width == 2 else torch.float32
    if not fused_is_faster(device_type, product, True, T):  # explicit: q, k, v; softmax, dropout
        attention = width * (3 * C + (3 if config.attn_pdrop else 1) * H * T)
    elif on_cpu and config.attn_pdrop:  # q, k, v; softmax, what it is multiplied by, their product
        attention = 3 * 4 * C + 3 * 4 * H * T
    else:  # q, k, v, and the logarithm of each softmax's sum
        attention = 3 * width * C + 4 * H
    # Into c_attn, c_proj and c_fc go C numbers each, into GELU and from it into c_proj 4·C.
    block = 2 * (norm + dropped) + attention + width * (3 * C + 2 * 4 * C)
    embedding = C * (4 if on_cpu else 1) if config.embd_pdrop else 0
    return embedding + config.n_layer * block + norm + width * C  # ln_f, and into lm_head


def _llama_activation_bytes_per_token(
    config: LlamaConfig, T: int, width: int, device_type: str
) -> int:
    """The same of a Llama, whose keys and values are repeated for each query head before use.

    Under autocast each map that reads a norm's output casts a copy for itself.
    """
    C, H, D, F = config.n_embd, config.n_head, config.head_size, config.n_inner
    product = torch.bfloat16 if width == 2 else torch.float32
    kept = 8 if device_type == "cpu" else 4  # of a norm: its input, and on a CPU its quotient

    def norm(columns: int) -> int:
        return kept * columns + 4  # and the scale

    attention = 3 * width * H * D  # q, and k and v repeated; then the softmax, or its sums and out
    fused = fused_is_faster(device_type, product, True, T)
    attention += 4 * H + width * H * D if fused else width * H * T
    if config.qk_norm:
        attention += (H + config.n_kv_head) * norm(D)
    copies = 3 + 2 if width < 4 else 2  # for q_proj, k_proj, v_proj; gate_proj, up_proj
    maps = width * (copies * C + H * D + 4 * F)  # and into o_proj, silu, the product, down_proj
    return config.n_layer * (2 * norm(C) + attention + maps) + norm(C) + width * C


def largest_batch(
    config: ModelConfig,
    T: int,
    bytes_available: int,
    precision: str = "float32",
    *,
    device_type: str = "cuda",
) -> int:
    """The most sequences of T tokens whose training step fits into so many bytes; 0 if not one."""
    one = memory(config, 1, T, precision, device_type=device_type)
    each = one.activations + one.logits  # all else does not depend on the batch
    return max(0, (bytes_available - (one.total - each)) // each)


# ---- Generation: memory, and the rate that memory allows ----------------------------------------


@dataclass(frozen=True)
class GenerationMemory(Bytes):
    """Bytes that generation with a cache needs, by part."""

    cache: int


def cache_bytes_per_token(config: ModelConfig, precision: str = "float32") -> int:
    """A key and a value of K heads in every layer, 2·N·K·D numbers for each token of each text.

    In GPT-2 that is 2·N·C.
    """
    numbers = config.n_kv_head * config.head_size
    return 2 * config.n_layer * numbers * bytes_per_number(precision)


def generation_memory(
    config: ModelConfig, batch: int, length: int, precision: str = "float32"
) -> GenerationMemory:
    """Bytes to generate ``batch`` texts with a cache of ``length`` tokens each.

    Weights and cache are both stored in ``precision``.
    """
    _require_positive(batch=batch, length=length)
    return GenerationMemory(
        weights=num_parameters(config) * bytes_per_number(precision),
        cache=batch * length * cache_bytes_per_token(config, precision),
    )


def bytes_read_per_step(
    config: ModelConfig, batch: int, length: int, precision: str = "float32"
) -> int:
    """Bytes that must be read to give each of ``batch`` texts its next token.

    Every weight once, however many texts share it, and every text's cache of ``length`` tokens.
    Of wpe one row is read, which does not count; wte is read whole, as lm_head, unless that has a
    table of its own.
    """
    parts = parameters_by_part(config)
    looked_up = parts.get("wpe", 0) + (parts["wte"] if parts.get("lm_head") else 0)
    held = generation_memory(config, batch, length, precision)
    return held.total - looked_up * bytes_per_number(precision)


def decode_tokens_per_second_bound(
    config: ModelConfig,
    batch: int,
    length: int,
    memory_bytes_per_second: float,
    precision: str = "float32",
) -> float:
    """The most tokens per second, of all texts together, that the memory's bandwidth allows."""
    _require_positive(memory_bytes_per_second=memory_bytes_per_second)
    steps = memory_bytes_per_second / bytes_read_per_step(config, batch, length, precision)
    return batch * steps


# ---- Many devices: what they send, and how long training takes ----------------------------------


def ddp_bytes_per_step(config: ModelConfig, devices: int, bytes_per_gradient: int = 4) -> float:
    """Bytes that each of n devices sends in a step of data-parallel training (DDP).

    A ring all-reduce sends 2·(n-1)/n times the gradients: once around to sum them, once around
    to hand out the sums (Patarasuk and Yuan 2009).
    """
    _require_positive(devices=devices, bytes_per_gradient=bytes_per_gradient)
    return 2 * (devices - 1) / devices * num_parameters(config) * bytes_per_gradient


def fsdp_bytes_per_step(
    config: ModelConfig, devices: int, bytes_per_weight: int = 4, bytes_per_gradient: int = 4
) -> float:
    """Bytes that each of n devices sends at most in a step of sharded training (FSDP2, ZeRO 3).

    Weights are gathered for the forward pass and again for the backward pass, gradients are
    summed and scattered: (n-1)/n of them each time (Rajbhandari et al. 2020, section 7). What
    is outside the blocks stays gathered between the two passes, so it is a little less.
    """
    _require_positive(devices=devices, bytes_per_weight=bytes_per_weight)
    _require_positive(bytes_per_gradient=bytes_per_gradient)
    numbers = (devices - 1) / devices * num_parameters(config)
    return numbers * (2 * bytes_per_weight + bytes_per_gradient)


@dataclass(frozen=True)
class TimeEstimate:
    """How long training takes."""

    steps: int
    compute_seconds: float
    communication_seconds: float

    @property
    def shortest_seconds(self) -> float:
        """If all communication is hidden behind computation, or the other way round."""
        return max(self.compute_seconds, self.communication_seconds)


def training_time(
    config: ModelConfig,
    T: int,
    *,
    tokens: float,
    tokens_per_step: int,
    peak_flops_per_second: float,
    utilisation: float,
    devices: int = 1,
    bytes_sent_per_step: float = 0.0,
    network_bytes_per_second: float | None = None,
) -> TimeEstimate:
    """Estimate the time to train on ``tokens`` tokens in sequences of T.

    ``tokens_per_step`` counts the whole batch, of all devices and micro-batches.
    ``peak_flops_per_second`` is that of one device, and ``utilisation``, in (0, 1], the share of
    it that one hopes for: 0.3 to 0.5 is common. With several devices, ``bytes_sent_per_step``
    comes from ``ddp_bytes_per_step`` or ``fsdp_bytes_per_step``, and ``network_bytes_per_second``
    is what one device can send. Evaluation, checkpoints and compilation are not counted.
    """
    _require_positive(tokens=tokens, tokens_per_step=tokens_per_step, devices=devices)
    _require_positive(peak_flops_per_second=peak_flops_per_second, utilisation=utilisation)
    if utilisation > 1:
        raise ValueError(f"utilisation is a share of the peak, in (0, 1], got {utilisation}")
    if bytes_sent_per_step and network_bytes_per_second is None:
        raise ValueError(
            f"{bytes_sent_per_step:,.0f} bytes are sent per step: give network_bytes_per_second too"
        )
    steps = math.ceil(tokens / tokens_per_step)
    flops = flops_per_token(config, T) * tokens_per_step * steps
    sent = 0.0
    if network_bytes_per_second is not None:
        _require_positive(network_bytes_per_second=network_bytes_per_second)
        sent = steps * bytes_sent_per_step / network_bytes_per_second
    return TimeEstimate(
        steps=steps,
        compute_seconds=flops / (devices * peak_flops_per_second * utilisation),
        communication_seconds=sent,
    )
