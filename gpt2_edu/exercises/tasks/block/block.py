"""The block."""

import torch

from ....config import GPT2Config
from ....model import Block
from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 12
TOLERANCE = 1e-4  # two roads to the same numbers round differently

TASK = r"""
Build a block of GPT-2 from the parts that you have written.

$$
x \leftarrow x + \mathrm{attn}(\mathrm{LN}_1(x)) \qquad x \leftarrow x + \mathrm{mlp}(\mathrm{LN}_2(x))
$$

`x` is (B, T, C), and so is the result. `weights` has the names of a `Block`'s `state_dict()`: `ln_1.weight` is γ and `ln_1.bias` is β, followed by `attn.c_attn.weight`, `attn.c_attn.bias`, `attn.c_proj.weight` …, `ln_2.weight` …, `mlp.c_fc.weight` … You have the parts `layer_norm(x, gamma, beta)`, `multi_head(x, weights, n_head)`, `mlp(x, weights)`, and `part_of(weights, "attn.")`, which gives attention its weights under the names that it knows.

A block whose weights and biases are all 0 returns x as it is: both parts add nothing.
"""

HINTS = (
    "There are two lines, and each says normalise, process, add. Add to x itself, not to the normalised x.",
    'The first line: `normed = layer_norm(x, weights["ln_1.weight"], weights["ln_1.bias"])`, then `x = x + multi_head(normed, part_of(weights, "attn."), n_head)`.',
    'The second line is the same with `ln_2` and `mlp(normed, part_of(weights, "mlp."))`, and begins from the new x.',
)

_PARTS = """
layer_norm, multi_head = own("layer_norm", "multi_head")
mlp, part_of = own("mlp", "part_of")


"""

START = (
    _PARTS
    + '''
def block(x, weights, n_head):
    """x (B, T, C); weights by a Block's names. Returns (B, T, C)."""
    ...
'''.lstrip()
)

SOLUTION = (
    _PARTS
    + """
def block(x, weights, n_head):
    gamma, beta = weights["ln_1.weight"], weights["ln_1.bias"]
    normed = layer_norm(x, gamma, beta)
    x = x + multi_head(normed, part_of(weights, "attn."), n_head)
    # from here on x is the stream that attention has written to
    gamma, beta = weights["ln_2.weight"], weights["ln_2.bias"]
    normed = layer_norm(x, gamma, beta)
    return x + mlp(normed, part_of(weights, "mlp."))
""".lstrip()
)


def _wrong(body):
    """A mistake's code: the parts, two short names for the norms, and what goes wrong."""
    head = """
def block(x, weights, n_head):
    def norm(name, x):
        gamma, beta = weights[name + ".weight"], weights[name + ".bias"]
        return layer_norm(x, gamma, beta)

    def attend(x):
        return multi_head(x, part_of(weights, "attn."), n_head)

    def think(x):
        return mlp(x, part_of(weights, "mlp."))

""".lstrip()
    return _PARTS + head + body.strip("\n") + "\n"


MISTAKES = (
    Mistake(
        "This is the order of 2017, with LayerNorm after the addition. In GPT-2 it comes before each part, and the stream itself is not normalised.",
        (
            """\
normed = layer_norm(x, gamma, beta)
    x = x + multi_head(normed, part_of(weights, "attn."), n_head)""",
            'x = x + multi_head(x, part_of(weights, "attn."), n_head)\n    x = layer_norm(x, gamma, beta)',
        ),
        (
            'normed = layer_norm(x, gamma, beta)\n    return x + mlp(normed, part_of(weights, "mlp."))',
            'x = x + mlp(x, part_of(weights, "mlp."))\n    return layer_norm(x, gamma, beta)',
        ),
    ),
    Mistake(
        "The additions are missing, so the stream ends at each part. Add each part's result to x.",
        ("x + multi_head", "multi_head"),
        ("x + mlp", "mlp"),
    ),
    Mistake(
        "The second addition is missing, so the MLP's result replaces the stream. Return x + mlp(…).",
        ("x + mlp", "mlp"),
    ),
    Mistake(
        "The first addition is missing, so attention's result replaces the stream. Add it to x.",
        ("x + multi_head", "multi_head"),
    ),
    Mistake(
        "Here attention and MLP read the same x, as in GPT-J. In GPT-2 the MLP reads what attention has added.",
        ("x = x + multi_head", "after = x + multi_head"),
        ("return x + mlp", "return after + mlp"),
    ),
    Mistake(
        "The results are added to the normalised x. Keep x, and give the normalised one only to the part.",
        ("x = x + multi_head", "x = normed + multi_head"),
        ("return x + mlp", "return normed + mlp"),
    ),
    Mistake(
        "`ln_1` is used twice. The MLP has a LayerNorm of its own, `ln_2`.",
        (
            'weights["ln_2.weight"], weights["ln_2.bias"]',
            'weights["ln_1.weight"], weights["ln_1.bias"]',
        ),
    ),
    Mistake(
        "The LayerNorms are missing. Each part reads a normalised x.",
        ("multi_head(normed,", "multi_head(x,"),
        ("mlp(normed,", "mlp(x,"),
    ),
    Mistake(
        "What attention has added is lost: the MLP's result is added to the x from the beginning. Write the first sum back to x.",
        ("x = x + multi_head", "start, x = x, x + multi_head"),
        ("return x + mlp", "return start + mlp"),
    ),
    Mistake(
        "The MLP comes first here, and attention after it. In GPT-2 attention is first.",
        code=_wrong("""
    x = x + think(norm("ln_2", x))
    return x + attend(norm("ln_1", x))
"""),
    ),
    Mistake(
        "The second LayerNorm reads what the first one made. It should read the x that attention has written to.",
        (
            "normed = layer_norm(x, gamma, beta)\n    return",
            "normed = layer_norm(normed, gamma, beta)\n    return",
        ),
    ),
    Mistake(
        "The MLP reads what `ln_1` made for attention. Normalise the new x for it, with `ln_2`.",
        ("    normed = layer_norm(x, gamma, beta)\n    return", "    return"),
    ),
    Mistake(
        "The MLP reads the stream itself. It should read it through `ln_2`.",
        ("mlp(normed,", "mlp(x,"),
    ),
    Mistake(
        "Attention reads the stream itself. It should read it through `ln_1`.",
        ("multi_head(normed,", "multi_head(x,"),
    ),
    Mistake(
        "γ and β are swapped. `weight` is γ and comes first: `layer_norm(x, gamma, beta)`.",
        (
            'gamma, beta = weights["ln_1.weight"], weights["ln_1.bias"]',
            'beta, gamma = weights["ln_1.weight"], weights["ln_1.bias"]',
        ),
        (
            'gamma, beta = weights["ln_2.weight"], weights["ln_2.bias"]',
            'beta, gamma = weights["ln_2.weight"], weights["ln_2.bias"]',
        ),
    ),
    Mistake(
        "Some name is not among the weights. If a part does not find its own: the prefix ends with a dot, `attn.` and `mlp.`, or else the names that are left begin with one.",
        ('"attn."', '"attn"'),
        ('"mlp."', '"mlp"'),
    ),
)


def right(x, weights, n_head):
    theirs = Block(GPT2Config(n_embd=x.size(-1), n_head=n_head, block_size=x.size(1))).eval()
    theirs.load_state_dict(weights)
    return theirs(x)


def _weights(C, generator):
    """Numbers for every tensor of a block, biases and LayerNorms too."""
    shapes = Block(GPT2Config(n_embd=C, n_head=1)).state_dict()
    return {
        name: torch.randn(tensor.shape, generator=generator) / (2 if tensor.ndim == 2 else 1)
        for name, tensor in shapes.items()
    }


def cases():
    generator = torch.Generator().manual_seed(10)
    zeros = {name: 0 * tensor for name, tensor in _weights(2, generator).items()}
    # γ = 1, and both parts add their last bias alone: (1, 0) and then (0, 1)
    simple = zeros | {"ln_1.weight": torch.ones(2), "ln_2.weight": torch.ones(2)}
    simple |= {"attn.c_proj.bias": torch.tensor([1.0, 0.0])}
    simple |= {"mlp.c_proj.bias": torch.tensor([0.0, 1.0])}
    x = torch.randn(2, 5, 6, generator=generator)
    weights = _weights(6, generator)
    return [
        Case("all weights 0: x as it was", (torch.tensor([[[1.0, 3.0]]]), zeros, 1)),
        Case("the parts add (1, 0) and (0, 1)", (torch.tensor([[[1.0, 3.0]]]), simple, 1)),
        Case("random numbers, three heads", (x, weights, 3)),
        Case("the same with one head", (x, weights, 1)),
        Case("one token", (x[:, :1], weights, 2)),
        Case("one text, a stream of large numbers", (20 * x[:1], weights, 3)),
    ]
