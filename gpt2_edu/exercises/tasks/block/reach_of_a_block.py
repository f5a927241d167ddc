"""How far does one token reach?"""

from ...exercise import Mistake

ORDER = 20
KIND = "explore"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = r"""
Five vectors go through a block. Then the vector at position 2 is replaced by another, and all five go through again. At which positions does the block's output change?

Guess first, remembering that a block has attention, an MLP, two LayerNorms and two additions. Then let the package's block tell you. The cell has two inputs, `x` and `other`, of shape (1, 5, 12), which differ only at position 2. Give the positions as a list of numbers, the smallest first.
"""

HINTS = (
    "Compare `block(x)` with `block(other)`, position by position. Two vectors differ if any of their C entries differ.",
    "`(block(x) != block(other)).any(dim=-1)` has the shape (1, 5): True where the vectors differ.",
)

START = """
from gpt2_edu import course
from gpt2_edu.model import Block

torch.manual_seed(0)
block = Block(course.TOY).eval()
x = torch.randn(1, 5, 12)
other = x.clone()
other[0, 2] = torch.randn(12)

reach_of_a_block = ...
"""

SOLUTION = """
from gpt2_edu import course
from gpt2_edu.model import Block

torch.manual_seed(0)
block = Block(course.TOY).eval()
x = torch.randn(1, 5, 12)
other = x.clone()
other[0, 2] = torch.randn(12)

# Only attention looks at other tokens, and with the mask only backwards.
changed = (block(x) != block(other)).any(dim=-1)
reach_of_a_block = changed[0].nonzero().flatten().tolist()
"""

right = [2, 3, 4]

MISTAKES = (
    Mistake(
        "That is where the inputs differ. The outputs would differ there alone if there were no attention, which carries the change to the tokens that look back.",
        code="reach_of_a_block = [2]",
    ),
    Mistake(
        "Position 2 itself is missing. Its own stream has changed, and the additions carry it to the output.",
        code="reach_of_a_block = [3, 4]",
    ),
    Mistake(
        "That would be so without the mask. A token does not look at what comes after it.",
        code="reach_of_a_block = [0, 1, 2, 3, 4]",
    ),
    Mistake(
        "It is the other way round. Later tokens look at earlier ones, so a change moves to the right.",
        code="reach_of_a_block = [0, 1, 2]",
    ),
    Mistake(
        "This list of True and False is right, but the answer should be the positions: `.nonzero().flatten().tolist()`.",
        code="reach_of_a_block = [False, False, True, True, True]",
    ),
    Mistake(
        "This table of True and False has a row for each text. The answer should be the positions of the one text: `[0].nonzero().flatten().tolist()`.",
        code="reach_of_a_block = [[False, False, True, True, True]]",
    ),
    Mistake(
        "These are the twelve coordinates, because `any` ran over the tokens. A position differs if any of its C entries do: `.any(dim=-1)`.",
        code="reach_of_a_block = list(range(12))",
    ),
    Mistake(
        "These are pairs, the text and the position. Take text 0 first, `changed[0].nonzero()`, and give the positions alone.",
        code="reach_of_a_block = [[0, 2], [0, 3], [0, 4]]",
    ),
    Mistake(
        "These are the positions one by one in lists of their own. Make one list of them: `.flatten().tolist()`.",
        code="reach_of_a_block = [[2], [3], [4]]",
    ),
    Mistake(
        "You count from 1. Positions count from 0, as in `other[0, 2]`.",
        code="reach_of_a_block = [3, 4, 5]",
    ),
    Mistake(
        "That is how many positions change. The question is which.",
        code="reach_of_a_block = 3",
    ),
    Mistake(
        "These are flags. The task asks for the positions that they mark.",
        code="""reach_of_a_block = [0, 0, 1, 1, 1]""",
    ),
)
