"""How wide is a SwiGLU?"""

from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
GPT-2's MLP has two matrices between C and 4C columns. A SwiGLU has three, so with the same number of weights its inner width is two thirds of that, $\tfrac83 C$. Widths that are multiples of a power of two compute faster, so it is rounded *up* to the next multiple of `multiple`; a width that is one already stays.

Return that width as an int. For the first Llama with 7 billion parameters, C is 4,096 and the multiple 256. Then $\tfrac83 C$ is 10,922.67, and the width is 11,008.
"""

HINTS = (
    "How many times does `multiple` fit into 8/3 of C, rounded up?",
    "`math.ceil(x)` rounds up. Divide by the multiple, round, then multiply by it again.",
    "`math.ceil(8 * n_embd / (3 * multiple)) * multiple`",
)

START = '''
def swiglu_width(n_embd, multiple):
    """Returns an int."""
    ...
'''

SOLUTION = """
def swiglu_width(n_embd, multiple):
    times = math.ceil(8 * n_embd / (3 * multiple))
    return times * multiple
"""

MISTAKES = (
    Mistake(
        "You round down. The width is the next multiple *above* 8/3 of C.",
        ("math.ceil", "math.floor"),
    ),
    Mistake(
        "You round to the nearest multiple. It is always rounded up.",
        ("math.ceil", "round"),
    ),
    Mistake(
        "The result is not a multiple. Multiply by `multiple` again after rounding.",
        ("return times * multiple", "return times"),
    ),
    Mistake(
        "That is GPT-2's width, 4C, rounded up. With three matrices it is two thirds of it.",
        ("8 * n_embd / (3 * multiple)", "4 * n_embd / multiple"),
    ),
    Mistake(
        "That is two thirds of C. The width is two thirds of 4C.",
        ("8 * n_embd", "2 * n_embd"),
    ),
    Mistake(
        "You take three quarters of 4C. Three matrices of width w have as many weights as two of width 4C if w is two *thirds* of 4C.",
        ("8 * n_embd / (3 * multiple)", "3 * n_embd / multiple"),
    ),
    Mistake(
        "A width that is a multiple already must stay. Here one more is always added.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "8 * n_embd // (3 * multiple) + 1"),
    ),
    Mistake(
        "8/3 of C is rounded to a whole number, but not to a multiple of `multiple`.",
        ("8 * n_embd / (3 * multiple)", "8 * n_embd / 3"),
        ("times * multiple", "times"),
    ),
    Mistake(
        "C is rounded up to a multiple, and then 8/3 of that is taken. Round at the end.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "math.ceil(n_embd / multiple)"),
        ("times * multiple", "8 * times * multiple // 3"),
    ),
    Mistake(
        "The fraction of 8/3 of C is dropped before the width is rounded up. If what is left is a multiple, the width stays too small.",
        ("8 * n_embd / (3 * multiple)", "8 * n_embd // 3 / multiple"),
    ),
    Mistake(
        "The result is not rounded up to a multiple of `multiple`.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "8 * n_embd // 3"),
        ("times * multiple", "times"),
    ),
    Mistake(
        "The number is not rounded at all. Round it up to the next multiple.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "8 * n_embd / 3"),
        ("times * multiple", "times"),
    ),
    Mistake(
        "Divide by `multiple` before you round: how many times does it fit?",
        ("8 * n_embd / (3 * multiple)", "8 * n_embd / 3"),
    ),
    Mistake(
        "The fraction is upside down. It is 8/3 of C.",
        ("8 * n_embd / (3 * multiple)", "3 * n_embd / (8 * multiple)"),
    ),
    Mistake(
        "That is the next power of two. The width is a multiple of `multiple`, not a power.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "2 ** math.ceil(math.log2(8 * n_embd / 3))"),
        ("times * multiple", "times"),
    ),
    Mistake(
        "The multiple is fixed at 256. Use the argument.",
        ("(3 * multiple)", "(3 * 256)"),
        ("times * multiple", "times * 256"),
    ),
    Mistake(
        "Rounding comes last: 8/3 of C first, then up to the next multiple.",
        ("math.ceil(8 * n_embd / (3 * multiple))", "math.ceil(n_embd / multiple) * 8 / 3"),
    ),
    Mistake(
        "The multiple is added. Rounding up leads to the next number that it divides: `math.ceil(width / multiple) * multiple`.",
        code="""
def swiglu_width(n_embd, multiple):
    width = 8 * n_embd // 3
    return width + multiple if width % multiple else width
""",
    ),
)


def right(n_embd, multiple):
    width = 8 * n_embd // 3 + (8 * n_embd % 3 > 0)
    while width % multiple:
        width += 1
    return width


def cases():
    sizes = {
        "Llama 7B": (4096, 256),
        "C = 768: a multiple already": (768, 64),
        "C = 100": (100, 32),
        "C = 5, multiples of 3": (5, 3),
        "C = 65": (65, 128),
        "C = 4, multiples of 2: just above one": (4, 2),
    }
    return [Case(label, args) for label, args in sizes.items()]
