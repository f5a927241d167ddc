"""A room that the museum lacks."""

import math

from ...exercise import Mistake

ORDER = 50
KIND = "explore"
LEVEL = 3
RANK = "extra"
MINUTES = 12

TASK = r"""
Here is a bug that the museum does not have. Attention's output is lost, so every token sees only itself and its position, and nothing of the other tokens. The model is trained with the bug from the start. At which loss per prediction does it settle? Work it out on paper first, to two decimals.

The sentences are those of the museum, "A crane beside a bat ate fish .", with nine predictions each: four animals, three neighbours that are not the first animal, two verbs, and food or load of the first animal. For each of the nine, ask how much a token and its position can know on their own.

Then train it and see whether you are right; the cell contains the edit. The answer is the number that you worked out, or the one that you measured.
"""

HINTS = (
    "Go through the sentence. At which predictions does a model that sees only the present token have to guess among more words than before?",
    "At the neighbour, because the first animal is out of sight and the model cannot exclude it. And after the verb, because it cannot know whose food it is.",
    "Four animals, then four, two verbs, and four foods or four loads: $\\ln(4 \\cdot 4 \\cdot 2 \\cdot 4) / 9$.",
)

START = """
from gpt2_edu import trace
from gpt2_edu.analysis import museum

model = museum.untrained_model()
lost = {"transformer.h.0.attn.out": torch.zeros_like}
# remove the # to train it, when you have your own number
# with trace(model, edits=lost):
#     print(museum.train(model)[-1], museum.FLOOR)

without_attention = ...
"""

SOLUTION = """
# first animal: 4; neighbour: 4, since the first one is out of sight;
# verb: 2; then the thing, knowing the verb but not the animal: 4
without_attention = math.log(4 * 4 * 2 * 4) / 9
"""

TOLERANCE = 7e-3

right = math.log(128) / 9

MISTAKES = (
    Mistake(
        "That is the floor, for a model that sees the whole past. Without attention the first animal is out of sight at the last word.",
        code="without_attention = math.log(24) / 9",
    ),
    Mistake(
        "That is the room *positions forgotten*, where the two animals are seen in no order. Here neither is seen.",
        code="without_attention = math.log(48) / 9",
    ),
    Mistake(
        "Nearly. The neighbour is a guess among four, not three, since the model no longer sees which animal came first.",
        code="without_attention = math.log(4 * 3 * 2 * 4) / 9",
    ),
    Mistake(
        "The thing is a guess among four, not eight, because it is predicted at the verb, and that token is seen.",
        code="without_attention = math.log(4 * 4 * 2 * 8) / 9",
    ),
    Mistake(
        "That is the sum over a sentence. The loss is the mean over its nine predictions.",
        code="without_attention = math.log(4 * 4 * 2 * 4)",
    ),
    Mistake(
        "That would be a guess among all 19 tokens each time. Most predictions are certain even so: after `.` comes the end.",
        code="without_attention = math.log(19)",
    ),
    Mistake(
        "The neighbour is right. But the last word grows as well, because at the verb the animal is out of sight, so the thing is a guess among four.",
        code="without_attention = math.log(4 * 4 * 2) / 9",
    ),
)
