"""The names of a compiled model."""

import torch

from ...exercise import Case, Mistake

ORDER = 20
KIND = "repair"
LEVEL = 2
RANK = "extra"
MINUTES = 8

TASK = r"""
`torch.compile(model)` returns a wrapper. In a checkpoint saved from it, the names have `_orig_mod.` in front, and a plain model does not load it. Where only one block was compiled, the same word is inside the name: `transformer.h.0._orig_mod.ln_1.weight`.

`plain_names` takes such a checkpoint, {name: tensor}, and returns a new dictionary with the names of the plain model and the same tensors. The checkpoint itself stays as it is, and so do names without such a part. Where both the model and one of its blocks were compiled, the word is in a name twice.

An example: `{"_orig_mod.mlp.c_fc.bias": t}` becomes `{"mlp.c_fc.bias": t}`.

The function below was used for months on whole models, where every name begins with `transformer` or `lm_head`, and never failed. Find its bug and fix it.
"""

HINTS = (
    'What does `"_orig_mod.mlp.c_fc.bias".lstrip("_orig_mod.")` give? Try it.',
    "`lstrip` takes a *set of characters* and strips as long as the next one is in it. Which method of strings knows a whole word?",
    "The word may be anywhere, so replace it, with its full stop, by nothing.",
)

START = '''
def plain_names(checkpoint):
    """{name: tensor} → a new {name: tensor}, without "_orig_mod."."""
    raise NotImplementedError(
        "find the bug, fix it, delete this line"
    )
    return {
        name.lstrip("_orig_mod."): tensor
        for name, tensor in checkpoint.items()
    }
'''

SOLUTION = """
def plain_names(checkpoint):
    # replace, not removeprefix: a compiled block has the word further in
    return {
        name.replace("_orig_mod.", ""): tensor
        for name, tensor in checkpoint.items()
    }
"""

MISTAKES = (
    Mistake(
        "`lstrip` strips single characters, not a word: the m of `mlp` is in its set and goes too. With `transformer` it worked because no t is in the set.",
        ('replace("_orig_mod.", "")', 'lstrip("_orig_mod.")'),
    ),
    Mistake(
        "`removeprefix` fixes the names that begin with the word. Where a single block was compiled, the word is inside the name.",
        ('replace("_orig_mod.", "")', 'removeprefix("_orig_mod.")'),
    ),
    Mistake(
        "This cuts ten characters from every name, even from those that never began with the word.",
        ('name.replace("_orig_mod.", "")', "name[10:]"),
    ),
    Mistake(
        "The word is gone, but its full stop is left. Replace both.",
        ('"_orig_mod."', '"_orig_mod"'),
    ),
    Mistake(
        "This keeps only what comes after the word, so `transformer.h.0.` in front of it is lost. Remove the word alone, with its full stop.",
        ('replace("_orig_mod.", "")', 'split("_orig_mod.")[-1]'),
    ),
    Mistake(
        "This keeps what stands between the first two words. Remove the word alone, with its full stop.",
        ('replace("_orig_mod.", "")', 'split("_orig_mod.")[1]'),
    ),
    Mistake(
        "The names are right, but you changed the checkpoint itself. Return a new dictionary.",
        code="""
def plain_names(checkpoint):
    for name in list(checkpoint):
        checkpoint[name.replace("_orig_mod.", "")] = checkpoint.pop(name)
    return checkpoint
""",
    ),
    Mistake(
        "Only the first of two words in a name is removed. Leave out the number, and `replace` removes all.",
        ('replace("_orig_mod.", "")', 'replace("_orig_mod.", "", 1)'),
    ),
    Mistake(
        "The old names are still there. Return only the new ones, in a new dictionary.",
        ("    return {", "    return checkpoint | {"),
    ),
    Mistake(
        "Names without the word are left out. They belong to the model as well, and stay as they are.",
        ("in checkpoint.items()", 'in checkpoint.items() if "_orig_mod." in name'),
    ),
)


def right(checkpoint):
    return {
        ".".join(part for part in name.split(".") if part != "_orig_mod"): tensor
        for name, tensor in checkpoint.items()
    }


def cases():
    t = torch.arange(6.0).view(2, 3)
    return [
        Case("one name of a compiled block", ({"_orig_mod.mlp.c_fc.bias": t.half()},)),
        Case(
            "a compiled model",
            ({"_orig_mod.transformer.wte.weight": t, "_orig_mod.lm_head.weight": t + 1},),
        ),
        Case(
            "a compiled model with one compiled block",
            ({"_orig_mod.transformer.h.0._orig_mod.ln_1.weight": t},),
        ),
        Case(
            "a model with one compiled block",
            (
                {
                    "transformer.wpe.weight": t,
                    "transformer.h.0._orig_mod.ln_1.weight": t + 1,
                    "transformer.h.0._orig_mod.mlp.c_fc.weight": t + 2,
                },
            ),
        ),
        Case(
            "a plain model",
            ({"transformer.h.0.attn.c_attn.weight": t, "transformer.ln_f.bias": t + 1},),
        ),
    ]
