"""Where there is nothing to guess."""

from ...exercise import Mistake

ORDER = 60
KIND = "explore"
LEVEL = 2
RANK = "extra"
MINUTES = 8
TOLERANCE = 5e-3

TASK = r"""
The floor of Crane World is a mean. Does every token contribute to it? `crane.surprisals(text)` gives, for each token of a story and for the `<|endoftext|>` after it, the surprise $-\ln p$ of a reader who knows the grammar. Take the stories `crane.story(0)` to `crane.story(19)`, and take all their tokens together. For what share of them does the grammar leave nothing to guess, so that the surprise is 0, or at least below 0.001? Give a number between 0 and 1, to two decimals or more.
"""

HINTS = (
    "`from gpt2_edu import crane`, then put the surprises of all twenty stories into one list.",
    "`torch.tensor(surprises) < 0.001` says for each token whether it was certain. The share is the mean of these values as numbers.",
)

START = "nothing_to_guess = ..."

SOLUTION = """
from gpt2_edu import crane

surprises = []
for seed in range(20):
    surprises += crane.surprisals(crane.story(seed))
certain = torch.tensor(surprises) < 0.001
nothing_to_guess = certain.float().mean().item()
# Three tokens in four are certain: fixed phrases, and facts already told,
# such as who lost what. All of the loss comes from the fourth.
"""

right = 0.744

MISTAKES = (
    Mistake(
        "That is the mean surprise of these stories, near the floor. The question is how many tokens have a surprise of 0.",
        ("certain.float().mean()", "torch.tensor(surprises).mean()"),
    ),
    Mistake(
        "That is the other share, of tokens that are *not* certain. Count a surprise below 0.001.",
        ("< 0.001", ">= 0.001"),
    ),
    Mistake(
        "That is the share in per cent. Give it as a number between 0 and 1.",
        ("certain.float().mean().item()", "100 * certain.float().mean().item()"),
    ),
    Mistake(
        "That is the number of certain tokens. Divide by the number of all tokens.",
        ("certain.float().mean().item()", "int(certain.sum())"),
    ),
    Mistake(
        "That is in per cent, and rounded. Give a number between 0 and 1, to two decimals.",
        code="nothing_to_guess = 74",
    ),
    Mistake(
        "0 comes out if you ask it of each story's mean, or of the probability. Ask it of each token, and of its surprise: p near 1 means a surprise near 0.",
        code="nothing_to_guess = 0",
    ),
    Mistake(
        "That is how many tokens of a story are certain, on average. Divide by the number of all tokens, not of stories.",
        ("certain.float().mean().item()", "int(certain.sum()) / 20"),
    ),
    Mistake(
        "This says of each token whether it is certain. Give the share, the mean of these as numbers.",
        ("certain.float().mean().item()", "certain"),
    ),
)
