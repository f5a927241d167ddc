"""A batch, and the loop."""

from typing import Any

import torch
from torch import Tensor, nn

from ....training import plain
from ...comparing import Labelled
from ...exercise import Case, Mistake

PARTS = ("batch", "train")
IMPORTS = (
    "import torch",
    "from torch.nn import functional as F",
)

START = '''
def batch(ids, batch_size, T):
    """Windows from anywhere in ids: inputs (B, T), and their targets."""
    ...


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3):
    """Let the model learn to predict ids. Returns the loss of every step."""
    ...
'''

SOLUTION = '''
def batch(ids, batch_size, T):
    """Windows from anywhere in ids: inputs (B, T), and their targets."""
    starts = torch.randint(len(ids) - T, (batch_size,))
    windows = torch.stack([ids[start : start + T + 1] for start in starts])
    return windows[:, :-1], windows[:, 1:]


def train(model, ids, steps, batch_size=16, T=64, lr=1e-3):
    """Let the model learn to predict ids. Returns the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        inputs, targets = batch(ids, batch_size, T)
        logits = model(inputs)  # (B, T, V)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
'''


MISTAKES = (
    Mistake(
        "The last window is never drawn, and a row of T + 1 ids has no window at all. "
        "`torch.randint(n, …)` never returns n, so n is `len(ids) - T`.",
        ("len(ids) - T,", "len(ids) - T - 1,"),
    ),
    Mistake(
        "Your windows have T tokens, so only T − 1 remain for the inputs. Cut T + 1.",
        ("start + T + 1", "start + T"),
    ),
    Mistake(
        "All windows of a batch are the same, because one start is drawn and used for all. Draw "
        "`batch_size` starts, `torch.randint(len(ids) - T, (batch_size,))`.",
        ("(batch_size,))", "(1,)).expand(batch_size)"),
    ),
    Mistake(
        "`backward` adds to the gradients that are there. Clear those of the previous step with "
        "`optimizer.zero_grad()`.",
        ("        optimizer.zero_grad()\n", ""),
    ),
    Mistake(
        "Nothing is learned, because no `step` uses the gradients of its `backward`. The order is "
        "`zero_grad`, `backward`, `step`.",
        (
            "        optimizer.zero_grad()\n        loss.backward()\n",
            "        loss.backward()\n        optimizer.zero_grad()\n",
        ),
    ),
    Mistake(
        "The optimiser uses its default learning rate. Pass it yours: `lr=lr`.",
        ("model.parameters(), lr=lr", "model.parameters()"),
    ),
    Mistake(
        "This is Adam, which by default has no weight decay. The loop uses `torch.optim.AdamW`.",
        ("AdamW", "Adam"),
    ),
    Mistake(
        "AdamW starts afresh in every step and forgets its means. Create the optimiser once, before "
        "the loop.",
        (
            "        optimizer.zero_grad()\n",
            "        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)\n"
            "        optimizer.zero_grad()\n",
        ),
    ),
    Mistake(
        "A start may be so late that its window ends after the text. A window takes T + 1 ids, so "
        "draw from `torch.randint(len(ids) - T, …)`.",
        ("len(ids) - T,", "len(ids),"),
    ),
    Mistake(
        "The last start is one too late for a window of T + 1 ids. `torch.randint(n, …)` never "
        "returns n, so n is `len(ids) - T`.",
        ("len(ids) - T,", "len(ids) - T + 1,"),
    ),
    Mistake(
        "The targets are the inputs themselves. A target is the token after its input: cut T + 1 "
        "ids, and shift by one.",
        ("start + T + 1", "start + T"),
        ("windows[:, :-1], windows[:, 1:]", "windows, windows"),
    ),
    Mistake(
        "Your windows always begin at the same places. Draw their starts at random: "
        "`torch.randint(len(ids) - T, (batch_size,))`.",
        ("torch.randint(len(ids) - T, (batch_size,))", "torch.arange(batch_size) * T"),
    ),
    Mistake(
        "One batch is drawn before the loop, and every step sees it again. Draw a new one in every "
        "step.",
        ("        inputs, targets = batch(ids, batch_size, T)\n", ""),
        ("    losses = []\n", "    losses = []\n    inputs, targets = batch(ids, batch_size, T)\n"),
    ),
    Mistake(
        "`train` passes numbers of its own to `batch`. Pass on `batch_size` and `T`.",
        ("batch(ids, batch_size, T)\n", "batch(ids, 16, 64)\n"),
    ),
    Mistake(
        "The losses are tensors that still hold the graph of their step, so that memory fills up. "
        "Keep the number alone: `loss.item()`.",
        ("loss.item()", "loss"),
    ),
    Mistake(
        "The `return` is inside the loop, which ends after one step. Move it to the left, under "
        "`for`.",
        ("    return losses", "        return losses"),
    ),
    Mistake(
        "`cross_entropy` expects the classes on the second axis, and (B, T, V) has T there. Flatten "
        "B and T: `logits.flatten(0, 1), targets.flatten()`.",
        ("logits.flatten(0, 1), targets.flatten()", "logits, targets"),
    ),
    Mistake(
        "The targets are cut from wider rows, so `view` cannot flatten them. Use `flatten` or "
        "`reshape`.",
        ("targets.flatten()", "targets.view(-1)"),
    ),
    Mistake(
        "This is plain gradient descent, which needs other learning rates. The loop uses "
        "`torch.optim.AdamW`.",
        ("AdamW", "SGD"),
    ),
    Mistake(
        "The loss compares the logits with the inputs, so that the model learns to repeat what it "
        "reads. Compare with the targets.",
        ("targets.flatten())", "inputs.flatten())"),
    ),
    Mistake(
        "Your windows begin only at multiples of T. They should begin anywhere: "
        "`torch.randint(len(ids) - T, (batch_size,))`.",
        (
            "torch.randint(len(ids) - T, (batch_size,))",
            "torch.randint((len(ids) - 1) // T, (batch_size,)) * T",
        ),
    ),
    Mistake(
        "This is the sum over all positions. The loss is their mean, which `cross_entropy` takes by "
        "itself.",
        ("targets.flatten())", 'targets.flatten(), reduction="sum")'),
    ),
    Mistake(
        "Your model returns the logits alone: `logits = model(inputs)`.",
        ("logits = model(inputs)", "logits, _ = model(inputs)"),
    ),
    Mistake(
        "`batch` sets the seed, so that every batch is the same. Leave the seed to whoever calls it.",
        ("    starts = torch.randint(", "    torch.manual_seed(0)\n    starts = torch.randint("),
    ),
    Mistake(
        "`flatten()` joins the V classes as well. Only B and T are joined: `logits.flatten(0, 1)`.",
        ("logits.flatten(0, 1)", "logits.flatten()"),
    ),
    Mistake(
        "Your windows always begin at the same places. Draw their starts at random: `torch.randint(len(ids) - T, (batch_size,))`.",
        (
            "torch.randint(len(ids) - T, (batch_size,))",
            "torch.zeros(batch_size, dtype=torch.int64)",
        ),
    ),
)

TOLERANCE = 1e-4


def properties(value: Any, what: str, *given: Any) -> str | None:
    if what == "batch" and value["targets minus inputs"] != [1]:
        return (
            "The ids of this case are 0, 1, 2, … in order, so a target is its input plus 1: the "
            "token that follows."
        )
    return None


def table(V: int) -> nn.Embedding:
    """The smallest model there is: a row of logits for each token."""
    model = nn.Embedding(V, V)
    nn.init.zeros_(model.weight)
    return model


def use(part: Any, what: str, ids: Tensor, *given: Any) -> Any:
    torch.default_generator.manual_seed(0)
    if what == "batch":
        pair = part.batch(ids, *given)
        good = isinstance(pair, list | tuple) and len(pair) == 2
        if not good or any(getattr(each, "ndim", 0) != 2 for each in pair):
            raise ValueError("batch should return inputs and targets, two tensors (B, T)")
        inputs, targets = pair
        # Where a window begins is drawn, in whatever way; what belongs together is not.
        drawn = [part.batch(ids, *given)[0] for _ in range(30)]
        return Labelled(
            {
                "shape of the inputs": list(inputs.shape),
                "shape of the targets": list(targets.shape),
                "targets minus inputs": difference(inputs, targets),
                "a window can begin anywhere": bool(
                    (torch.cat(drawn)[:, 0] % inputs.size(1)).any()
                ),
                "two batches begin elsewhere": len({int(each[0, 0]) for each in drawn}) > 1,
                "two windows of a batch begin elsewhere": any(
                    len(each[:, 0].unique()) > 1 for each in drawn
                ),
            }
        )
    model = table(11)
    read = reading(model)
    losses = part.train(model, ids, *given)
    return Labelled(
        {
            "shape of what the model reads": list(read[0].shape),
            "all steps read the same batch": all(torch.equal(each, read[0]) for each in read),
            **measured(losses),
            "what follows each id": model.weight.argmax(dim=-1).tolist(),
        }
    )


def reading(model: nn.Module) -> list[Tensor]:
    """A list that is filled with what the model reads."""
    read: list[Tensor] = []
    model.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    return read


def measured(losses: Any) -> dict[str, Any]:
    """What is compared of the losses that a loop returns."""
    losses = [losses] if isinstance(losses, float) else losses
    if not isinstance(losses, list | tuple | Tensor):
        raise ValueError("train should return a list, with the loss of every step")
    parts = {"first": losses[:1], "second": losses[1:2], "last": losses[-1:]}
    numbers = {
        f"the {name} loss": round(torch.as_tensor(some[0]).item(), 3) if len(some) else None
        for name, some in parts.items()
    }
    graphs = sum(getattr(loss, "requires_grad", False) for loss in losses)
    return {"number of losses": len(losses), **numbers, "losses with their graph": graphs}


def difference(inputs: Tensor, targets: Tensor) -> list[int]:
    return (targets - inputs).unique().tolist() if targets.shape == inputs.shape else []


def right(what: str, ids: Tensor, *given: Any) -> Any:
    return use(plain, what, ids, *given)


def cases() -> list[Case]:
    # T = 22 = 2 · 11: every window has each token twice, wherever it begins.
    ring = torch.arange(400) % 11
    return [
        Case("batch: 3 windows of 5 tokens", ("batch", torch.arange(50), 3, 5)),
        Case("batch: one window, all there is", ("batch", torch.arange(9), 2, 8)),
        Case("train: 40 steps", ("train", ring, 40, 4, 22, 0.1)),
        Case("train: one step", ("train", ring, 1, 2, 22)),
    ]
