"""Learning to answer, with few weights."""

from typing import Any

import torch
from torch import Tensor, nn

from ...comparing import Labelled
from ...exercise import Case, Mistake
from ...step import fill, random_tensor
from ..gpt2.build import NAMES, theirs

PARTS = ("answers_only", "LoRA", "add_lora")
IMPORTS = ("import torch", "from torch import nn")

START = '''
def answers_only(ids, answer):  # two lists → (1, T) and (1, T)
    """What the model reads, and its targets: -100 where none counts."""
    ...


class LoRA(nn.Module):
    def __init__(self, linear, rank=4, alpha=8):
        super().__init__()
        ...  # linear, frozen, and scale
        ...  # A (rank, in), random, and B (out, rank), zeros

    def forward(self, x):  # (..., in) → (..., out)
        ...

    @torch.no_grad()
    def merged(self):
        """The linear map, with what A and B have learned in its weight."""
        ...


def add_lora(model, rank=4, alpha=8):
    """A LoRA around the four maps of every block; all else is frozen."""
    ...
    return model
'''

SOLUTION = '''
def answers_only(ids, answer):  # two lists → (1, T) and (1, T)
    """What the model reads, and its targets: -100 where none counts."""
    targets = [i if own else -100 for i, own in zip(ids[1:], answer[1:])]
    return torch.tensor([ids[:-1]]), torch.tensor([targets])


class LoRA(nn.Module):
    def __init__(self, linear, rank=4, alpha=8):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.scale = alpha / rank
        n_in, n_out = linear.in_features, linear.out_features
        self.A = nn.Parameter(torch.randn(rank, n_in) / n_in**0.5)
        self.B = nn.Parameter(torch.zeros(n_out, rank))

    def forward(self, x):  # (..., in) → (..., out)
        return self.linear(x) + self.scale * (x @ self.A.T @ self.B.T)

    @torch.no_grad()
    def merged(self):
        """The linear map, with what A and B have learned in its weight."""
        self.linear.weight += self.scale * (self.B @ self.A)
        return self.linear


def add_lora(model, rank=4, alpha=8):
    """A LoRA around the four maps of every block; all else is frozen."""
    model.requires_grad_(False)
    for block in model.h:
        attn, mlp = block.attn, block.mlp
        attn.c_attn = LoRA(attn.c_attn, rank, alpha)
        attn.c_proj = LoRA(attn.c_proj, rank, alpha)
        mlp.c_fc = LoRA(mlp.c_fc, rank, alpha)
        mlp.c_proj = LoRA(mlp.c_proj, rank, alpha)
    return model
'''

MERGE = """\
        self.linear.weight += self.scale * (self.B @ self.A)
        return self.linear
"""

MISTAKES = (
    # ---- answers_only
    Mistake(
        "The flag of the input is used. What counts is whether the *next* token is to be said: "
        "`answer[1:]`.",
        ("answer[1:]", "answer"),
    ),
    Mistake(
        "The targets are the inputs. A target is the id that follows, so they begin with `ids[1:]`.",
        ("zip(ids[1:], answer[1:])", "zip(ids, answer[1:])"),
    ),
    Mistake(
        "The question counts as well. Where the flag is False, the target is −100.",
        ("i if own else -100", "i"),
    ),
    Mistake(
        "The question counts, and the answer does not. True marks what the model is to say.",
        ("i if own else -100", "-100 if own else i"),
    ),
    Mistake(
        "The last id is among the inputs, although nothing follows it: `ids[:-1]`.",
        ("[ids[:-1]]", "[ids]"),
    ),
    Mistake(
        "What does not count is marked with 0, which is a token. Cross-entropy ignores −100.",
        ("else -100", "else 0"),
    ),
    Mistake(
        "Both tensors lack the axis of the batch. They are (1, T): put the list into a list.",
        (
            "torch.tensor([ids[:-1]]), torch.tensor([targets])",
            "torch.tensor(ids[:-1]), torch.tensor(targets)",
        ),
    ),
    # ---- LoRA
    Mistake(
        "α/r is missing. What A and B add is multiplied by it: `self.scale`.",
        ("self.scale * (x @", "(x @"),
    ),
    Mistake(
        "The scale is α. It is α divided by the rank, so that another rank needs no other learning "
        "rate.",
        ("alpha / rank", "alpha"),
    ),
    Mistake(
        "The scale is upside down. It is α / r.",
        ("alpha / rank", "rank / alpha"),
    ),
    Mistake(
        "A and B are there, but the output of the frozen map is not: `self.linear(x) + …`.",
        ("self.linear(x) + ", ""),
    ),
    Mistake(
        "B is random at first, so the model says something else before any training. Begin with "
        "zeros.",
        ("torch.zeros(n_out, rank)", "torch.randn(n_out, rank)"),
    ),
    Mistake(
        "A and B are both 0 at first. Then both gradients are 0 as well, and nothing is ever "
        "learned. Draw A at random.",
        ("torch.randn(rank, n_in) / n_in**0.5", "torch.zeros(rank, n_in)"),
    ),
    Mistake(
        "A and B are plain tensors, so no optimizer finds them. Make each an `nn.Parameter`.",
        (
            "nn.Parameter(torch.randn(rank, n_in) / n_in**0.5)",
            "torch.randn(rank, n_in) / n_in**0.5",
        ),
        ("nn.Parameter(torch.zeros(n_out, rank))", "torch.zeros(n_out, rank)"),
    ),
    Mistake(
        "The linear map is still trained. Freeze it with `linear.requires_grad_(False)`.",
        ("linear.requires_grad_(False)", "linear"),
    ),
    Mistake(
        "A reads the output of the linear map here. It reads x, beside it.",
        ("(x @ self.A.T", "(self.linear(x)[..., : self.A.size(1)] @ self.A.T"),
    ),
    Mistake(
        "The whole output is scaled. Only what A and B add is.",
        (
            "self.linear(x) + self.scale * (x @ self.A.T @ self.B.T)",
            "self.scale * (self.linear(x) + x @ self.A.T @ self.B.T)",
        ),
    ),
    Mistake(
        "Something bends the product between A and B. There is nothing between them, and so they "
        "can be merged.",
        ("(x @ self.A.T @ self.B.T)", "((x @ self.A.T).relu() @ self.B.T)"),
    ),
    # ---- merged
    Mistake(
        "The scale is missing in `merged`, so the merged map is another one.",
        ("+= self.scale * (self.B", "+= (self.B"),
    ),
    Mistake(
        "`merged` replaces the weight by what was learned. Add it to the weight.",
        ("self.linear.weight += self.scale", "self.linear.weight[:] = self.scale"),
    ),
    Mistake(
        "`merged` takes away what was learned. Add it.",
        ("self.linear.weight += ", "self.linear.weight -= "),
    ),
    Mistake(
        "`merged` returns the frozen map as it was, without what A and B have learned.",
        (MERGE, "        return self.linear\n"),
    ),
    Mistake(
        "`merged` returns the LoRA itself. Return the linear map, so that A and B can be thrown "
        "away.",
        (MERGE, MERGE.replace("return self.linear", "return self")),
    ),
    # ---- add_lora
    Mistake(
        "The rest of the model is still trained: the tables, the norms and the biases. Freeze all "
        "of it first: `model.requires_grad_(False)`.",
        ("    model.requires_grad_(False)\n", ""),
    ),
    Mistake(
        "The model is frozen after the LoRAs are in it, so they are frozen, too. Freeze it first.",
        ("    model.requires_grad_(False)\n", ""),
        ("    return model", "    model.requires_grad_(False)\n    return model"),
    ),
    Mistake(
        "Only attention has LoRAs. The MLP's two maps, `c_fc` and `c_proj`, get one as well.",
        (
            """\
        mlp.c_fc = LoRA(mlp.c_fc, rank, alpha)
        mlp.c_proj = LoRA(mlp.c_proj, rank, alpha)
""",
            "",
        ),
    ),
    Mistake(
        "Only the MLP has LoRAs. Attention's two maps, `c_attn` and `c_proj`, get one as well.",
        (
            """\
        attn.c_attn = LoRA(attn.c_attn, rank, alpha)
        attn.c_proj = LoRA(attn.c_proj, rank, alpha)
""",
            "",
        ),
    ),
    Mistake(
        "Only `c_attn` has a LoRA. All four maps of a block get one.",
        (
            """\
        attn.c_proj = LoRA(attn.c_proj, rank, alpha)
        mlp.c_fc = LoRA(mlp.c_fc, rank, alpha)
        mlp.c_proj = LoRA(mlp.c_proj, rank, alpha)
""",
            "",
        ),
    ),
    Mistake(
        "Only the first block has LoRAs. Go through all of `model.h`.",
        ("in model.h:", "in model.h[:1]:"),
    ),
    Mistake(
        "`rank` and `alpha` are not handed on, so each LoRA has its own defaults.",
        ("attn.c_attn = LoRA(attn.c_attn, rank, alpha)", "attn.c_attn = LoRA(attn.c_attn)"),
        ("attn.c_proj = LoRA(attn.c_proj, rank, alpha)", "attn.c_proj = LoRA(attn.c_proj)"),
        ("mlp.c_fc = LoRA(mlp.c_fc, rank, alpha)", "mlp.c_fc = LoRA(mlp.c_fc)"),
        ("mlp.c_proj = LoRA(mlp.c_proj, rank, alpha)", "mlp.c_proj = LoRA(mlp.c_proj)"),
    ),
)

MAPS = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
SAME = "a new LoRA changes nothing"
LEARNS = "its gradients reach A or B at the first step"
PLAIN = "merged is an nn.Linear"


class Adapted(nn.Module):
    """The parameters that a LoRA has."""

    def __init__(self, seed: int, n_in: int, n_out: int, rank: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.A, self.B = (
            nn.Parameter(torch.empty(rank, n_in)),
            nn.Parameter(torch.empty(n_out, rank)),
        )
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                parameter.copy_(0.3 * random_tensor(10 * seed + number, *parameter.shape))

    @torch.no_grad()
    def whole(self, scale: float) -> nn.Linear:
        self.linear.weight += scale * self.B @ self.A
        return self.linear


def use(mine: Any, what: str, *given: Any) -> Any:
    torch.manual_seed(0)
    if what == "answers_only":
        return mine.answers_only(*given)
    if what == "LoRA":
        return _layer(mine, *given)
    sizes, rank, alpha, idx = given
    model = mine.GPT2(*sizes)
    fill(model, theirs(sizes), NAMES)
    before = model(idx)
    model = mine.add_lora(model, rank, alpha)
    found = {
        "the model is returned": isinstance(model, nn.Module),
        "number of trained weights": trained(model),
        SAME: bool(torch.allclose(model(idx), before)),
    }
    loras = [m for m in model.modules() if hasattr(m, "A") and hasattr(m, "B")]
    with torch.no_grad():
        for number, lora in enumerate(loras):
            lora.A.copy_(0.3 * random_tensor(2 * number, *lora.A.shape))
            lora.B.copy_(0.3 * random_tensor(2 * number + 1, *lora.B.shape))
    return Labelled(found | {"logits with A and B": model(idx).detach()})


def _layer(mine: Any, n_in: int, n_out: int, rank: int, alpha: int, x: Tensor) -> Labelled:
    layer = mine.LoRA(nn.Linear(n_in, n_out), rank, alpha)
    new = layer(x)
    same = bool(torch.allclose(new, layer.linear(x)))
    learns = False
    if new.requires_grad:
        new.square().sum().backward()
        learns = any(p.grad is not None and bool(p.grad.any()) for p in (layer.A, layer.B))
    fill(layer, Adapted(n_in, n_in, n_out, rank))
    found = {SAME: same, "number of trained weights": trained(layer), LEARNS: learns}
    found["output"] = layer(x).detach()
    merged = layer.merged()
    found[PLAIN] = isinstance(merged, nn.Linear)
    return Labelled(found | {"output of merged": merged(x).detach()})


def trained(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


@torch.no_grad()
def right(what: str, *given: Any) -> Any:
    if what == "answers_only":
        ids, answer = (torch.tensor([row]) for row in given)
        return ids[:, :-1], ids[:, 1:].masked_fill(~answer[:, 1:], -100)
    if what == "LoRA":
        n_in, n_out, rank, alpha, x = given
        out = Adapted(n_in, n_in, n_out, rank).whole(alpha / rank)(x)
        count = rank * (n_in + n_out)
        told = {SAME: True, "number of trained weights": count, LEARNS: True, "output": out}
        return Labelled(told | {PLAIN: True, "output of merged": out})
    sizes, rank, alpha, idx = given
    model, count = theirs(sizes), 0
    for block in model.transformer.h:
        for name in MAPS:
            weight = block.get_parameter(f"{name}.weight")
            (n_out, n_in), number = weight.shape, count
            A = 0.3 * random_tensor(2 * number, rank, n_in)
            B = 0.3 * random_tensor(2 * number + 1, n_out, rank)
            weight += alpha / rank * B @ A
            count += 1
    C, N = sizes[4], sizes[2]
    told = {
        "the model is returned": True,
        "number of trained weights": N * rank * (4 * C + 2 * C + 5 * C + 5 * C),
        SAME: True,
    }
    return Labelled(told | {"logits with A and B": model(idx)[0]})


TOLERANCE = 1e-4


def cases() -> list[Case]:
    said = [False, False, False, False, True, True]
    longer = [False, False, False, True, True, True, True]
    idx = torch.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    small, other = (13, 7, 2, 3, 12), (6, 5, 1, 1, 4)
    return [
        Case("answers_only: one token, and the end", ("answers_only", [9, 7, 3, 8, 5, 9], said)),
        Case(
            "answers_only: three tokens, and the end",
            ("answers_only", [9, 7, 8, 0, 2, 1, 9], longer),
        ),
        Case("LoRA: from 2 to 3, rank 1, α = 1", ("LoRA", 2, 3, 1, 1, torch.ones(1, 1, 2))),
        Case("LoRA: from 4 to 6, rank 2, α = 8", ("LoRA", 4, 6, 2, 8, random_tensor(1, 2, 5, 4))),
        Case("LoRA: from 5 to 5, rank 4, α = 2", ("LoRA", 5, 5, 4, 2, random_tensor(2, 1, 3, 5))),
        Case("add_lora: two blocks, rank 2, α = 6", ("add_lora", small, 2, 6, idx)),
        Case("add_lora: one block, rank 1, α = 1", ("add_lora", other, 1, 1, idx[:1])),
    ]
