"""GPT-2, all of it."""

from functools import cache

import torch

from ....config import GPT2Config
from ....model import GPT2
from ...exercise import Case, Mistake

ORDER = 50
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15
TOLERANCE = 1e-4  # two roads to the same numbers round differently

TASK = r"""
Everything is there. Put GPT-2 together from your own functions, from the ids `idx` (B, T) to the logits (B, T, V):

1. the embeddings: `embed(idx, wte, wpe)` gives x (B, T, C);
2. the blocks, one after another: `block(x, weights, n_head)`, each with its own weights;
3. the last LayerNorm, `ln_f`: `layer_norm(x, gamma, beta)`;
4. the head, which takes at each position the dot product of its vector with every row of `lm_head.weight`, (V, C).

`weights` has the names of `GPT2.state_dict()`: `transformer.wte.weight`, `transformer.wpe.weight`, `transformer.h.0.ln_1.weight` …, `transformer.ln_f.weight`, `transformer.ln_f.bias`, `lm_head.weight`. The names show how many blocks there are. `part_of(weights, "transformer.h.0.")` gives block 0 its weights.

If all weights are 0, all logits are 0. There is no dropout, because the function is for use and not for training.
"""

HINTS = (
    "Write it as the chapter does: embeddings, a loop over the blocks, `ln_f`, and a product with the table.",
    'Count the blocks from 0, as long as there is a name such as `f"transformer.h.{layer}.ln_1.weight"`. (Sorting the names as text would put `h.10` before `h.2`.)',
    'In the loop: `x = block(x, part_of(weights, f"transformer.h.{layer}."), n_head)`. At the end: `x @ weights["lm_head.weight"].T`.',
)

_PARTS = """
embed, block = own("embed", "block")
layer_norm, part_of = own("layer_norm", "part_of")


"""

START = (
    _PARTS
    + '''
def gpt2(idx, weights, n_head):
    """idx (B, T); weights by GPT2's names. Returns logits (B, T, V)."""
    ...
'''.lstrip()
)

SOLUTION = (
    _PARTS
    + """
def gpt2(idx, weights, n_head):
    inside = part_of(weights, "transformer.")
    x = embed(idx, inside["wte.weight"], inside["wpe.weight"])
    layer = 0
    while f"h.{layer}.ln_1.weight" in inside:  # there is one more block
        x = block(x, part_of(inside, f"h.{layer}."), n_head)
        layer += 1
    x = layer_norm(x, inside["ln_f.weight"], inside["ln_f.bias"])
    return x @ weights["lm_head.weight"].T  # a row for each token: (V, C)
""".lstrip()
)


def _wrong(
    begin="embed(idx, inside['wte.weight'], inside['wpe.weight'])",
    order="range(n)",
    each="block(x, part_of(inside, f'h.{i}.'), n_head)",
    end="norm(x) @ inside['wte.weight'].T",
):
    """A mistake's code: one line of it is wrong."""
    return (
        _PARTS
        + f"""
def gpt2(idx, weights, n_head):
    inside = part_of(weights, "transformer.")
    n = sum(name.endswith("ln_1.weight") for name in inside)

    def norm(x):
        return layer_norm(x, inside["ln_f.weight"], inside["ln_f.bias"])

    x = {begin}
    for i in {order}:
        x = {each}
    return {end}
""".lstrip()
    )


MISTAKES = (
    Mistake(
        "The last LayerNorm, `ln_f`, is missing. It belongs between the last block and the head.",
        ('    x = layer_norm(x, inside["ln_f.weight"], inside["ln_f.bias"])\n', ""),
    ),
    Mistake(
        "These are probabilities. The model returns logits and leaves the softmax to its user.",
        ('x @ weights["lm_head.weight"].T', '(x @ weights["lm_head.weight"].T).softmax(dim=-1)'),
    ),
    Mistake(
        "This is only the last position. The model returns logits for all T positions.",
        ("return x @", "return x[:, [-1]] @"),
    ),
    Mistake(
        "Every round uses the weights of block 0. Blocks do not share weights, so take `h.{layer}.` with the number of the round.",
        ('f"h.{layer}.")', '"h.0.")'),
    ),
    Mistake(
        "The blocks run in another order. Names that are sorted as text put `h.10` before `h.2`; count instead.",
        (
            """\
    layer = 0
    while f"h.{layer}.ln_1.weight" in inside:  # there is one more block
""",
            """\
    n = sum(name.endswith("ln_1.weight") for name in inside)
    for layer in sorted(range(n), key=str):
""",
        ),
        ("        layer += 1\n", ""),
    ),
    Mistake(
        "The blocks run from the last to the first. Block 0 reads the embeddings.",
        (
            """\
    layer = 0
    while f"h.{layer}.ln_1.weight" in inside:  # there is one more block
""",
            """\
    n = sum(name.endswith("ln_1.weight") for name in inside)
    for layer in reversed(range(n)):
""",
        ),
        ("        layer += 1\n", ""),
    ),
    Mistake(
        "The last block is missing. The blocks are 0 … N − 1, exactly what `range(N)` gives.",
        ('while f"h.{layer}.', 'while f"h.{layer + 1}.'),
    ),
    Mistake(
        "`ln_f` is applied after every block. It belongs only after the last one; a block has its own LayerNorms inside.",
        ("        layer += 1\n    x = layer_norm", "        layer += 1\n        x = layer_norm"),
    ),
    Mistake(
        "The positions are missing. Add the first T rows of `wpe`.",
        ('embed(idx, inside["wte.weight"], inside["wpe.weight"])', 'inside["wte.weight"][idx]'),
    ),
    Mistake(
        "The embeddings are multiplied by √C. The transformer of 2017 did that, GPT-2 does not.",
        (
            'embed(idx, inside["wte.weight"], inside["wpe.weight"])',
            """\
embed(
        idx, math.sqrt(inside["wte.weight"].size(1)) * inside["wte.weight"], inside["wpe.weight"]
    )""",
        ),
    ),
    Mistake(
        "Each block gets the embeddings instead of the output of the previous block. Write its result back to x.",
        ("    layer = 0\n", "    start, layer = x, 0\n"),
        ("block(x,", "block(start,"),
    ),
    Mistake(
        "Some name is not among the weights. There are as many blocks as the names show, not always 12; and a block's prefix ends with a dot, `transformer.h.0.`.",
        ('while f"h.{layer}.ln_1.weight" in inside:', "for layer in range(12):"),
        ("    layer = 0\n", ""),
        ("        layer += 1\n", ""),
    ),
    Mistake(
        'The table is (V, C), one row for each token. For the product it must be transposed: `x @ weights["lm_head.weight"].T`.',
        ('weights["lm_head.weight"].T', 'weights["lm_head.weight"]'),
    ),
    Mistake(
        "These are the logits of the last position alone. Return a row for each position, (B, T, V).",
        ('x @ weights["lm_head.weight"].T', 'x[:, -1] @ weights["lm_head.weight"].T'),
    ),
)


def _config(weights, n_head):
    V, C = weights["transformer.wte.weight"].shape
    T = weights["transformer.wpe.weight"].size(0)
    N = sum(name.endswith("ln_1.weight") for name in weights)
    return GPT2Config(vocab_size=V, block_size=T, n_layer=N, n_head=n_head, n_embd=C)


def right(idx, weights, n_head):
    theirs = GPT2(_config(weights, n_head)).eval()
    theirs.load_state_dict(weights)
    return theirs(idx)[0]


@cache
def _shapes(V, block_size, N, C):
    sizes = {"vocab_size": V, "block_size": block_size, "n_layer": N, "n_head": 1, "n_embd": C}
    return {name: t.shape for name, t in GPT2(GPT2Config(**sizes)).state_dict().items()}


def _weights(V, block_size, N, C, generator, size=1.0):
    """Numbers for every tensor of a GPT-2, biases and LayerNorms too; the head is tied."""
    weights = {
        name: size * torch.randn(shape, generator=generator) / (2 if len(shape) == 2 else 1)
        for name, shape in _shapes(V, block_size, N, C).items()
    }
    return weights | {"lm_head.weight": weights["transformer.wte.weight"]}


def cases():
    generator = torch.Generator().manual_seed(11)
    zeros = _weights(3, 4, 1, 2, generator, size=0.0)
    small = _weights(11, 7, 2, 6, generator)
    deep = _weights(5, 3, 11, 4, generator)
    idx = torch.randint(11, (2, 5), generator=generator)
    return [
        Case("all weights 0: all logits 0", (torch.tensor([[0, 2]]), zeros, 1)),
        Case("two blocks, three heads, random numbers", (idx, small, 3)),
        Case("one text of one token", (idx[:1, :1], small, 2)),
        Case("as many tokens as there are positions", (idx.repeat(1, 2)[:, :7], small, 6)),
        Case("eleven blocks", (torch.tensor([[4, 0, 3]]), deep, 1)),
    ]
