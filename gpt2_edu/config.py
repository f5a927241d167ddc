"""The numbers that define a GPT-2 or a Llama, and the sizes of published and small models."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .machine.messages import nearest, short_repr

MAX_SIZE = 2**24  # of any size: beyond it is a mistake or an attack, and tensors overflow
MAX_LAYERS = 1_000


def check_int(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise TypeError if value is not an int, or is a bool; ValueError if it is out of range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {short_repr(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least:,}, got {short_repr(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {short_repr(value)}")


def check_float(name: str, value: object) -> None:
    """Raise TypeError if value is not a number, or is a bool."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{name} must be a float, got {short_repr(value)}")


def check_positive(name: str, value: float) -> None:
    """Raise TypeError if value is not a number; ValueError if it is not above 0 and finite."""
    check_float(name, value)
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be above 0 and finite, got {short_repr(value)}")


@dataclass(frozen=True, kw_only=True)
class GPT2Config:
    """Sizes of a GPT-2. The defaults are the 124-million-parameter model.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", table 2,
    for the sizes. OpenAI published no dropout rates for GPT-2; 0.1 is that of the first GPT
    (Radford et al. 2018) and of Hugging Face's config.
    """

    vocab_size: int = 50257  # V: how many different tokens exist
    block_size: int = 1024  # the most tokens the model can see at once
    n_layer: int = 12  # N: blocks, one after the other
    n_head: int = 12  # H: attention heads in each block
    n_embd: int = 768  # C: width of every token's vector
    embd_pdrop: float = 0.1  # dropout after the embeddings are summed
    attn_pdrop: float = 0.1  # dropout on the attention weights
    resid_pdrop: float = 0.1  # dropout on what a block adds to the residual stream
    layer_norm_epsilon: float = 1e-5  # keeps LayerNorm from dividing by zero
    initializer_range: float = 0.02  # standard deviation of the weights before training

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd"):
            most = MAX_LAYERS if name == "n_layer" else MAX_SIZE
            check_int(name, getattr(self, name), 1, most)
        rates = ("embd_pdrop", "attn_pdrop", "resid_pdrop")
        for name in (*rates, "layer_norm_epsilon", "initializer_range"):
            value = getattr(self, name)
            if name not in rates:
                check_positive(name, value)
                continue
            check_float(name, value)
            if not 0.0 <= value < 1.0:
                raise ValueError(f"{name} is a probability in [0, 1), got {short_repr(value)}")
        if self.n_embd % self.n_head:
            raise ValueError(
                f"n_embd={self.n_embd} is not divisible by n_head={self.n_head}, so the heads "
                "cannot share the width evenly. Choose n_embd as a multiple of n_head."
            )

    @property
    def head_size(self) -> int:
        """D = C / H: the width of one head."""
        return self.n_embd // self.n_head

    @property
    def n_kv_head(self) -> int:
        """K: heads of keys and values; in GPT-2 every head has its own."""
        return self.n_head

    @classmethod
    def preset(cls, name: str) -> GPT2Config:
        """A published size, "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl", or ours, "crane"."""
        if name not in PRESETS:
            raise ValueError(f"unknown preset {short_repr(name)}. {nearest(name, PRESETS)}")
        return PRESETS[name]


PRESETS: dict[str, GPT2Config] = {
    "gpt2": GPT2Config(),
    "gpt2-medium": GPT2Config(n_layer=24, n_head=16, n_embd=1024),
    "gpt2-large": GPT2Config(n_layer=36, n_head=20, n_embd=1280),
    "gpt2-xl": GPT2Config(n_layer=48, n_head=25, n_embd=1600),
    # The model of Crane World. 0.02 suits OpenAI's widths, being about 0.6/√C; a narrow model that
    # begins so small takes far longer to learn where to look.
    "crane": GPT2Config(
        vocab_size=1024,
        block_size=128,
        n_layer=3,
        n_head=4,
        n_embd=128,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        resid_pdrop=0.0,
        initializer_range=0.1,
    ),
}


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """How Llama 3.1 slows its rotation down for a longer window (Grattafiori et al. 2024)."""

    factor: float = 8.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_block_size: int = 8192  # the window of the training before

    def __post_init__(self) -> None:
        check_int("original_block_size", self.original_block_size, 1, MAX_SIZE)
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            check_positive(name, getattr(self, name))
        if self.high_freq_factor <= self.low_freq_factor:
            raise ValueError(
                f"high_freq_factor={self.high_freq_factor} must be above "
                f"low_freq_factor={self.low_freq_factor}"
            )


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes of a Llama, or of its relatives Qwen2 and Qwen3. The defaults are SmolLM2-135M.

    Source: the config.json of ``HuggingFaceTB/SmolLM2-135M``, for the sizes.
    """

    vocab_size: int = 49152  # V
    block_size: int = 8192  # the most tokens that the model was trained to see at once
    n_layer: int = 30  # N
    n_head: int = 9  # H: heads that ask
    n_kv_head: int = 3  # K: heads of keys and values, each shared by H / K that ask
    n_embd: int = 576  # C
    n_inner: int = 1536  # F: width of the MLP
    head_size: int = 64  # D; H · D need not be C
    rope_base: float = 100_000.0  # pair i of D/2 turns by base^(-2i/D) radians per token
    rope_scaling: RopeScaling | None = None
    rms_norm_eps: float = 1e-5
    tie_word_embeddings: bool = True  # whether the head is the table of token embeddings
    qkv_bias: bool = False  # Qwen2
    qk_norm: bool = False  # Qwen3
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "block_size", "n_layer", "n_head", "n_kv_head", "n_embd")
        for name in (*sizes, "n_inner", "head_size"):
            check_int(name, getattr(self, name), 1, MAX_LAYERS if name == "n_layer" else MAX_SIZE)
        for name in ("rope_base", "rms_norm_eps", "initializer_range"):
            check_positive(name, getattr(self, name))
        for name in ("tie_word_embeddings", "qkv_bias", "qk_norm"):
            if not isinstance(getattr(self, name), bool):
                given = short_repr(getattr(self, name))
                raise TypeError(f"{name} must be True or False, got {given}")
        scaling: object = self.rope_scaling
        if not isinstance(scaling, RopeScaling | None):
            raise TypeError(
                f"rope_scaling must be a RopeScaling or None, got {short_repr(scaling)}"
            )
        if self.n_head % self.n_kv_head:
            raise ValueError(
                f"n_head={self.n_head} is not divisible by n_kv_head={self.n_kv_head}, so the "
                "query heads cannot share the key heads evenly"
            )
        if self.head_size % 2:
            raise ValueError(f"head_size={self.head_size} is odd: rotation turns pairs of columns")

    @classmethod
    def like(cls, sizes: GPT2Config, n_kv_head: int | None = None) -> LlamaConfig:
        """A Llama of a GPT-2's sizes; without n_kv_head, every head has its own keys.

        Its MLP is 8/3 · C wide, rounded up to a multiple of 8, so that three matrices have about
        as many weights as GPT-2's two.
        """
        return cls(
            vocab_size=sizes.vocab_size,
            block_size=sizes.block_size,
            n_layer=sizes.n_layer,
            n_head=sizes.n_head,
            n_kv_head=n_kv_head or sizes.n_head,
            n_embd=sizes.n_embd,
            n_inner=8 * math.ceil(sizes.n_embd / 3),
            head_size=sizes.head_size,
            rope_base=10_000.0,
            initializer_range=sizes.initializer_range,
        )


ModelConfig = GPT2Config | LlamaConfig
