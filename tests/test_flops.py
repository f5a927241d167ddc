"""The arithmetic of flops.py, held against what torch counts: FLOPs, saved tensors, live bytes."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gpt2_edu import GPT2, GPT2Config, KVCache, LlamaConfig, flops
from gpt2_edu.config import PRESETS, ModelConfig
from gpt2_edu.models import new_model

SIZES = {
    "small": GPT2Config(vocab_size=101, block_size=37, n_layer=2, n_head=3, n_embd=21),
    "deep": GPT2Config(vocab_size=53, block_size=37, n_layer=7, n_head=2, n_embd=22),
    "wide": GPT2Config(vocab_size=211, block_size=37, n_layer=3, n_head=5, n_embd=85),
}
LLAMA = LlamaConfig(
    vocab_size=101, block_size=37, n_layer=2, n_head=6, n_kv_head=2, n_embd=42, n_inner=46,
    head_size=14, tie_word_embeddings=False,
)  # fmt: skip
LLAMAS = {
    "llama": LLAMA,
    "tied": replace(LLAMA, tie_word_embeddings=True),
    "qwen2": replace(LLAMA, qkv_bias=True, n_layer=3),
    "qwen3": replace(LLAMA, qk_norm=True, n_embd=85),
}
B, T = 7, 31
each_size = pytest.mark.parametrize("name", SIZES)
each_precision = pytest.mark.parametrize("precision", ["float32", "bfloat16"])
# Attention with dropout takes another road on the CPU, so each rate is switched by itself.
each_dropout = pytest.mark.parametrize("resid, attn", [(0.0, 0.0), (0.1, 0.1), (0.1, 0.0)])


def with_dropout(config: GPT2Config, resid: float, attn: float) -> GPT2Config:
    sizes = {k: v for k, v in asdict(config).items() if not k.endswith("pdrop")}
    return GPT2Config(**sizes, embd_pdrop=resid, resid_pdrop=resid, attn_pdrop=attn)


def some_ids(config: ModelConfig) -> Tensor:
    return torch.randint(config.vocab_size, (B, T))


# ---- Parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config", [*PRESETS.values(), *SIZES.values(), *LLAMAS.values(), LlamaConfig()], ids=str
)
def test_parameters_of_each_part_are_those_of_the_model(config):
    with torch.device("meta"):
        model = new_model(config)
    for part, number in flops.parameters_by_part(config).items():
        names = [f".{part}.", f".{part}_"]
        named = [p for n, p in model.named_parameters() if any(name in f".{n}" for name in names)]
        assert number == sum(p.numel() for p in named), part
    assert flops.num_parameters(config) == model.num_parameters()


def test_gpt2_has_124_million_parameters():
    assert flops.num_parameters(GPT2Config.preset("gpt2")) == 124_439_808


# ---- FLOPs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SIZES, *LLAMAS])
def test_flops_are_those_that_torch_counts(name):
    """Torch's counter knows matrix products. With the explicit kernel it sees the whole attention
    table, of which flops.py counts the half under the mask."""
    config = LLAMAS[name] if name in LLAMAS else with_dropout(SIZES[name], 0.0, 0.0)
    model, idx = new_model(config), some_ids(config)
    hidden_half = B * T * flops.forward_flops_by_part(config, T)["attention"]
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as forward:
        _, loss = model(idx, idx)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as backward:
        loss.backward()
    paper = B * T * flops.flops_per_token(config, T, training=False)
    assert forward.get_total_flops() == pytest.approx(paper + hidden_half, rel=1e-9)
    paper = B * T * flops.flops_per_token(config, T)
    both = forward.get_total_flops() + backward.get_total_flops()
    assert both == pytest.approx(paper + 3 * hidden_half, rel=1e-9)


def test_utilisation_is_work_done_over_work_possible():
    config = GPT2Config.preset("gpt2")
    full_speed = 312e12 / flops.flops_per_token(config, 1024)
    assert flops.utilisation(config, 1024, full_speed / 4, 312e12) == pytest.approx(0.25)
    forward = flops.utilisation(config, 1024, full_speed, 312e12, training=False)
    assert forward == pytest.approx(1 / 3)
    # 515,000 tokens a second on an H100's matrix units (989 TFLOP/s): about two fifths.
    assert flops.utilisation(config, 1024, 515e3, 989e12) == pytest.approx(0.415, abs=0.001)


# ---- Memory for training ----------------------------------------------------------------------


def measured_activations(config: ModelConfig, precision: str) -> int:
    """Bytes of what autograd saves in one forward pass, each storage once.

    The parameters, their copies for autocast and the log-softmax are accounted for elsewhere.
    """
    model, idx = new_model(config), some_ids(config)
    weights = {p.untyped_storage()._cdata for p in model.parameters()}
    copies = {tuple(p.shape) for p in model.parameters()}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        is_copy = {tuple(tensor.shape), tuple(tensor.T.shape)} & copies if tensor.ndim == 2 else ()
        is_log_softmax = tensor.shape == (B * T, config.vocab_size)
        if storage._cdata not in weights and not is_copy and not is_log_softmax:
            saved[storage._cdata] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            _, loss = model(idx, idx)
    assert loss.requires_grad
    return sum(saved.values())


@each_size
@each_precision
@each_dropout
def test_activations_are_what_autograd_saves(name, precision, resid, attn):
    config = with_dropout(SIZES[name], resid, attn)
    paper = flops.memory(config, B, T, precision, device_type="cpu")
    measured = measured_activations(config, precision)
    assert paper.activations == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize("name", LLAMAS)
@each_precision
def test_activations_of_a_llama_are_what_autograd_saves(name, precision):
    """Within 2 %: the cosines and sines of a batch are its own, and not counted for each token."""
    config = LLAMAS[name]
    paper = flops.memory(config, B, T, precision, device_type="cpu")
    measured = measured_activations(config, precision)
    assert paper.activations == pytest.approx(measured, rel=0.02)


def test_cuda_needs_no_attention_table_and_a_byte_for_each_dropped_number():
    config = with_dropout(SIZES["wide"], 0.1, 0.1)
    plain = flops.memory(with_dropout(config, 0.0, 0.0), B, T).activations
    masks = B * T * (1 + 2 * config.n_layer) * config.n_embd
    assert flops.memory(config, B, T).activations == plain + masks


def test_the_largest_batch_fits_and_one_more_does_not():
    config = SIZES["deep"]
    for bytes_available in (2 * 10**6, 10**7, 12_345_678):
        batch = flops.largest_batch(config, T, bytes_available, "bfloat16", device_type="cpu")
        assert batch >= 1
        fits = flops.memory(config, batch, T, "bfloat16", device_type="cpu").total
        more = flops.memory(config, batch + 1, T, "bfloat16", device_type="cpu").total
        assert fits <= bytes_available < more
    assert flops.largest_batch(config, T, 1000) == 0
    exactly = flops.memory(config, 3, T).total
    assert flops.largest_batch(config, T, exactly) == 3
    assert flops.largest_batch(config, T, exactly - 1) == 2


def test_a_known_model_needs_known_amounts():
    parts = flops.memory(GPT2Config.preset("gpt2"), 1, 1024, "bfloat16")
    assert parts.weights == parts.gradients == 4 * 124_439_808
    assert parts.optimiser == 2 * 4 * 124_439_808
    linear = 12 * (12 * 768 * 768 + 9 * 768) + 50257 * 768  # with their biases, and lm_head
    assert parts.autocast_copies == 2 * linear
    assert flops.memory(GPT2Config.preset("gpt2"), 1, 1024).autocast_copies == 0
    assert parts.logits == 1024 * 50257 * 14
    assert parts.total == sum(asdict(parts).values())


# ---- Generation -------------------------------------------------------------------------------


def test_memory_to_generate_is_that_of_the_model_and_its_cache():
    config = SIZES["deep"]
    held = flops.generation_memory(config, B, T, "bfloat16")
    assert held.cache == KVCache(config, B, T, dtype=torch.bfloat16).nbytes()
    assert held.weights == sum(p.nbytes for p in GPT2(config).bfloat16().parameters())
    assert held.total == held.weights + held.cache


@pytest.mark.parametrize("name", LLAMAS)
def test_memory_to_generate_with_a_llama_is_that_of_the_model_and_its_cache(name):
    config = LLAMAS[name]
    held, model = flops.generation_memory(config, B, T, "bfloat16"), new_model(config).bfloat16()
    assert held.cache == KVCache(config, B, T, dtype=torch.bfloat16).nbytes()
    assert held.weights == sum(p.nbytes for p in model.parameters())
    one_row_of = 0 if model.is_tied() else model.wte.weight.nbytes
    assert flops.bytes_read_per_step(config, B, T, "bfloat16") == held.total - one_row_of


def test_a_cache_of_llama_3_8b_is_a_quarter_of_one_with_a_key_head_for_each_query_head():
    llama = LlamaConfig(n_layer=32, n_head=32, n_kv_head=8, n_embd=4096, head_size=128)
    assert flops.cache_bytes_per_token(llama, "bfloat16") == 131_072
    assert flops.cache_bytes_per_token(replace(llama, n_kv_head=32), "bfloat16") == 524_288
    assert flops.cache_bytes_per_token(GPT2Config.preset("gpt2"), "bfloat16") == 36_864


def test_a_step_reads_the_weights_once_and_every_cache():
    config = GPT2Config.preset("gpt2")
    weights = 2 * (124_439_808 - 1024 * 768)
    cache = 256 * 2 * 12 * 768 * 2
    assert flops.bytes_read_per_step(config, 1, 256, "bfloat16") == weights + cache
    assert flops.bytes_read_per_step(config, 64, 256, "bfloat16") == weights + 64 * cache
    alone = flops.decode_tokens_per_second_bound(config, 1, 256, 4.8e12, "bfloat16")
    assert alone == pytest.approx(4.8e12 / (weights + cache))
    together = flops.decode_tokens_per_second_bound(config, 64, 256, 4.8e12, "bfloat16")
    assert together == pytest.approx(64 * 4.8e12 / (weights + 64 * cache))


# ---- Many devices, and time -------------------------------------------------------------------


def test_one_device_sends_nothing_and_sharding_sends_half_as_much_again():
    config = SIZES["small"]
    assert flops.ddp_bytes_per_step(config, 1) == flops.fsdp_bytes_per_step(config, 1) == 0
    ddp, fsdp = flops.ddp_bytes_per_step(config, 8), flops.fsdp_bytes_per_step(config, 8)
    assert ddp == pytest.approx(2 * 7 / 8 * 4 * flops.num_parameters(config))
    assert fsdp == pytest.approx(1.5 * ddp)
    halved = flops.fsdp_bytes_per_step(config, 8, bytes_per_weight=2)
    assert halved == pytest.approx(7 / 8 * flops.num_parameters(config) * (2 + 2 + 4))


def test_time_is_work_over_rate_and_traffic_over_bandwidth():
    config = GPT2Config.preset("gpt2")
    estimate = flops.training_time(
        config,
        1024,
        tokens=10e9,
        tokens_per_step=2**19,
        peak_flops_per_second=312e12,
        utilisation=0.4,
        devices=8,
        bytes_sent_per_step=flops.ddp_bytes_per_step(config, 8),
        network_bytes_per_second=300e9,
    )
    assert estimate.steps == 19074  # 19073.5 steps are 19074
    work = 797_815_296 * 19074 * 2**19
    assert estimate.compute_seconds == pytest.approx(work / (8 * 312e12 * 0.4))
    traffic = 19074 * 2 * 7 / 8 * 4 * 124_439_808
    assert estimate.communication_seconds == pytest.approx(traffic / 300e9)
    assert estimate.shortest_seconds == estimate.compute_seconds


# ---- What can be wrong ------------------------------------------------------------------------


def test_an_unknown_precision_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'bf16'. Known: float32, tf32, bfloat16, float16"):
        flops.memory(SIZES["small"], 1, 3, "bf16")


@pytest.mark.parametrize("value", [0, -3, float("inf"), float("nan")])
def test_sizes_and_rates_that_mean_nothing_are_refused_by_name(value):
    config = SIZES["small"]
    for name, call in {
        "batch": lambda: flops.memory(config, value, 3),
        "T": lambda: flops.flops_per_token(config, value),
        "devices": lambda: flops.ddp_bytes_per_step(config, value),
        "length": lambda: flops.bytes_read_per_step(config, 1, value),
        "peak_flops_per_second": lambda: flops.utilisation(config, 3, 1000.0, value),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} must be above 0 and finite, got {value}"):
            call()


def test_an_estimate_says_what_it_lacks():
    config = SIZES["small"]
    known = {"tokens": 1e6, "tokens_per_step": 1000, "peak_flops_per_second": 1e12}
    with pytest.raises(ValueError, match=r"share of the peak, in \(0, 1\], got 40"):
        flops.training_time(config, 31, **known, utilisation=40)
    with pytest.raises(ValueError, match="1,234 bytes are sent per step: give network_bytes"):
        flops.training_time(config, 31, **known, utilisation=0.4, bytes_sent_per_step=1234)
