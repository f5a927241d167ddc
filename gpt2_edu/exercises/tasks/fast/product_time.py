"""How long must a product take?"""

import torch

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
A product of (m, k) with (k, n) in bfloat16, 2 bytes a number. The device does at most `peak` FLOPs per second and moves at most `bandwidth` bytes per second. How many **microseconds** does the product take at least, and which limit is it?

The arithmetic is $2mkn$ FLOPs. The traffic: both factors are read once and the result is written once. Both happen at the same time, so the slower one decides. Requests are left out.

Return a pair: the microseconds, and `"arithmetic"` or `"memory"`. A tiny example: m = k = n = 2, `peak` 8 · 10⁶, `bandwidth` 24 · 10⁶. The arithmetic is 16 FLOPs, 2 microseconds; the traffic is 12 numbers, 24 bytes, 1 microsecond. The answer is `(2.0, "arithmetic")`.
"""

HINTS = (
    "Work out two times independently. The answer is one of them.",
    "The numbers that move: m·k, k·n and m·n. Each has 2 bytes.",
    "Compare `2 * m * k * n / peak` with `2 * (m * k + k * n + m * n) / bandwidth`; the larger one counts, times 10⁶.",
)

START = '''
def product_time(m, k, n, peak, bandwidth):
    """FLOP/s and bytes/s. Returns (microseconds, name of the limit)."""
    ...
'''

SOLUTION = """
def product_time(m, k, n, peak, bandwidth):
    arithmetic = 2 * m * k * n / peak
    memory = 2 * (m * k + k * n + m * n) / bandwidth  # 2 bytes a number
    # both run at once: the slower one is the limit
    if arithmetic > memory:
        return 1e6 * arithmetic, "arithmetic"
    return 1e6 * memory, "memory"
"""

MISTAKES = (
    Mistake(
        "Here the two times are added. They pass at the same time, so only the slower one counts.",
        ("1e6 * arithmetic,", "1e6 * (arithmetic + memory),"),
        ("1e6 * memory,", "1e6 * (arithmetic + memory),"),
    ),
    Mistake(
        "This is the faster of the two. The product is not done until the slower one is.",
        ("> memory", "< memory"),
    ),
    Mistake(
        "This counts m·k·n FLOPs. Each of these is a multiplication *and* an addition: 2·m·k·n.",
        ("2 * m * k * n", "m * k * n"),
    ),
    Mistake(
        "The result is not counted. Its m·n numbers must be written to memory as well.",
        (" + m * n", ""),
    ),
    Mistake(
        "This divides numbers by bytes per second. A number in bfloat16 has 2 bytes.",
        ("2 * (m * k + k * n + m * n)", "(m * k + k * n + m * n)"),
    ),
    Mistake(
        "That is in milliseconds. Microseconds are seconds times 10⁶.",
        ("1e6 * arithmetic,", "1e3 * arithmetic,"),
        ("1e6 * memory,", "1e3 * memory,"),
    ),
    Mistake(
        "That is in seconds. Multiply by 10⁶ for microseconds.",
        ("1e6 * arithmetic,", "arithmetic,"),
        ("1e6 * memory,", "memory,"),
    ),
    Mistake(
        "The time is right, but the two names are swapped. The slower one is the limit.",
        ('1e6 * arithmetic, "arithmetic"', '1e6 * arithmetic, "memory"'),
        ('1e6 * memory, "memory"', '1e6 * memory, "arithmetic"'),
    ),
    Mistake(
        "Only the result is counted. Both factors have to be read from memory as well.",
        ("m * k + k * n + m * n", "m * n"),
    ),
    Mistake(
        "`peak` and `bandwidth` are swapped. FLOPs are divided by `peak`, bytes by `bandwidth`.",
        ("/ peak", "/ bandwidth"),
        ("/ bandwidth  #", "/ peak  #"),
    ),
    Mistake(
        "The order of the pair is wrong: the time comes first, then the name.",
        ('1e6 * arithmetic, "arithmetic"', '"arithmetic", 1e6 * arithmetic'),
        ('1e6 * memory, "memory"', '"memory", 1e6 * memory'),
    ),
)


def right(m, k, n, peak, bandwidth):
    # torch counts the numbers of three tensors that take no memory
    a, b = torch.empty(m, k, device="meta"), torch.empty(k, n, device="meta")
    c = a @ b
    moved = 2 * (a.numel() + b.numel() + c.numel())
    times = {"arithmetic": 2 * k * c.numel() / peak * 1e6, "memory": moved / bandwidth * 1e6}
    name = max(times, key=times.__getitem__)
    return times[name], name


def cases():
    a100, h100 = (312e12, 2039e9), (989.4e12, 3350e9)
    return [
        Case("2 × 2 times 2 × 2, bound by arithmetic", (2, 2, 2, 8e6, 24e6)),
        Case("the same with a fifth of the bandwidth", (2, 2, 2, 8e6, 4.8e6)),
        Case("sizes that all differ", (3, 5, 7, 1e6, 1e6)),
        Case("a large product on an A100", (16384, 768, 3072, *a100)),
        Case("one token through lm_head on an H100", (1, 768, 50257, *h100)),
        Case("a matrix and one vector", (1600, 6400, 1, *a100)),
    ]
