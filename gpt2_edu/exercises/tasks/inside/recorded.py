"""A hook, and off again."""

from copy import deepcopy

import torch
from torch import nn

from ...exercise import Case, Mistake

ORDER = 35
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 12

TASK = r"""
Models that are not this book's have no `trace`. PyTorch's own instrument works in all of them. It is the *hook*, a function that a layer calls each time it has computed something.

Record what the layer called `path` returns while `model` reads `idx`. Then remove the hook and let the model read `other`, of which nothing may be recorded. Return the list of everything recorded, a tensor for each time that the layer ran.

- `model.get_submodule(path)` returns the layer of that name.
- `layer.register_forward_hook(hook)` registers a hook and returns a handle. From then on the layer calls `hook(layer, args, output)`. What the hook returns replaces the output, unless it returns nothing.
- `handle.remove()` removes it.

A later layer may write into the same tensor, so keep a copy. In `nn.Sequential(nn.Linear(3, 2), nn.ReLU(inplace=True))`, for example, the ReLU overwrites what the linear layer `"0"` returned.
"""

HINTS = (
    "Begin with an empty list, `kept`. The hook appends to it and returns nothing.",
    "The order is register, `model(idx)`, remove, `model(other)`.",
    "In the hook, `kept.append(output.detach().clone())`: `detach` leaves the graph behind, and `clone` makes the copy.",
)

START = '''
def recorded(model, path, idx, other):
    """What the layer at path returns for idx. Returns a list of tensors."""
    ...
'''

SOLUTION = """
def recorded(model, path, idx, other):
    kept = []

    def hook(layer, args, output):
        kept.append(output.detach().clone())  # a later layer may write into it

    handle = model.get_submodule(path).register_forward_hook(hook)
    model(idx)
    handle.remove()
    model(other)
    return kept
"""

MISTAKES = (
    Mistake(
        "The hook is still there when the model reads `other`, so that pass is recorded too. Only `handle.remove()` takes it away; `del handle` does not.",
        ("    handle.remove()\n", ""),
    ),
    Mistake(
        "The hook is still there when the model reads `other`. A copy of the list hides that; take the hook away with `handle.remove()`.",
        ("    handle.remove()\n", "    found = list(kept)\n"),
        ("return kept", "return found"),
    ),
    Mistake(
        "Nothing is recorded, because the hook is removed before the model runs. Register, run the model on `idx`, then remove.",
        ("    model(idx)\n", ""),
        ("handle.remove()\n", "handle.remove()\n    model(idx)\n"),
    ),
    Mistake(
        "This is the layer's input. The output is the third argument of the hook.",
        ("output.detach()", "args[0].detach()"),
    ),
    Mistake(
        "This is the output of the whole model. Register the hook on the layer, `model.get_submodule(path)`.",
        ("model.get_submodule(path)", "model"),
    ),
    Mistake(
        "The tensor that you kept was overwritten by the next layer, which works in place. Keep a copy, `output.detach().clone()`.",
        (".detach().clone()", ".detach()"),
    ),
    Mistake(
        "A model's own hooks run only if the model is called. `model.forward(idx)` skips them, so write `model(idx)`.",
        ("model(idx)", "model.forward(idx)"),
        ("model(other)", "model.forward(other)"),
    ),
    Mistake(
        "You return the last tensor alone. A layer may run several times in one pass, so return the list.",
        ("return kept", "return kept[-1]"),
    ),
    Mistake(
        "You return the first tensor alone. A layer may run several times in one pass, so return the list.",
        ("return kept", "return kept[0]"),
    ),
    Mistake(
        "The hook keeps only the newest output. A layer may run several times in one pass, so append each.",
        ("kept.append(output.detach().clone())", "kept[:] = [output.clone()]"),
    ),
    Mistake(
        "You call the layer on the ids themselves. It should get what the layers before it computed, so let the model run and listen with a hook.",
        code="""
def recorded(model, path, idx, other):
    return [model.get_submodule(path)(idx)]
""",
    ),
    Mistake(
        "The hook returns something, and PyTorch takes it for the layer's new output. Only append in it, without a `return`.",
        (
            "  # a later layer may write into it\n",
            "\n        return torch.zeros_like(output)\n",
        ),
    ),
)


@torch.no_grad()
def right(model, path, idx, other):
    # Without a hook: the layer's forward is wrapped for one pass.
    layer, kept = model.get_submodule(path), []
    plain = layer.forward

    def wrapped(*args):
        out = plain(*args)
        kept.append(out.clone())
        return out

    layer.forward = wrapped
    (model.forward if layer is not model else wrapped)(idx)
    del layer.forward
    return kept


class _Alone(nn.Linear):
    """A layer that refuses the shorter text while a hook is there."""

    def forward(self, x):
        if self._forward_hooks and x.size(1) == 2:
            raise RuntimeError("the hook is still there when the model reads `other`")
        return super().forward(x)


class _Twice(nn.Module):
    """The same layer two times, one after the other."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(7, 3), nn.Linear(3, 3)

    def forward(self, idx):
        return self.layer(self.layer(self.table(idx)))


def cases():
    with torch.random.fork_rng(devices=[]):  # the reader's random numbers stay as they are
        torch.default_generator.manual_seed(17)
        table, first, last = nn.Embedding(7, 3), nn.Linear(3, 2), nn.Linear(2, 5)
        twice, alone = _Twice(), nn.Sequential(nn.Embedding(7, 3), _Alone(3, 2))
    plain = nn.Sequential(table, first, nn.Tanh(), last)
    in_place = nn.Sequential(table, first, nn.ReLU(inplace=True), last)
    idx, other = torch.tensor([[0, 3, 5, 2]]), torch.tensor([[1, 6]])
    shown = (
        ("a linear layer after a table", plain, "1"),
        ("the layer that follows works in place", in_place, "1"),
        ("a layer that runs twice in one pass", twice, "layer"),
        ('the model itself, path ""', plain, ""),
        ("the hook is gone afterwards", alone, "1"),
    )
    # a hook that one case leaves behind must not be there in the next one
    return [Case(label, (deepcopy(model), path, idx, other)) for label, model, path in shown]
