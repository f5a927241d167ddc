"""Where the ball is after each swap."""

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
A ball lies under the cup `start`. Then pairs of cups are swapped, and the ball moves with its cup. Write `places(start, swaps)`, which returns the list of the places after each swap. These are the steps that a model writes down.

For a ball under cup 2, and the swaps (0, 2), (1, 4), (0, 3), the places are 0, 0, 3.
"""

HINTS = (
    "If the ball is at the one place of a pair, it moves to the other. Else it stays.",
    "There is a place for every swap, also where the ball has not moved.",
    "A second `if` after the first would see the new place, and move the ball back. Use `elif`.",
)

START = '''
def places(start, swaps):
    """start a number, swaps a list of pairs. Returns a list, a place for each swap."""
    ...
'''

SOLUTION = """
def places(start, swaps):
    place, found = start, []
    for a, b in swaps:
        if place == a:
            place = b
        elif place == b:
            place = a
        found.append(place)
    return found
"""

MISTAKES = (
    Mistake(
        "A ball at a stays at a. If a second `if` follows the first, it sees the new place, and moves the ball back: use `elif`.",
        ("elif", "if"),
    ),
    Mistake(
        "A ball at b stays there. A swap works both ways.",
        ("        elif place == b:\n            place = a\n", ""),
    ),
    Mistake(
        "The ball goes to b in every swap. It moves only if it is under one of the two cups.",
        (
            "if place == a:\n            place = b\n        elif place == b:\n            place = a",
            "place = b",
        ),
    ),
    Mistake(
        "That is where the ball is at the end. The place after every swap was asked for.",
        ("return found", "return place"),
    ),
    Mistake(
        "The list begins with the place at the start. There is one place for each swap.",
        ("start, []", "start, [start]"),
    ),
    Mistake(
        "Each swap is applied to the start. It must be applied to where the ball is now.",
        ("if place == a:", "place = start\n        if place == a:"),
    ),
    Mistake(
        "A swap in which the ball stays is left out. Its place is written down as well.",
        code="""
def places(start, swaps):
    place, found = start, []
    for a, b in swaps:
        if place in (a, b):
            place = a + b - place
            found.append(place)
    return found
""",
    ),
    Mistake(
        "The swaps are applied from the last to the first. In another order the ball ends somewhere else.",
        ("in swaps", "in reversed(swaps)"),
    ),
    Mistake(
        "The place before each swap is written down. Move the ball first.",
        ("        if place == a:", "        found.append(place)\n        if place == a:"),
        ("place = a\n        found.append(place)", "place = a"),
    ),
    Mistake(
        "A ball that is under neither cup moves to a. It stays where it is.",
        ("elif place == b", "elif place != b"),
    ),
    Mistake(
        "The ball never moves. `==` compares, and `=` assigns.",
        ("            place = b\n", "            place == b\n"),
        ("            place = a\n", "            place == a\n"),
    ),
    Mistake(
        "This follows what stands at the place `start`. Follow the ball to its new place.",
        (
            "    place, found = start, []\n    for a, b in swaps:\n        if place == a:\n            place = b\n        elif place == b:\n            place = a\n        found.append(place)\n",
            "    cups, found = list(range(99)), []\n    for a, b in swaps:\n        cups[a], cups[b] = cups[b], cups[a]\n        found.append(cups[start])\n",
        ),
    ),
    Mistake(
        "The swaps are returned, not the places of the ball.",
        ("found.append(place)", "found.append((a, b))"),
    ),
    Mistake(
        "A ball that lies under neither cup moves as well. It stays where it is.",
        ("        elif place == b:\n", "        else:\n"),
    ),
    Mistake(
        "The first assignment overwrites what the second needs. Swap both at once: `cups[a], cups[b] = cups[b], cups[a]`.",
        code="""
def places(start, swaps):
    cups, found = list(range(5)), []
    for a, b in swaps:
        cups[a] = cups[b]
        cups[b] = cups[a]
        found.append(cups.index(start) if start in cups else None)
    return found
""",
    ),
    Mistake(
        "The ball is looked for where it was at the beginning. Compare with the place where it is now.",
        ("if place == a", "if start == a"),
        ("elif place == b", "elif start == b"),
    ),
)


def right(start, swaps):
    cups = list(range(5))  # which cup stands at each place, by where it stood first
    found = []
    for a, b in swaps:
        cups[a], cups[b] = cups[b], cups[a]
        found.append(cups.index(start))
    return found


def cases():
    return [
        Case("ball under 2, three swaps", (2, [(0, 2), (1, 4), (0, 3)])),
        Case("ball under 1, two swaps of the same cups", (1, [(1, 3), (1, 3)])),
        Case("ball under 4, never moved", (4, [(0, 1), (2, 3)])),
        Case("ball under 0, six swaps", (0, [(3, 0), (3, 4), (1, 4), (0, 2), (2, 1), (2, 4)])),
    ]
