"""How many weights does a LoRA train?"""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 4

TASK = r"""
GPT-2's `c_fc` maps 768 entries to 3,072. How many weights does a LoRA of rank 8 around it train?
"""

HINTS = (
    "There are two matrices, A and B. Which shapes do they have?",
    "A is (8, 768) and B is (3072, 8).",
)

START = "trained_by_lora = ..."

SOLUTION = """
trained_by_lora = 8 * 768 + 3072 * 8  # A (r, in) and B (out, r)
"""

right = 30720

MISTAKES = (
    Mistake(
        "That is A alone. B, of shape (3072, 8), is trained as well.",
        (" + 3072 * 8", ""),
    ),
    Mistake(
        "That is B alone. A, of shape (8, 768), is trained as well.",
        ("8 * 768 + ", ""),
    ),
    Mistake(
        "That is the weight of `c_fc`, which stays as it is.",
        ("8 * 768 + 3072 * 8", "768 * 3072"),
    ),
    Mistake(
        "That is the weight of `c_fc` together with A and B. It is frozen, so only A and B count.",
        ("8 * 768 + 3072 * 8", "768 * 3072 + 8 * 768 + 3072 * 8"),
    ),
    Mistake(
        "A square of 8 × 8 stands between A and B here. They are multiplied with each other directly.",
        ("8 * 768 + 3072 * 8", "8 * 768 + 8 * 8 + 3072 * 8"),
    ),
    Mistake(
        "The bias of `c_fc` is counted. It is frozen like the weight.",
        ("3072 * 8", "3072 * 8 + 3072"),
    ),
    Mistake(
        "Both matrices are 768 wide here. B has a row for each of the 3,072 outputs.",
        ("3072 * 8", "768 * 8"),
    ),
    Mistake(
        "That is the product of the two counts. They are added.",
        ("8 * 768 + 3072 * 8", "8 * 768 * 3072 * 8"),
    ),
    Mistake(
        "That is rank 4. Here it is 8.",
        ("8 * 768 + 3072 * 8", "4 * 768 + 3072 * 4"),
    ),
    Mistake(
        "The three sizes are multiplied. There are two matrices, and their counts are added.",
        ("8 * 768 + 3072 * 8", "768 * 8 * 3072"),
    ),
    Mistake(
        "Both matrices are 3,072 wide here. A reads 768 entries.",
        ("8 * 768", "8 * 3072"),
    ),
    Mistake(
        "The rank is left out. A has 8 rows, and B has 8 columns.",
        ("8 * 768 + 3072 * 8", "768 + 3072"),
    ),
    Mistake(
        "That is twice too much: one A and one B.",
        ("8 * 768 + 3072 * 8", "2 * (8 * 768 + 3072 * 8)"),
    ),
    Mistake(
        "Two biases are counted. A and B are matrices without any.",
        ("8 * 768 + 3072 * 8", "8 * 768 + 8 + 3072 * 8 + 3072"),
    ),
    Mistake(
        "That is for all 12 blocks. The question is about one map.",
        ("8 * 768 + 3072 * 8", "12 * (8 * 768 + 3072 * 8)"),
    ),
    Mistake(
        "That is `c_fc` with its bias, which stays as it is.",
        ("8 * 768 + 3072 * 8", "768 * 3072 + 3072"),
    ),
    Mistake(
        "That is how many weights fewer are trained. How many are trained?",
        ("8 * 768 + 3072 * 8", "768 * 3072 - 8 * 768 - 3072 * 8"),
    ),
    Mistake(
        "That is the share of the weights of `c_fc`. How many are they?",
        ("8 * 768 + 3072 * 8", "(8 * 768 + 3072 * 8) / (768 * 3072)"),
    ),
    Mistake(
        "Those are bytes. The weights are asked for.",
        ("8 * 768 + 3072 * 8", "4 * (8 * 768 + 3072 * 8)"),
    ),
)
