"""Is this fast?"""

from gpt2_edu import GPT2Config, flops

from ...exercise import Mistake

ORDER = 40
KIND = "explore"
LEVEL = 2
RANK = "core"
MINUTES = 8

TASK = r"""
Someone trains `gpt2` in bfloat16 with T = 1024 on one `A100-SXM4-80GB`, at 150,000 tokens per second. What is the utilisation? Give it as a share between 0 and 1, to three decimals, counted as in the chapter, with half of attention's table.

You need `flops.flops_per_token(config, T)`, `device_peak(name, precision)` from the makers' data sheets and, if you like, `flops.utilisation(...)`.
"""

HINTS = (
    "Three numbers: FLOPs per token, tokens per second, and FLOPs per second that the device does at most.",
    'The ceiling must be that of bfloat16 on an A100: `device_peak("A100-SXM4-80GB", "bfloat16")`.',
    "FLOPs per token, times tokens per second, divided by the ceiling.",
)

START = """
from gpt2_edu import GPT2Config, flops
from gpt2_edu.machine.data_sheets import device_peak

config = GPT2Config.preset("gpt2")
used_share = ...
"""

SOLUTION = """
from gpt2_edu import GPT2Config, flops
from gpt2_edu.machine.data_sheets import device_peak

config = GPT2Config.preset("gpt2")
each = flops.flops_per_token(config, 1024)
ceiling = device_peak("A100-SXM4-80GB", "bfloat16")
used_share = each * 150_000 / ceiling
"""

TOLERANCE = 2e-3

right = flops.utilisation(GPT2Config.preset("gpt2"), 1024, 150_000, 312e12)

MISTAKES = (
    Mistake(
        "That is the share of an H100's ceiling. The ceiling must be that of the device that ran.",
        ("A100-SXM4-80GB", "H100 80GB HBM3"),
    ),
    Mistake(
        "That is the share of the TF32 ceiling. The products ran in bfloat16, for which the ceiling is twice as high.",
        ('"bfloat16"', '"tf32"'),
    ),
    Mistake(
        "That counts the forward pass only. Training costs three times as many FLOPs.",
        ("each * 150_000", "each / 3 * 150_000"),
    ),
    Mistake(
        "That is 6 FLOPs per parameter. The short rule leaves out attention, and here it is 6 percent low.",
        ("each * 150_000", "6 * flops.num_parameters(config) * 150_000"),
    ),
    Mistake(
        "That counts attention's whole table, as some do. Under the causal mask half of it is useful work.",
        (
            "flops.flops_per_token(config, 1024)",
            "flops.flops_per_token(config, 1024) + 6 * 12 * 768 * 1024",
        ),
    ),
    Mistake(
        "Right, but in percent. Give it as a share between 0 and 1.",
        ("each * 150_000 / ceiling", "100 * each * 150_000 / ceiling"),
    ),
    Mistake(
        "Two decimals are too few here. Give three.",
        code="used_share = 0.38",
    ),
    Mistake(
        "That is the share of the float32 ceiling, and above 1, which cannot be. The products ran in bfloat16, on units that float32 does not use.",
        ('"bfloat16"', '"float32"'),
    ),
    Mistake(
        "This is upside down. The share is what is used, divided by what is possible.",
        ("each * 150_000 / ceiling", "ceiling / (each * 150_000)"),
    ),
)
