"""The shape in the file."""

from ...exercise import Mistake

ORDER = 10
KIND = "recall"
LEVEL = 1
RANK = "extra"
MINUTES = 3

TASK = r"""
GPT-2 medium is C = 1024 wide. What shape does `h.0.mlp.c_fc.weight` have in OpenAI's file as published by Hugging Face? Answer without opening it. Give a pair of numbers, such as (2, 3).
"""

HINTS = (
    "`c_fc` is the first of the MLP's two layers: from C to F = 4C.",
    "The file stores a layer as `Conv1D`. Which axis comes first there, in or out?",
)

START = "stored_shape = ..."

SOLUTION = "stored_shape = (1024, 4096)  # Conv1D: (in, out), from C to 4C"

right = (1024, 4096)

MISTAKES = (
    Mistake(
        "That is the shape in our model, because `nn.Linear` stores (out, in). The file has `Conv1D`, which stores (in, out).",
        code="stored_shape = (4096, 1024)",
    ),
    Mistake(
        "That is `attn.c_attn`, which outputs q, k and v, 3C numbers. `c_fc` outputs 4C.",
        code="stored_shape = (1024, 3072)",
    ),
    Mistake(
        "That is the smallest GPT-2, with C = 768. The medium one has C = 1024.",
        code="stored_shape = (768, 3072)",
    ),
    Mistake(
        "That is a layer from C to C, such as `attn.c_proj`. `c_fc` widens to 4C.",
        code="stored_shape = (1024, 1024)",
    ),
    Mistake(
        "That is the shape of the bias, one number for each output. The weight has an axis for the inputs as well.",
        code="stored_shape = (4096,)",
    ),
    Mistake(
        "That is the smallest GPT-2's, as `nn.Linear` stores it. The medium one has C = 1024, and the file has (in, out).",
        code="stored_shape = (3072, 768)",
    ),
)
