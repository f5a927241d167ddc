"""How small does c_proj start?"""

from ...exercise import Mistake

ORDER = 20
KIND = "recall"
LEVEL = 1
RANK = "good"
MINUTES = 3

TASK = r"""
GPT-2 XL has N = 48 blocks and a width of C = 1600. With which standard deviation does the `c_proj` of one of its MLPs start, if the other matrices of a block start with 0.02? Give at least five decimals, or let Python work it out.
"""

HINTS = (
    "How many edits does the whole model add to the stream? Their sum grows like the root of that number.",
    "Each block adds two edits, one from attention and one from the MLP.",
)

START = "proj_std = ..."

SOLUTION = "proj_std = 0.02 / math.sqrt(2 * 48)  # 96 edits: 0.00204"

right = 0.0020412415
TOLERANCE = 2e-5

MISTAKES = (
    Mistake(
        "Divided by √48? Each block adds twice, so there are 2N = 96 edits.",
        code="proj_std = 0.02 / math.sqrt(48)",
    ),
    Mistake(
        "Without the root the edits are too small, because lengths at right angles add up like a root.",
        code="proj_std = 0.02 / 96",
    ),
    Mistake(
        "The other matrices start with that. Those that write to the stream start smaller.",
        code="proj_std = 0.02",
    ),
    Mistake(
        "That is right for the smallest GPT-2, with N = 12. Here N is 48.",
        code="proj_std = 0.02 / math.sqrt(24)",
    ),
    Mistake(
        "The width C is in your root. The rule counts the edits, and there are 2N of them.",
        code="proj_std = 0.02 / math.sqrt(1600)",
    ),
    Mistake(
        "Right so far, but too coarse. Give at least five decimals.",
        code="proj_std = 0.002",
    ),
    Mistake(
        "You multiplied by √(2N). The more edits there are, the smaller each one starts: divide.",
        code="proj_std = 0.02 * math.sqrt(2 * 48)",
    ),
)
