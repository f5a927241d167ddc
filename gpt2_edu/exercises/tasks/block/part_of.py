"""The weights of one part."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 1
RANK = "extra"
MINUTES = 6

TASK = r"""
A block's `state_dict()` is a dictionary from names to tensors: `ln_1.weight`, `attn.c_attn.weight`, `mlp.c_fc.bias` and so on. The MLP by itself knows its weights by shorter names: `c_fc.bias`.

Write the function that gets from one to the other. It keeps the tensors whose names *begin* with `prefix`, and cuts that prefix off. The others are left out.

For example, `{"ln_1.bias": a, "mlp.c_fc.bias": b}` and the prefix `"mlp."` give `{"c_fc.bias": b}`. The next exercise, the block, uses it.
"""

HINTS = (
    "Loop over `weights.items()`. Strings have `.startswith(…)`.",
    "`name.removeprefix(prefix)` cuts off the prefix. (`strip` and `lstrip` remove single letters, not a word, and `replace` also replaces later occurrences.)",
)

START = '''
def part_of(weights, prefix):
    """weights {name: tensor}. Returns a dictionary of the same kind."""
    ...
'''

SOLUTION = """
def part_of(weights, prefix):
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in weights.items()
        if name.startswith(prefix)
    }
"""

MISTAKES = (
    Mistake(
        "`in` finds the prefix anywhere in a name. Check whether the name begins with it: `name.startswith(prefix)`.",
        ("name.startswith(prefix)", "prefix in name"),
    ),
    Mistake(
        "The names are still complete. Cut the prefix off: `name.removeprefix(prefix)`.",
        ("name.removeprefix(prefix)", "name"),
    ),
    Mistake(
        "`lstrip` removes single letters as long as they occur in the prefix, so it eats into the name. Use `removeprefix`.",
        ("removeprefix", "lstrip"),
    ),
    Mistake(
        "The other tensors are still there. Keep only those whose names begin with the prefix.",
        ("        if name.startswith(prefix)\n", ""),
    ),
    Mistake(
        "`replace` removes the prefix wherever it occurs, even in the middle of a name. Use `removeprefix`.",
        ("name.removeprefix(prefix)", 'name.replace(prefix, "")'),
    ),
    Mistake(
        "This keeps only the last piece of each name. `c_fc.weight` and `c_proj.weight` then share one name, and one tensor is lost.",
        ("name.removeprefix(prefix)", 'name.split(".")[-1]'),
    ),
    Mistake(
        "`in` finds the prefix anywhere in a name, and `replace` removes it wherever it occurs. Use `name.startswith(prefix)` and `name.removeprefix(prefix)`.",
        ("name.removeprefix(prefix)", 'name.replace(prefix, "")'),
        ("name.startswith(prefix)", "prefix in name"),
    ),
    Mistake(
        "You cut at the first dot, and a prefix may have several. Cut off the prefix itself: `name.removeprefix(prefix)`.",
        ("name.removeprefix(prefix)", 'name.split(".", 1)[1]'),
    ),
    Mistake(
        "You cut off one letter too many. The prefix has its dot already: `name[len(prefix):]`, or `name.removeprefix(prefix)`.",
        ("name.removeprefix(prefix)", "name[len(prefix) + 1 :]"),
    ),
    Mistake(
        "You take the tensors out of the dictionary that you were given. Read them, `weights[name]`, and leave it whole.",
        code="""
def part_of(weights, prefix):
    names = [name for name in weights if name.startswith(prefix)]
    return {name.removeprefix(prefix): weights.pop(name) for name in names}
""",
    ),
    Mistake(
        "Only the first tensor is returned, because the `return` is inside the loop. Move it to the left, under `for`.",
        code="""
def part_of(weights, prefix):
    found = {}
    for name, tensor in weights.items():
        if name.startswith(prefix):
            found[name.removeprefix(prefix)] = tensor
            return found
""",
    ),
    Mistake(
        "These are the names alone. Return a dictionary, with the tensor of each name.",
        code="""
def part_of(weights, prefix):
    return [name.removeprefix(prefix) for name in weights if name.startswith(prefix)]
""",
    ),
)


def right(weights, prefix):
    return {name[len(prefix) :]: weights[name] for name in weights if name[: len(prefix)] == prefix}


def cases():
    names = (
        "ln_1.weight attn.c_attn.weight attn.c_proj.weight ln_2.weight "
        "mlp.c_fc.weight mlp.c_fc.bias mlp.c_proj.weight"
    ).split()
    block = {name: torch.full((2,), float(i)) for i, name in enumerate(names)}
    stack = {f"h.{layer}.{name}": layer + block[name] for layer in (1, 10, 11) for name in names}
    longer = {"transformer." + name: tensor for name, tensor in stack.items()}
    pair = {"ln_1.bias": torch.tensor([1.0]), "mlp.c_fc.bias": torch.tensor([2.0])}
    odd = {"a.b.a.weight": torch.ones(1), "b.a.weight": torch.zeros(1)}
    return [
        Case("two tensors, one of them in the MLP", (pair, "mlp.")),
        Case("the attention of a block", (block, "attn.")),
        Case("block 1 of a stack that has 10 and 11 too", (stack, "h.1.")),
        Case("a longer beginning", (longer, "transformer.h.10.")),
        Case("a beginning that comes back later in the name", (odd, "a.")),
        Case("a beginning that no name has", (block, "ln_f.")),
    ]
