"""Which block minds most?"""

from ...exercise import Mistake

ORDER = 90
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
Round the matrices of **one** block of the Crane World model to 2 bits, a scale for each row, and leave the rest as it is. Do this for each of the three blocks, and measure the loss on the stories below. Which block raises it most? Give its number, counted from 0.
"""

HINTS = (
    "`copy.deepcopy(model)` gives a model that you may change. Its blocks are `transformer.h[0]` and so on.",
    "Within `torch.no_grad()`, for each parameter of the block with two axes: `p.copy_(round_to(p, 2))`.",
    "`model(ids[:, :-1], ids[:, 1:])[1]` is the loss on one story. Add them up.",
)

START = """
import copy

import torch

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.quantize import round_to

model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
stories = [
    torch.tensor([[encoding.eot_token, *encoding.encode(crane.story(seed))]])
    for seed in range(1_000_000, 1_000_010)
]
most_sensitive = ...
"""

SOLUTION = """
import copy

import torch

from gpt2_edu import GPT2, crane, load_tokenizer
from gpt2_edu.quantize import round_to

model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
stories = [
    torch.tensor([[encoding.eot_token, *encoding.encode(crane.story(seed))]])
    for seed in range(1_000_000, 1_000_010)
]
losses = []
with torch.no_grad():
    for block in range(3):
        rounded = copy.deepcopy(model)
        for p in rounded.transformer.h[block].parameters():
            if p.ndim == 2:
                p.copy_(round_to(p, 2))
        losses.append(sum(rounded(ids[:, :-1], ids[:, 1:])[1] for ids in stories))
most_sensitive = losses.index(max(losses))
"""

right = 0

MISTAKES = (
    Mistake(
        "Block 1 is the one that minds least: its loss hardly changes. Look for the largest loss.",
        code="most_sensitive = 1",
    ),
    Mistake(
        "Block 2 comes second, far behind. Is each block rounded in a fresh copy of the model, so that the others are intact?",
        code="most_sensitive = 2",
    ),
    Mistake(
        "Blocks are counted from 0, so there is no block 3. Give the number in `transformer.h`.",
        code="most_sensitive = 3",
    ),
)
