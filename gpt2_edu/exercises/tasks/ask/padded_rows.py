"""Conversations of unequal length."""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
A batch is a table, but conversations have different lengths. Write `padded_rows(rows, end)`. Each row is a pair of lists as `rendered_exchange` returns it: n ids, and n flags, where True marks what the model is to say. Return two tensors of int64, (B, T), where T is the largest n less one:

- the inputs: all ids of a row but its last, then `end` until the row has T ids,
- the targets: at each position the id that *follows*, if its flag is True, and −100 otherwise, also where the input is padding.
"""

HINTS = (
    "`torch.full((B, T), end)` and `torch.full((B, T), -100)` are the two tables to write into.",
    "The target at position t is `ids[t + 1]`, and the flag that counts is that of the target, `flags[t + 1]`.",
    "For one row: `[i if flag else -100 for i, flag in zip(ids[1:], flags[1:])]`.",
)

START = '''
def padded_rows(rows, end):
    """rows: pairs of lists (ids, flags). Returns inputs and targets, each (B, T)."""
    ...
'''

SOLUTION = """
def padded_rows(rows, end):
    T = max(len(ids) for ids, _ in rows) - 1
    inputs = torch.full((len(rows), T), end)
    targets = torch.full((len(rows), T), -100)
    for row, (ids, flags) in enumerate(rows):
        said = [i if flag else -100 for i, flag in zip(ids[1:], flags[1:])]
        inputs[row, : len(ids) - 1] = torch.tensor(ids[:-1])
        targets[row, : len(said)] = torch.tensor(said)
    return inputs, targets
"""

MISTAKES = (
    Mistake(
        "The flag of the input is used. What counts is whether the *target* is to be said: `flags[1:]`.",
        ("flags[1:]", "flags"),
    ),
    Mistake(
        "The targets are the inputs themselves. A target is the id that follows: `ids[1:]`.",
        ("zip(ids[1:], flags[1:])", "zip(ids[:-1], flags[1:])"),
    ),
    Mistake(
        "Padding has `end` as its target here, so the model is taught to say it again and again. Its target is −100.",
        ("torch.full((len(rows), T), -100)", "torch.full((len(rows), T), end)"),
    ),
    Mistake(
        "The question is learned as well. Where the flag is False, the target is −100.",
        ("i if flag else -100", "i"),
    ),
    Mistake(
        "The question is learned, and the answer is not. True marks what the model is to say.",
        ("i if flag else -100", "-100 if flag else i"),
    ),
    Mistake(
        "The table has one column too many. A row of n ids has n − 1 inputs, because nothing is predicted after its last id.",
        ("for ids, _ in rows) - 1", "for ids, _ in rows)"),
        (
            "inputs[row, : len(ids) - 1] = torch.tensor(ids[:-1])",
            "inputs[row, : len(ids)] = torch.tensor(ids)",
        ),
    ),
    Mistake(
        "The table has one column too many. A row of n ids has n − 1 inputs, because nothing is predicted after its last id.",
        ("for ids, _ in rows) - 1", "for ids, _ in rows)"),
    ),
    Mistake(
        "The rows are cut to the shortest one, and answers are lost. Pad the shorter ones instead.",
        ("T = max(len(ids) for ids, _ in rows) - 1", "T = min(len(ids) for ids, _ in rows) - 1"),
        (
            "inputs[row, : len(ids) - 1] = torch.tensor(ids[:-1])",
            "inputs[row] = torch.tensor(ids[:T])",
        ),
        ("targets[row, : len(said)] = torch.tensor(said)", "targets[row] = torch.tensor(said[:T])"),
    ),
    Mistake(
        "The padding is on the left. Put it on the right, where no token of the row can see it.",
        ("inputs[row, : len(ids) - 1]", "inputs[row, T + 1 - len(ids) :]"),
        ("targets[row, : len(said)]", "targets[row, T - len(said) :]"),
    ),
    Mistake(
        "The inputs are padded with −100, which is no id. Only targets know −100.",
        ("torch.full((len(rows), T), end)", "torch.full((len(rows), T), -100)"),
    ),
    Mistake(
        "The inputs are padded with 0, which is a token of its own. Use `end`.",
        ("torch.full((len(rows), T), end)", "torch.zeros(len(rows), T, dtype=torch.long)"),
    ),
    Mistake(
        "0 marks what does not count, but 0 is an id. Cross-entropy ignores −100.",
        ("torch.full((len(rows), T), -100)", "torch.zeros(len(rows), T, dtype=torch.long)"),
        ("i if flag else -100", "i if flag else 0"),
    ),
)


def right(rows, end):
    pad = torch.nn.utils.rnn.pad_sequence
    inputs = [torch.tensor(ids[:-1]) for ids, _ in rows]
    targets = [
        torch.tensor(ids[1:]).masked_fill(~torch.tensor(flags[1:]), -100) for ids, flags in rows
    ]
    return pad(inputs, True, end), pad(targets, True, -100)


def cases():
    def row(given, said):
        return given + said, [False] * len(given) + [True] * len(said)

    short = row([99, 97, 5, 98], [7, 99])
    long = row([99, 97, 5, 6, 8, 98], [10, 11, 12, 99])
    plain = ([99, 1, 2, 3, 99], [False, True, True, True, True])
    return [
        Case("one row", ([short], 99)),
        Case("two rows of the same length", ([short, row([99, 97, 4, 98], [0, 99])], 99)),
        Case("a short and a long row", ([short, long], 99)),
        Case("with a plain story, all of which is learned", ([long, plain, short], 99)),
        Case("another end", ([([7, 1, 2, 7], [False, False, True, True]), long], 7)),
    ]
