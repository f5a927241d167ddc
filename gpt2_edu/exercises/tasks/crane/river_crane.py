"""A crane by the river."""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "good"
MINUTES = 6

TASK = """
In "By the river, the crane …", the river comes before the crane, so the crane can look at it. Take only these two words.

| word | query | key | value |
| --- | --- | --- | --- |
| crane | (0.7, 0.7) | (0.7, 0.7) | (0.5, 0.5) |
| river | | (1.1, 0.3) | (0.9, 0.1) |

Score, normalise and aggregate on paper. You need no calculator. What is the new crane? Give a list, animal part first.
"""

HINTS = (
    "Work out both scores. You need not know what $e$ to their power is.",
    "Both scores are 0.98. Equal scores become equal weights, and the weights are 1 in total.",
)

START = "river_crane = ...  # [animal, machine]"

SOLUTION = """
# scores: 0.7·0.7 + 0.7·0.7 = 0.98 and 0.7·1.1 + 0.7·0.3 = 0.98
# equal scores, so weights 0.5 and 0.5
river_crane = [0.5 * 0.5 + 0.5 * 0.9, 0.5 * 0.5 + 0.5 * 0.1]  # 0.7, 0.3
"""

right = [0.7, 0.3]

TOLERANCE = 5e-3

MISTAKES = (
    Mistake(
        "You left out the crane itself. It is one of the words that it looks at, and it keeps half of the weight.",
        code="river_crane = [0.9, 0.1]",
    ),
    Mistake(
        "You mixed the keys. Keys are only compared with the query. Words hand over their values.",
        code="river_crane = [0.5 * 0.7 + 0.5 * 1.1, 0.5 * 0.7 + 0.5 * 0.3]",
    ),
    Mistake(
        "You added up the values in full. The weights must be shares, positive and 1 in total.",
        code="river_crane = [0.5 + 0.9, 0.5 + 0.1]",
    ),
    Mistake(
        "You used the scores as weights. Normalise them first, to shares that are 1 in total.",
        code="river_crane = [0.98 * 0.5 + 0.98 * 0.9, 0.98 * 0.5 + 0.98 * 0.1]",
    ),
    Mistake(
        "These are the two scores. Equal scores become equal shares, 1 in total. Then mix the values.",
        code="river_crane = [0.98, 0.98]",
    ),
    Mistake(
        "That is the other way round: the animal part comes first.",
        code="river_crane = [0.3, 0.7]",
    ),
    Mistake(
        "These are the two weights. Step 3 is still missing: mix the values in these shares.",
        code="river_crane = [0.5, 0.5]",
    ),
)
