"""Is the largest the best scale?"""

import torch

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
If one weight of a row is much larger than the others, it may be better to cut it off, and to round the others more finely. Write `best_clip(row, bits, shares)`. For each share c in `shares`, round the row with the scale c · largest / (2^(bits − 1) − 1), where whole numbers beyond the range are clamped to its ends. Return the share whose rounded row has the least sum of squared errors.

For example, with 2 bits the only whole numbers are −1, 0 and 1. For the row (1, 0.6, 0.6, 0.6), the share 1 makes all of them 1, with squared errors of 3 · 0.16 = 0.48. With the share 0.7 they become 0.7, which gives 0.09 + 3 · 0.01 = 0.12. So `best_clip(row, 2, [1.0, 0.7])` is 0.7.
"""

HINTS = (
    "A loop over the shares. In each round: scale, whole numbers, clamp, back, error.",
    "`(row / scale).round().clamp(-largest_whole, largest_whole) * scale` is the rounded row.",
    "`min(shares, key=error)` returns the share with the least error, if `error(c)` is a function.",
)

START = '''
def best_clip(row, bits, shares):
    """row (n,), bits an int, shares a list of floats. Returns one of them."""
    ...
'''

SOLUTION = """
def best_clip(row, bits, shares):
    most = 2 ** (bits - 1) - 1

    def error(share):
        scale = share * row.abs().max() / most
        rounded = (row / scale).round().clamp(-most, most) * scale
        return (rounded - row).square().sum().item()

    return min(shares, key=error)
"""

MISTAKES = (
    Mistake(
        "Without `clamp` the large weights keep whole numbers beyond the range, so a smaller scale seems always better. They would not fit into the bits.",
        (".clamp(-most, most)", ""),
    ),
    Mistake(
        "This is the share with the largest error. Take the least.",
        ("min(shares", "max(shares"),
    ),
    Mistake(
        "Errors of different sign cancel here. Square them before you add.",
        ("(rounded - row).square().sum().item()", "(rounded - row).sum().abs().item()"),
    ),
    Mistake(
        "This is the largest error of the row. Cutting off makes one large error, so it is never chosen by that measure. Add up the squares.",
        ("(rounded - row).square().sum()", "(rounded - row).abs().max()"),
    ),
    Mistake(
        "This is the least error itself. Return the share that has it.",
        ("min(shares, key=error)", "min(error(share) for share in shares)"),
    ),
    Mistake(
        "This is where the share is in the list. Return the share itself.",
        ("min(shares, key=error)", "shares.index(min(shares, key=error))"),
    ),
    Mistake(
        "The range is that of one bit more. One bit is the sign, so the largest whole number is 2^(bits − 1) − 1.",
        ("2 ** (bits - 1) - 1", "2**bits - 1"),
    ),
    Mistake(
        "The negative end is cut at 0. The range is symmetric: `clamp(-most, most)`.",
        ("clamp(-most, most)", "clamp(0, most)"),
    ),
    Mistake(
        "The whole numbers are compared with the row. Multiply them by the scale first.",
        ("clamp(-most, most) * scale", "clamp(-most, most)"),
    ),
    Mistake(
        "The largest share is returned, whatever its error.",
        ("min(shares, key=error)", "max(shares)"),
    ),
    Mistake(
        "The largest is taken with its sign. Use `row.abs().max()`.",
        ("row.abs().max()", "row.max()"),
    ),
    Mistake(
        "This is always the first share. Use each share in the scale, and return the one with the least error.",
        ("share * row", "row"),
    ),
    Mistake(
        "The range is one too wide: the largest whole number is 2^(bits − 1) − 1.",
        ("2 ** (bits - 1) - 1", "2 ** (bits - 1)"),
    ),
    Mistake(
        "The largest whole number is 2^(bits − 1) − 1, not the number of bits.",
        ("2 ** (bits - 1) - 1", "bits"),
    ),
    Mistake(
        "`floor` rounds down. Round to the nearest.",
        (".round().clamp", ".floor().clamp"),
    ),
    Mistake(
        "The fractions are cut off. Round to the nearest.",
        (".round().clamp", ".trunc().clamp"),
    ),
    Mistake(
        "The negative end is one too far. The range is symmetric: `clamp(-most, most)`.",
        ("clamp(-most, most)", "clamp(-most - 1, most)"),
    ),
    Mistake(
        "Only the positive end is cut off: `clamp(-most, most)`.",
        ("clamp(-most, most)", "clamp(max=most)"),
    ),
    Mistake(
        "The absolute errors are added. Add their squares.",
        ("square().sum()", "abs().sum()"),
    ),
    Mistake(
        "This is always the last share. Keep the least error so far, and compare with it.",
        ("min(shares, key=error)", "shares[-1]"),
    ),
    Mistake(
        "The largest of the row is missing in the scale.",
        ("share * row.abs().max() / most", "row.new_tensor(share / most)"),
    ),
    Mistake(
        "The whole numbers are divided by the scale. Multiply by it, to have weights again.",
        ("clamp(-most, most) * scale", "clamp(-most, most) / scale"),
    ),
    Mistake(
        "The share is applied to the rounded row. It belongs to the scale, before rounding: `share * row.abs().max() / most`.",
        ("scale = share * row", "scale = row"),
        ("* scale\n", "* scale * share\n"),
    ),
)


def right(row, bits, shares):
    most = 2 ** (bits - 1) - 1
    scales = torch.tensor(shares).unsqueeze(1) * row.abs().max() / most  # one row for each share
    rounded = torch.round(row / scales).clamp(-most, most) * scales
    return shares[(rounded - row).square().sum(dim=1).argmin().item()]


def cases():
    generator = torch.Generator().manual_seed(74)
    shares = [round(1 - 0.02 * i, 2) for i in range(36)]  # many, to tell mistakes apart
    random = torch.randn(64, generator=generator)
    outlier = torch.cat([random[:40], torch.tensor([-9.0])])
    return [
        Case(
            "the row (1, 0.6, 0.6, 0.6) in 2 bits",
            (torch.tensor([1, 0.6, 0.6, 0.6]), 2, [1.0, 0.7]),
        ),
        Case("64 normal weights in 3 bits", (random, 3, shares)),
        Case("the same in 8 bits", (random, 8, shares)),
        Case("a row with an outlier in 4 bits", (outlier, 4, shares)),
        Case("negative weights in 3 bits", (-random.abs(), 3, shares)),
        Case("small weights in 3 bits", (random / 20, 3, shares)),
        Case("the shares in another order", (random, 3, shares[::-1])),
    ]
