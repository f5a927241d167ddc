"""What does a norm listen to?"""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 3
RANK = "good"
MINUTES = 15

TASK = r"""
Write the test that would have found the leak. Given a function `norm` from (B, T, C) to (B, T, C), and a batch `x`, answer two questions:

1. Does the result of text 0 change if the other texts of the batch change?
2. Does the result of the earlier tokens change if the last token changes?

Return a pair of `True` or `False`. The norm of GPT-2, over C, gives `(False, False)`. A norm over T gives `(False, True)`: it hears the future. With only one text, or only one token, there is nothing else to depend on, so the answer is `False`.

To change a token, add 1 to the first of its C numbers in a copy of `x`; to change a text, do so with each of its tokens. Leave `x` itself as it was. Results count as changed if they differ by more than $10^{-6}$ anywhere.
"""

HINTS = (
    "Compute `norm(x)` once. Then make two copies with `x.clone()`, change the other texts in one and the last token in the other, and call `norm` on each.",
    "Compare only what must not change: `[0]` for the first question, `[:, :-1]` for the second.",
    "`((a - b).abs() > 1e-6).any().item()` is True or False. For a tensor without numbers it is False.",
)

START = '''
def hears(norm, x):
    """norm: a function that keeps the shape; x (B, T, C).

    Returns two of True and False: hears the other texts, hears the future.
    """
    ...
'''

SOLUTION = """
def hears(norm, x):
    others, last = x.clone(), x.clone()
    others[1:, :, 0] += 1
    last[:, -1, 0] += 1
    text = norm(others)[0] - norm(x)[0]
    past = norm(last)[:, :-1] - norm(x)[:, :-1]  # not the last: it may change
    return tuple((d.abs() > 1e-6).any().item() for d in (text, past))
"""

MISTAKES = (
    Mistake(
        "The last token itself is compared as well, and of course it changes. Compare the tokens "
        "before it, `[:, :-1]`.",
        ("norm(last)[:, :-1] - norm(x)[:, :-1]", "norm(last) - norm(x)"),
    ),
    Mistake(
        "All texts are compared, including those that you changed yourself. Compare only text 0, "
        "`[0]`.",
        ("norm(others)[0] - norm(x)[0]", "norm(others) - norm(x)"),
    ),
    Mistake(
        "This changes the first token and compares the later ones, which may depend on the past. "
        "Change the last token and compare the earlier ones.",
        ("last[:, -1, 0]", "last[:, 0, 0]"),
        ("norm(last)[:, :-1] - norm(x)[:, :-1]", "norm(last)[:, 1:] - norm(x)[:, 1:]"),
    ),
    Mistake(
        "True and False are swapped. You say whether the results are the *same*.",
        ("(d.abs() > 1e-6).any", "(d.abs() <= 1e-6).all"),
    ),
    Mistake(
        "You changed the batch that you were given, because `others = x` is the same tensor under "
        "another name. Make a copy with `x.clone()`.",
        code="""
def hears(norm, x):
    before, others, last = norm(x), x, x
    others[1:, :, 0] += 1
    text = norm(others)[0] - before[0]
    last[:, -1, 0] += 1
    past = norm(last)[:, :-1] - before[:, :-1]
    return tuple((d.abs() > 1e-6).any().item() for d in (text, past))
""",
    ),
    Mistake(
        "The two answers are in the wrong order: first the other texts, then the future.",
        ("text, past", "past, text"),
    ),
    Mistake(
        "You compare everything, including what you changed yourself. Compare text 0 for the first question, `[0]`, and the tokens before the last one for the second, `[:, :-1]`.",
        ("norm(others)[0] - norm(x)[0]", "norm(others) - norm(x)"),
        ("norm(last)[:, :-1] - norm(x)[:, :-1]", "norm(last) - norm(x)"),
    ),
    Mistake(
        "The last token is changed in text 0 only. The second question is about every text of the batch: `last[:, -1, 0]`.",
        ("last[:, -1, 0]", "last[0, -1, 0]"),
    ),
    Mistake(
        "Only the last text of the others is changed. Change all of them: `others[1:]`.",
        ("others[1:, :, 0] += 1", "if len(x) > 1:\n        others[-1, :, 0] += 1"),
    ),
    Mistake(
        "Of no numbers there is no maximum, which happens with texts of one token. `.any()` of nothing is False: `((a - b).abs() > 1e-6).any().item()`.",
        ("(d.abs() > 1e-6).any().item()", "(d.abs().max() > 1e-6).item()"),
    ),
    Mistake(
        "When you change the last token, the other texts are still changed from the first question. Begin each of the two with a fresh copy of x.",
        code="""
def hears(norm, x):
    other = x.clone()
    other[1:, :, 0] += 1
    text = norm(other)[0] - norm(x)[0]
    other[:, -1, 0] += 1
    past = norm(other)[:, :-1] - norm(x)[:, :-1]
    return tuple((d.abs() > 1e-6).any().item() for d in (text, past))
""",
    ),
    Mistake(
        "You change text 0 and compare text 0, which of course changes. Change the others, `others[1:, :, 0]`.",
        ("others[1:, :, 0]", "others[0, :, 0]"),
    ),
    Mistake(
        "You change text 1 alone, and a batch of one text has none. Change all the others, `others[1:, :, 0]`, which may also be no text at all.",
        ("others[1:, :, 0]", "others[1, :, 0]"),
    ),
    Mistake(
        "`all` asks whether every number has changed. One is enough: `any`.",
        (".any()", ".all()"),
    ),
    Mistake(
        "Every difference counts here, however small. Rounding makes tiny ones, so ask for more than 1e-6.",
        ("d.abs() > 1e-6", "d != 0"),
    ),
    Mistake(
        "Only differences upwards count here. Take the absolute value, `d.abs() > 1e-6`.",
        ("d.abs() > 1e-6", "d > 1e-6"),
    ),
)


def right(norm, x):
    # Autograd's answer: which inputs do these outputs react to?
    weights = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))

    def reacts(outputs, inputs):
        seen = x.clone().requires_grad_()
        (norm(seen) * weights)[outputs].sum().backward()
        return bool((seen.grad[inputs].abs() > 1e-7).any())

    every = slice(None)
    return reacts((0,), (slice(1, None),)), reacts((every, slice(-1)), (every, -1))


def over(*axes):
    def norm(x):
        centred = x - x.mean(axes, keepdim=True)
        return centred / (x.var(axes, correction=0, keepdim=True) + 1e-5).sqrt()

    return norm


def twice(x):
    return 2 * x


def over_the_past(x):
    """Less the mean of the token and those before it."""
    count = torch.arange(1, x.size(1) + 1).view(-1, 1)
    return x - x.cumsum(dim=1) / count


def over_time_in_one(x):
    """Over T in text 1 and those after it, over C in text 0."""
    return torch.cat([over(2)(x[:1]), over(1)(x[1:])])


def next_text(x):
    """To text 0 is added text 1, if there is one."""
    return torch.cat([x[:1] + x[1:2].sum(0), x[1:]])


def whisper(x):
    """To every number is added so little of all that it does not count."""
    return 1e-9 * (x + x.sum())


def quieter(x):
    """From every token is taken the sum of all."""
    return x - x.sum()


def cases():
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(3, 5, 7, generator=generator)
    two = torch.tensor([[[1.0, 2.0], [3.0, 5.0]], [[0.0, 1.0], [4.0, 2.0]]])
    return [
        Case("over C, two texts of two tokens", (over(2), two)),
        Case("over C", (over(2), x)),
        Case("over T", (over(1), x)),
        Case("over B", (over(0), x)),
        Case("over B, T and C", (over(0, 1, 2), x)),
        Case("twice each number", (twice, x)),
        Case("a mean over the past only", (over_the_past, x)),
        Case("text 0 hears text 1 and no other", (next_text, x)),
        Case("over T, but not in text 0", (over_time_in_one, x)),
        Case("all tokens, but less than 1e-6 of them", (whisper, x)),
        Case("the more there is of the others, the less", (quieter, x)),
        Case("over T and C, a batch of 1", (over(1, 2), x[:1])),
        Case("over T, texts of one token", (over(1), x[:, :1])),
    ]
