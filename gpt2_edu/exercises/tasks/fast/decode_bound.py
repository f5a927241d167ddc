"""How fast can it write?"""

from gpt2_edu import GPT2Config, flops

from ...exercise import Case, Mistake

ORDER = 60
KIND = "write"
LEVEL = 3
RANK = "extra"
MINUTES = 12

TASK = r"""
Several texts are continued at once, with a cache, in bfloat16 (2 bytes a number). How many tokens per second, of all texts together, does the memory's bandwidth allow at most?

In one step every text gets one token. For that, all weights are read **once**, however many texts share them, and the cache of **every** text is read whole. The cache keeps a key and a value, each of C numbers, in each of the N blocks, for each kept token.

The arguments: `weights` is the number of weights that are read, `n_layer` N, `n_embd` C, `texts` the number of texts, `kept` the tokens in each text's cache, `bandwidth` bytes per second.

A tiny example: 6 weights, N = 1, C = 2, one text with one kept token. The weights are 12 bytes and the cache 2 · 1 · 2 numbers, 8 bytes. At 200 bytes per second a step takes 0.1 seconds, so 10 tokens per second.
"""

HINTS = (
    "First the bytes of one step. How often does each part count when there are `texts` texts?",
    "The cache: `2 * n_layer * n_embd` numbers for each kept token of each text. The weights count once.",
    "`bandwidth` divided by the bytes of a step gives steps per second, and each step gives `texts` tokens.",
)

START = '''
def decode_bound(weights, n_layer, n_embd, texts, kept, bandwidth):
    """Counts, and bytes per second. Returns tokens per second, at most."""
    ...
'''

SOLUTION = """
def decode_bound(weights, n_layer, n_embd, texts, kept, bandwidth):
    cache = 2 * n_layer * n_embd * kept  # a key and a value, in each block
    # the texts share the weights, but not their caches
    step = 2 * (weights + texts * cache)  # bytes: 2 a number
    return texts * bandwidth / step
"""

MISTAKES = (
    Mistake(
        "These are steps per second. Each step gives one token to every text, so multiply by `texts`.",
        ("texts * bandwidth", "bandwidth"),
    ),
    Mistake(
        "Only one text's cache is read here. Each text has its own.",
        ("texts * cache", "cache"),
    ),
    Mistake(
        "Here each text reads the weights for itself, so batching gains nothing. They are read once for all texts of the step.",
        ("texts * bandwidth / step", "bandwidth / (2 * (weights + cache))"),
    ),
    Mistake(
        "Half of the cache is missing: it keeps a key and a value.",
        ("2 * n_layer", "n_layer"),
    ),
    Mistake(
        "Numbers are not bytes. In bfloat16 each has 2.",
        ("step = 2 *", "step ="),
    ),
    Mistake(
        "The cache is left out. With long texts it weighs more than the weights.",
        (" + texts * cache", ""),
    ),
    Mistake(
        "The cache of one block only is read here. Each of the N blocks has its own.",
        ("2 * n_layer * n_embd", "2 * n_embd"),
    ),
    Mistake(
        "That is the time of a step. Tokens per second are `texts` divided by it.",
        ("texts * bandwidth / step", "step / bandwidth"),
    ),
    Mistake(
        "That is with four bytes per number. bfloat16 has two.",
        ("step = 2 *", "step = 4 *"),
    ),
    Mistake(
        "`//` drops the fraction of a step. Divide with `/`.",
        ("texts * bandwidth / step", "bandwidth // step * texts"),
    ),
)


def right(weights, n_layer, n_embd, texts, kept, bandwidth):
    config = GPT2Config(n_layer=n_layer, n_head=1, n_embd=n_embd)
    each = flops.cache_bytes_per_token(config, "bfloat16")
    seconds = (2 * weights + texts * kept * each) / bandwidth
    return texts / seconds


def cases():
    gpt2 = (123_653_376, 12, 768)
    return [
        Case("6 weights, one text, one kept token", (6, 1, 2, 1, 1, 200)),
        Case("the same with three texts", (6, 1, 2, 3, 1, 200)),
        Case("gpt2 on an H100, one text", (*gpt2, 1, 1, 3350e9)),
        Case("gpt2 on an H100, 64 long texts", (*gpt2, 64, 512, 3350e9)),
        Case("sizes that all differ", (97, 3, 5, 2, 7, 1e4)),
        Case("an empty cache", (97, 3, 5, 2, 0, 1e4)),
    ]
