"""Does the future leak?"""

from functools import cache

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
Write the test that finds every leak inside a model. If a token changes, nothing before it may change.

`logits_of` is a function from ids (1, T) to logits (1, T, V), and may be any model; `idx` (1, T) is a text; `vocab_size` is V. For each position t from 1 to T − 1, put another token there and compare the logits at the positions **before** t with those of the unchanged text. Return the list of all t whose change is noticed, which means that some logit before t is off by more than $10^{-4}$. A model without a leak gives `[]`.

As the other token take the next id, or 0 after the last one: `(old + 1) % vocab_size`. Change one token at a time, and leave `idx` unchanged.

For example, a model whose logits at position 0 depend on the tokens 0 and 2, and which has no other leak, gives `[2]`.
"""

HINTS = (
    "One pass for the unchanged text, and one for each t. Which positions of the two passes do you compare?",
    "Clone `idx`, change `[0, t]`, and compare `logits[:, :t]`. At t itself and after it the logits may change, because that is what a model is for.",
    "`(logits_of(other) - before)[:, :t].abs().max() > 1e-4` decides whether t goes into the list.",
)

START = '''
def leaks(logits_of, idx, vocab_size):
    """logits_of: (1, T) → (1, T, V); idx (1, T). Returns a list of t."""
    ...
'''

SOLUTION = """
def leaks(logits_of, idx, vocab_size):
    before, found = logits_of(idx), []
    for t in range(1, idx.size(1)):
        other = idx.clone()
        other[0, t] = (other[0, t] + 1) % vocab_size
        # only the positions before t: the others may change
        moved = (logits_of(other) - before)[:, :t].abs().max()
        if moved > 1e-4:
            found.append(t)
    return found
"""

MISTAKES = (
    Mistake(
        "You compare positions that may change. At t and after it, the logits are *meant* to move. Look only before t, `[:, :t]`.",
        ("[:, :t].abs()", ".abs()"),
    ),
    Mistake(
        "Only the last token is changed. A leak may come from any position, so try every t.",
        ("range(1, idx.size(1))", "range(max(1, idx.size(1) - 1), idx.size(1))"),
    ),
    Mistake(
        "This compares predictions, not logits. A weak leak moves the logits but not yet the likeliest token, and training would make it stronger.",
        ("before, found = logits_of(idx),", "before, found = logits_of(idx).argmax(dim=-1),"),
        (
            "moved = (logits_of(other) - before)[:, :t].abs().max()",
            "moved = (logits_of(other).argmax(dim=-1) != before)[:, :t].any()",
        ),
        ("moved > 1e-4", "moved"),
    ),
    Mistake(
        "Only the position right before t is compared. The leak may go further back, so take all positions before t.",
        ("[:, :t]", "[:, t - 1]"),
    ),
    Mistake(
        "Every change stays in the text when the next one is made, so their effects mix. Clone `idx` again for each t.",
        (
            "before, found = logits_of(idx), []",
            "before, found, other = logits_of(idx), [], idx.clone()",
        ),
        ("        other = idx.clone()\n", ""),
    ),
    Mistake(
        "This asks for equality to the last bit. Here anything below 0.0001 counts as rounding.",
        ("moved > 1e-4", "moved > 0"),
    ),
    Mistake(
        "You ignore the sign, but logits that fall have moved too. Take the absolute value before the largest, `.abs().max()`.",
        ("[:, :t].abs()", "[:, :t]"),
    ),
    Mistake(
        "`other = idx` makes no copy, so the caller's text is changed, and the changes add up. Write `idx.clone()`.",
        ("idx.clone()", "idx"),
    ),
    Mistake(
        "After the last id, V − 1, there is no next one. Start again at 0, `(other[0, t] + 1) % vocab_size`.",
        ("(other[0, t] + 1) % vocab_size", "other[0, t] + 1"),
    ),
    Mistake(
        "The last position is left out. `range` stops before its end, so it is `range(1, idx.size(1))`.",
        ("range(1, idx.size(1))", "range(1, idx.size(1) - 1)"),
    ),
    Mistake(
        "Only the first leak is returned. Collect all t in a list.",
        ("            found.append(t)", "            return [t]"),
    ),
    Mistake(
        "This averages the changes, so a faint one disappears. Take the largest absolute value.",
        ("abs().max()", "abs().mean()"),
    ),
    Mistake(
        "You always put 0 there. Where the token is 0 already, nothing changes, and a leak is missed. Take the next id.",
        ("(other[0, t] + 1) % vocab_size", "0"),
    ),
    Mistake(
        "You return the position before the token that was changed. Append t itself.",
        ("found.append(t)", "found.append(t - 1)"),
    ),
    Mistake(
        "t begins at 0 here. Nothing comes before position 0, so there is nothing to compare. Begin with 1.",
        ("range(1,", "range(0,"),
    ),
    Mistake(
        "Return the list of all t, not whether there are any.",
        ("return found", "return bool(found)"),
    ),
    Mistake(
        "You return the positions that notice a change. The task asks which changes are noticed, so append t.",
        (
            "        moved = (logits_of(other) - before)[:, :t].abs().max()\n        if moved > 1e-4:\n            found.append(t)\n    return found",
            "        moved = (logits_of(other) - before)[0, :t].abs().amax(dim=-1)\n        found += (moved > 1e-4).nonzero().flatten().tolist()\n    return sorted(set(found))",
        ),
    ),
    Mistake(
        "You change only the last token, and return the positions that notice it. The task asks the reverse: change each token in turn, and return those that a position before them notices.",
        ("range(1, idx.size(1))", "range(max(1, idx.size(1) - 1), idx.size(1))"),
        (
            "        moved = (logits_of(other) - before)[:, :t].abs().max()\n        if moved > 1e-4:\n            found.append(t)",
            "        moved = (logits_of(other) - before)[0, :t].abs().amax(dim=-1)\n        found = (moved > 1e-4).nonzero().flatten().tolist()",
        ),
    ),
)


def right(logits_of, idx, vocab_size):
    T = idx.size(1)
    # row t: the text with another token at t; row 0 would say nothing
    others = torch.where(torch.eye(T, dtype=torch.bool), (idx + 1) % vocab_size, idx)
    logits = torch.cat([logits_of(row[None]) for row in others])
    off = (logits - logits_of(idx)).abs().amax(dim=-1)  # row t, column position
    return (off.tril(-1).amax(dim=-1) > 1e-4).nonzero().flatten().tolist()


def peeking(idx, reader, place, strength):
    """Logits of a healthy toy, plus at ``reader`` something of the token at ``place``."""
    words = F.one_hot(idx, 7).float()
    logits = words.cumsum(dim=1)  # what has been seen so far
    if place is not None:
        logits[:, reader] += strength * words[:, place]
    return logits


def lowered(idx):
    """Position 0 sees token 3: the larger its id, the lower are all its logits."""
    logits = F.one_hot(idx, 7).float().cumsum(dim=1)
    logits[:, 0] -= 0.5 * idx[:, 3:4]
    return logits


@cache
def broken_model(name):
    """The museum's model with a bug, made once: the cases are asked for many times."""
    from gpt2_edu.analysis import bugs, museum

    model = museum.untrained_model()

    @torch.no_grad()
    def logits_of(idx):
        with bugs.broken(model, name) as (copy, _):
            return copy(idx)[0]

    return logits_of


def cases():
    from functools import partial

    from gpt2_edu.analysis import museum

    idx = torch.tensor([[0, 2, 6, 3, 1]])
    sentence, V = museum.TEXTS[:1, :5], len(museum.WORDS)

    def toy(reader=0, place=None, strength=1.0):
        return partial(peeking, reader=reader, place=place, strength=strength)

    return [
        Case("a toy whose first position sees token 2", (toy(0, 2), idx[:, :3], 7)),
        Case("a toy without a leak", (toy(), idx, 7)),
        Case("position 1 sees token 3, which is 0", (toy(1, 3), idx * (idx != 3), 7)),
        Case("a leak that only lowers the logits", (lowered, idx, 7)),
        Case("a faint leak", (toy(2, 3, strength=8e-4), idx, 7)),
        Case("a trembling of 0.00001, which may be rounding", (toy(1, 3, strength=1e-5), idx, 7)),
        Case("a text of one token", (toy(), idx[:, :1], 7)),
        Case("the museum's untrained model", (broken_model("no bug"), sentence, V)),
        Case("without a mask", (broken_model("no mask"), sentence, V)),
        Case("with the wrong view", (broken_model("wrong view"), sentence, V)),
    ]
