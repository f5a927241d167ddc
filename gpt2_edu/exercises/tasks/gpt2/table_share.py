"""What share has the table?"""

from ...exercise import Mistake

ORDER = 30
KIND = "explore"
LEVEL = 1
RANK = "good"
MINUTES = 8
TOLERANCE = 5e-3

TASK = r"""
In the smallest GPT-2 the tied table `wte` holds nearly a third of all parameters. What is its share in each of the four sizes? Build each on the device "meta", where even the largest needs no memory, and give the four shares as a list, in the order of the cell, each between 0 and 1 (two decimals are enough, or let the list compute them).
"""

HINTS = (
    'A model without memory: `with torch.device("meta"): model = GPT2(GPT2Config.preset(name))`.',
    "The table is `model.lm_head.weight`; `.numel()` says how many parameters it has. `model.num_parameters()` counts all of them, the tied table once.",
)

START = """
from gpt2_edu import GPT2, GPT2Config

sizes = ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]

table_share = ...
"""

SOLUTION = """
from gpt2_edu import GPT2, GPT2Config

sizes = ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]

table_share = []
for name in sizes:
    with torch.device("meta"):  # shapes without memory
        model = GPT2(GPT2Config.preset(name))
    table = model.lm_head.weight.numel()
    table_share.append(table / model.num_parameters())
# 0.31, 0.15, 0.08, 0.05: tying matters most in small models
"""

right = [
    50257 * 768 / 124_439_808,
    50257 * 1024 / 354_823_168,
    50257 * 1280 / 774_030_080,
    50257 * 1600 / 1_557_611_200,
]

MISTAKES = (
    Mistake(
        "Here the tied table is counted twice in the total, as in a sum over `state_dict()`. It is one tensor under two names.",
        code="table_share = [0.2367, 0.1267, 0.0767, 0.0491]",
    ),
    Mistake(
        "That is the table divided by the parameters of the blocks. The whole is all parameters, including the tables.",
        code="table_share = [0.4538, 0.1702, 0.0908, 0.0545]",
    ),
    Mistake(
        "These are percentages. Give each share as a part of 1.",
        code="table_share = [31.02, 14.50, 8.31, 5.16]",
    ),
    Mistake(
        "The same share for all? The table grows with C, but the blocks with N·C².",
        code="table_share = [0.31, 0.31, 0.31, 0.31]",
    ),
    Mistake(
        "That is the share of the rest. The table's share is 1 minus that.",
        code="table_share = [0.69, 0.85, 0.92, 0.95]",
    ),
    Mistake(
        "These are both tables together, `wte` and `wpe`. The question is about `wte` alone, which is tied to the head.",
        code="table_share = [0.3165, 0.1480, 0.0848, 0.0527]",
    ),
    Mistake(
        "`wte` is counted twice, once as the head. It is one tensor under two names, and the total has it once.",
        code="table_share = [0.6203, 0.2901, 0.1662, 0.1032]",
    ),
    Mistake(
        "Here the total is divided by the table. A share is the table divided by the total.",
        code="table_share = [3.2240, 6.8947, 12.0326, 19.3708]",
    ),
    Mistake(
        "These are the right numbers in the wrong order. Begin with the smallest model, as in the list `sizes`.",
        code="table_share = [0.0516, 0.0831, 0.14504, 0.3102]",
    ),
    Mistake(
        "Only the last model's share is left. Make the list before the loop, and `append` to it in the loop.",
        code="table_share = [0.0516]",
    ),
)
