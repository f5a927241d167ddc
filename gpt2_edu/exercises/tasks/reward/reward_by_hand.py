"""Three answers and their rewards."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
A model gives three answers with the probabilities 0.5, 0.3 and 0.2. Their rewards are 0, 1 and 2. What is the gradient of the expected reward with respect to the three logits?
"""

HINTS = (
    "First the expected reward J, the sum of probability times reward.",
    "J is 0.3 · 1 + 0.2 · 2 = 0.7. The gradient on a logit is p · (r − J).",
    "The three entries add up to 0, because a softmax can only move probability from one answer to another.",
)

START = "reward_by_hand = ...  # three numbers: [ , , ]"

SOLUTION = """
p, r = (0.5, 0.3, 0.2), (0, 1, 2)
J = sum(a * b for a, b in zip(p, r))  # 0.7
reward_by_hand = [a * (b - J) for a, b in zip(p, r)]
"""

right = [-0.35, 0.09, 0.26]

MISTAKES = (
    Mistake(
        "The expected reward is not subtracted. Without it every entry is positive or 0, although the three probabilities cannot all rise.",
        ("a * (b - J)", "a * b"),
    ),
    Mistake(
        "That is r − J. Each entry must still be multiplied by the probability of its answer: the softmax moves a rare answer slowly.",
        ("a * (b - J)", "b - J"),
    ),
    Mistake(
        "Those are the signs of a loss. The expected reward is to rise, so its own gradient is asked for.",
        ("a * (b - J)", "a * (J - b)"),
    ),
    Mistake(
        "The plain mean of the rewards, 1, is subtracted. J weighs each reward by how often its answer is given.",
        ("sum(a * b for a, b in zip(p, r))", "sum(r) / 3"),
    ),
    Mistake(
        "That is p · (1 − p) · r, what each logit does to its own answer. A logit changes the probabilities of the other answers as well.",
        ("a * (b - J)", "a * (1 - a) * b"),
    ),
    Mistake(
        "That is p · (r − p). What is subtracted is the expected reward, the same number for all three.",
        ("a * (b - J)", "a * (b - a)"),
    ),
)
