"""Cut a text into windows."""

import torch

from ...exercise import Case, Mistake

ORDER = 10
KIND = "write"
LEVEL = 1
RANK = "core"
MINUTES = 8

TASK = r"""
Turn a long row of ids into training pairs. `stream` has shape (n,). Cut it, from its beginning, into windows of T + 1 tokens that overlap by one, so that each token after the first is predicted once. Return two tensors, both (B, T). The inputs are the first T tokens of each window, and the targets are the last T. Tokens at the end that do not fill a window are left out.

With T = 2 the stream 7, 8, 9, 10, 11, 12 gives the inputs [[7, 8], [9, 10]] and the targets [[8, 9], [10, 11]]; the 12 is left out.
"""

HINTS = (
    "Where does the second window begin? Its first token is the last one of the first window.",
    "Windows begin at 0, T, 2T, … The last one that fits begins at n − T − 1 at the latest.",
    "Stack `stream[i : i + T + 1]` for all `i in range(0, len(stream) - T, T)`, then take the columns `[:, :-1]` and `[:, 1:]`.",
)

START = '''
def cut_windows(stream, T):
    """stream (n,), n > T. Returns inputs and targets, both (B, T)."""
    ...
'''

SOLUTION = """
def cut_windows(stream, T):
    # A window takes T + 1 tokens, the next begins T further on.
    starts = range(0, len(stream) - T, T)
    windows = torch.stack([stream[i : i + T + 1] for i in starts])
    return windows[:, :-1], windows[:, 1:]
"""

MISTAKES = (
    Mistake(
        "Inputs and targets are swapped. At each position the target is the *later* token, the one that comes next.",
        ("windows[:, :-1], windows[:, 1:]", "windows[:, 1:], windows[:, :-1]"),
    ),
    Mistake(
        "The targets are the unshifted inputs, so the model would learn to repeat what it sees. Take the last T tokens of each window.",
        ("windows[:, 1:]", "windows[:, :-1]"),
    ),
    Mistake(
        "These windows do not overlap, so the first token of each is never a target. Start the next one T further on, not T + 1.",
        ("len(stream) - T, T", "len(stream) - T, T + 1"),
    ),
    Mistake(
        "These windows have T tokens, which leaves T − 1 pairs. A window needs T + 1, because the last input needs a target too.",
        code="""
def cut_windows(stream, T):
    windows = stream[: len(stream) // T * T].view(-1, T)
    return windows[:, :-1], windows[:, 1:]
""",
    ),
    Mistake(
        "A last window that fits exactly is left out. The last start allowed is n − T − 1 itself, and `range` stops before its end.",
        ("len(stream) - T, T", "len(stream) - T - 1, T"),
    ),
    Mistake(
        "The next window begins one token further on, so each token is predicted many times. Start it T further on.",
        ("0, len(stream) - T, T", "len(stream) - T"),
    ),
    Mistake(
        "The same windows of T tokens serve as inputs and as targets here. A target is the token *after* its input: take T + 1 tokens, and shift by one.",
        code="""
def cut_windows(stream, T):
    windows = stream[: len(stream) // T * T].view(-1, T)
    return windows, windows
""",
    ),
    Mistake(
        "The last window begins too late and is too short. It needs T + 1 tokens, so the starts end before n − T: `range(0, len(stream) - T, T)`.",
        ("len(stream) - T, T", "len(stream), T"),
    ),
    Mistake(
        "The windows begin at the right places but have T tokens, so that T − 1 pairs are left. Take T + 1: `stream[i : i + T + 1]`.",
        ("i + T + 1", "i + T"),
    ),
    Mistake(
        "One window too many where n is a multiple of T: the last input has no target. There are (n − 1) // T windows.",
        code="""
def cut_windows(stream, T):
    B = len(stream) // T
    return stream[: B * T].view(B, T), stream[1 : B * T + 1].view(B, T)
""",
    ),
    Mistake(
        "`roll` brings the first token to the end, where it becomes a target that it is not. The last token has no target, so there are (n − 1) // T windows.",
        code="""
def cut_windows(stream, T):
    B = len(stream) // T
    inputs = stream[: B * T]
    return inputs.view(B, T), inputs.roll(-1).view(B, T)
""",
    ),
    Mistake(
        "You leave out a window, not a token. The shift is along the columns: `windows[:, :-1]` and `windows[:, 1:]`.",
        ("windows[:, :-1], windows[:, 1:]", "windows[:-1], windows[1:]"),
    ),
    Mistake(
        "These are lists of rows. Put the rows together with `torch.stack`.",
        ("windows[:, :-1], windows[:, 1:]", "list(windows[:, :-1]), list(windows[:, 1:])"),
    ),
)


def right(stream, T):
    windows = stream.unfold(0, T + 1, T)
    return windows[:, :-1], windows[:, 1:]


def cases():
    generator = torch.Generator().manual_seed(13)
    long = torch.randint(1024, (50,), generator=generator)
    return [
        Case("six ids, T = 2", (torch.arange(7, 13), 2)),
        Case("nine ids, T = 4: nothing is left over", (torch.arange(9), 4)),
        Case("many ids, T = 7", (long, 7)),
        Case("T = 1: every pair of neighbours", (long[:5], 1)),
        Case("a single window", (long[:12], 11)),
    ]
