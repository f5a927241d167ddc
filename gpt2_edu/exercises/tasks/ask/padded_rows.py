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
    Mistake(
        "The targets are the inputs themselves, with their flags. A target is the id that follows, and the flag is its own: `ids[1:]`, `flags[1:]`.",
        ("zip(ids[1:], flags[1:])", "zip(ids[:-1], flags[:-1])"),
    ),
    Mistake(
        "The inputs begin with the second id. They are all ids but the last: `ids[:-1]`.",
        ("torch.tensor(ids[:-1])", "torch.tensor(ids[1:])"),
    ),
    Mistake(
        "The tables hold floats, as those of `torch.ones` and `torch.zeros` do. Ids are int64: `torch.full((B, T), end)`.",
        ("torch.full((len(rows), T), end)", "torch.full((len(rows), T), float(end))"),
        ("torch.full((len(rows), T), -100)", "torch.full((len(rows), T), -100.0)"),
    ),
    Mistake(
        "The tables hold int32. Embeddings and cross-entropy are used with int64, which is what `torch.tensor` makes of whole numbers.",
        ("return inputs, targets", "return inputs.int(), targets.int()"),
    ),
    Mistake(
        "These are lists. Make a tensor of each: `torch.tensor(inputs)`.",
        ("return inputs, targets", "return inputs.tolist(), targets.tolist()"),
    ),
    Mistake(
        "A tensor needs rows of one length. Pad the shorter ones first.",
        code="""
def padded_rows(rows, end):
    inputs = torch.tensor([ids[:-1] for ids, _ in rows])
    targets = [[i if f else -100 for i, f in zip(ids[1:], flags[1:])] for ids, flags in rows]
    return inputs, torch.tensor(targets)
""",
    ),
    Mistake(
        "The first row decides how long the table is. The longest one has to.",
        ("max(len(ids) for ids, _ in rows) - 1", "len(rows[0][0]) - 1"),
    ),
    Mistake(
        "Wherever the target is `end`, it is taken for padding. The `end` after an answer is learned: without it a model does not stop.",
        ("return inputs, targets", "return inputs, targets.masked_fill(targets == end, -100)"),
    ),
    Mistake(
        "−1 marks what does not count. Cross-entropy ignores −100.",
        ("torch.full((len(rows), T), -100)", "torch.full((len(rows), T), -1)"),
        ("i if flag else -100", "i if flag else -1"),
    ),
    Mistake(
        "Only the last row is filled, because the tables are made anew in every round. Make them before the loop.",
        (
            "in enumerate(rows):\n",
            """in enumerate(rows):
        inputs = torch.full((len(rows), T), end)
        targets = torch.full((len(rows), T), -100)
""",
        ),
    ),
    Mistake(
        "Only the first row is filled: the `return` is in the loop.",
        ("    return inputs", "        return inputs"),
    ),
    Mistake(
        "The tables are (T, B). Each row is a conversation: (B, T), as with `batch_first=True`.",
        ("return inputs, targets", "return inputs.T, targets.T"),
    ),
    Mistake(
        "Both tables are padded with 0, which is an id. Inputs are padded with `end`, targets with −100.",
        ("torch.full((len(rows), T), end)", "torch.zeros(len(rows), T, dtype=torch.long)"),
        ("torch.full((len(rows), T), -100)", "torch.zeros(len(rows), T, dtype=torch.long)"),
    ),
    Mistake(
        "The targets are padded with 0, which is an id. Cross-entropy ignores −100.",
        ("torch.full((len(rows), T), -100)", "torch.zeros(len(rows), T, dtype=torch.long)"),
    ),
    Mistake(
        "What is given has the target 0, which is an id. Cross-entropy ignores −100.",
        ("i if flag else -100", "i if flag else 0"),
    ),
    Mistake(
        "The tables have changed places. The inputs come first.",
        ("return inputs, targets", "return targets, inputs"),
    ),
    Mistake(
        "A list that was given is changed: `append`, `pop` and `+=` change the list itself. Make a new one, such as `ids[:-1]`.",
        ("= torch.tensor(said)", "= torch.tensor(said)\n        ids.append(end)"),
    ),
    Mistake(
        "What is given is left out of the targets, so that the others move to the front. Each position keeps its place, with −100.",
        (
            "[i if flag else -100 for i, flag in zip(ids[1:], flags[1:])]",
            "[i for i, flag in zip(ids[1:], flags[1:]) if flag]",
        ),
    ),
)


def right(rows, end):
    pad = torch.nn.utils.rnn.pad_sequence
    inputs = [torch.tensor(ids[:-1]) for ids, _ in rows]
    targets = [
        torch.tensor(ids[1:]).masked_fill(~torch.tensor(flags[1:]), -100) for ids, flags in rows
    ]
    return pad(inputs, True, end), pad(targets, True, -100)


def properties(result, rows, end):
    for name, mine, wanted in zip(("input", "target"), result, right(rows, end), strict=True):
        if mine.shape != wanted.shape:
            return (
                f"The {name}s should be {tuple(wanted.shape)}: a row for each conversation, and a "
                "column less than the longest one has ids."
            )
        for b, t in (mine != wanted).nonzero().tolist():
            ids, flags = rows[b]
            if t >= len(ids) - 1:
                return f"Position {t} of row {b} is padding, where the {name} is {wanted[b, t]}."
            told = f", with the flag {flags[t + 1]}" if name == "target" else ""
            return f"At position {t} of row {b} the id is {ids[t]}, and {ids[t + 1]} follows{told}."
    return None


def cases():
    def row(given, said):
        return given + said, [False] * len(given) + [True] * len(said)

    def short():
        return row([99, 97, 5, 98], [7, 99])

    def long(end=99):
        return row([end, 97, 5, 6, 8, 98], [10, 11, 12, end])

    plain = ([99, 1, 2, 3, 99], [False, True, True, True, True])
    return [
        Case("one row", ([short()], 99)),
        Case("two rows of the same length", ([short(), row([99, 97, 4, 98], [0, 99])], 99)),
        Case("a short and a long row", ([short(), long()], 99)),
        Case("with a plain story, all of which is learned", ([long(), plain, short()], 99)),
        Case("another end", ([([7, 1, 2, 7], [False, False, True, True]), long(7)], 7)),
    ]
