"""Learning to answer, with few weights."""

from typing import Any

import torch
from torch import Tensor, nn

from ...comparing import Labelled, kind_of
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

MAPS = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
ANSWERED = "torch.tensor([ids[:-1]]), torch.tensor([targets])"
NEW = "nn.Linear(linear.in_features, linear.out_features)"
NEW_LINEAR = """\
        n_out, n_in = self.linear.weight.shape
        new = nn.Linear(n_in, n_out)
        new.weight.copy_(self.linear.weight + self.scale * (self.B @ self.A))
        return new
"""
ZEROS = "self.B = nn.Parameter(torch.zeros(n_out, rank))"
FREEZE = "    model.requires_grad_(False)\n"
LOOP = "    for block in model.h:\n"
RETURN = "    return model"


def each(line: str) -> list[tuple[str, str]]:
    """The edits that change all four lines which put a LoRA around a map."""
    return [(f"{name} = LoRA({name}, rank, alpha)", line.format(name)) for name in MAPS]


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
    Mistake(
        "The targets are the inputs, with their flags. A target is the id that follows, and the flag "
        "is its own: `ids[1:]`, `answer[1:]`.",
        ("zip(ids[1:], answer[1:])", "zip(ids[:-1], answer[:-1])"),
    ),
    Mistake(
        "Both tensors have all ids. Each position's target is the id that follows: the inputs lack "
        "the last id, the targets the first.",
        ("zip(ids[1:], answer[1:])", "zip(ids, answer)"),
        ("[ids[:-1]]", "[ids]"),
    ),
    Mistake(
        "The targets lack the axis of the batch. They are (1, T): put the list into a list.",
        ("torch.tensor([targets])", "torch.tensor(targets)"),
    ),
    Mistake(
        "The inputs lack the axis of the batch. They are (1, T): put the list into a list.",
        ("torch.tensor([ids[:-1]])", "torch.tensor(ids[:-1])"),
    ),
    Mistake(
        "The targets are floats. They are ids, whole numbers.",
        ("torch.tensor([targets])", "torch.tensor([targets]).float()"),
    ),
    Mistake(
        "These are lists. Make a tensor (1, T) of each: `torch.tensor([targets])`.",
        (ANSWERED, "ids[:-1], targets"),
    ),
    Mistake(
        "These are lists. Make a tensor (1, T) of each: `torch.tensor([targets])`.",
        (ANSWERED, "[ids[:-1]], [targets]"),
    ),
    Mistake(
        "The axis of the batch comes first: (1, T), not (T, 1).",
        (ANSWERED, "torch.tensor([ids[:-1]]).T, torch.tensor([targets]).T"),
    ),
    Mistake(
        "The two have changed places. What the model reads comes first.",
        (ANSWERED, "torch.tensor([targets]), torch.tensor([ids[:-1]])"),
    ),
    Mistake(
        "The question is hidden from the model as well. It reads all ids; only targets are −100.",
        ("[ids[:-1]]", "[[i if own else -100 for i, own in zip(ids[:-1], answer)]]"),
    ),
    Mistake(
        "The model reads the question only. While it learns, it reads the answer's tokens, too: each "
        "one is the input for the next.",
        ("[ids[:-1]]", "[ids[: answer.index(True)]]"),
    ),
    Mistake(
        "The question is left out of the targets. Each position keeps its place, with −100.",
        (
            "[i if own else -100 for i, own in zip(ids[1:], answer[1:])]",
            "[i for i, own in zip(ids, answer) if own]",
        ),
    ),
    Mistake(
        "The last target is −100. The end of the answer is learned, too, or the model does not stop.",
        ("[targets])", "[[*targets[:-1], -100]])"),
    ),
    Mistake(
        "The targets are two places ahead. A target is the very next id: `ids[1:]`.",
        (
            "for i, own in zip(ids[1:], answer[1:])]",
            "for i, own in zip(ids[2:], answer[2:])] + [-100]",
        ),
    ),
    Mistake(
        "The flags are two places ahead of the inputs. A target is the next id, with its own flag: "
        "`answer[1:]`.",
        ("answer[1:]", "[*answer[2:], False]"),
    ),
    Mistake(
        "An id that is 0 becomes −100, because `or` takes 0 for False. Ask for the flag.",
        ("i if own else -100", "i * own or -100"),
    ),
    Mistake(
        "Only the targets are returned. What the model reads comes first.",
        (ANSWERED, "torch.tensor([targets])"),
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
    Mistake(
        "The scale is fixed at 2, which is right for the defaults. It is α / r.",
        ("alpha / rank", "2"),
    ),
    Mistake(
        "The scale is trained as well. It is a plain number.",
        ("alpha / rank", "nn.Parameter(torch.tensor(alpha / rank))"),
    ),
    Mistake(
        "Only the weight is frozen. The bias of the linear map is still trained: "
        "`linear.requires_grad_(False)`.",
        ("linear.requires_grad_(False)", "linear\n        linear.weight.requires_grad_(False)"),
    ),
    Mistake(
        "A new linear map is made. Keep the one that is given, with all it has learned.",
        ("linear.requires_grad_(False)", f"{NEW}.requires_grad_(False)"),
    ),
    Mistake(
        "The shapes of A and B are others. A is (rank, in), and B is (out, rank).",
        ("torch.randn(rank, n_in)", "torch.randn(n_in, rank)"),
        ("torch.zeros(n_out, rank)", "torch.zeros(rank, n_out)"),
        ("x @ self.A.T @ self.B.T", "x @ self.A @ self.B"),
        ("(self.B @ self.A)", "(self.A @ self.B).T"),
    ),
    Mistake(
        "A has the shape of B, and B that of A, transposed. A reads x, so it is (rank, in).",
        ("torch.randn(rank, n_in)", "torch.randn(rank, n_out)"),
        ("torch.zeros(n_out, rank)", "torch.zeros(n_in, rank)"),
        ("x @ self.A.T @ self.B.T", "x @ self.B @ self.A"),
        ("(self.B @ self.A)", "(self.B @ self.A).T"),
    ),
    Mistake(
        "A and B are layers here. They are matrices: `nn.Parameter`.",
        ("nn.Parameter(torch.randn(rank, n_in) / n_in**0.5)", "nn.Linear(n_in, rank, bias=False)"),
        (
            "nn.Parameter(torch.zeros(n_out, rank))",
            "nn.Linear(rank, n_out, bias=False)\n        nn.init.zeros_(self.B.weight)",
        ),
        ("x @ self.A.T @ self.B.T", "self.B(self.A(x))"),
        ("self.B @ self.A", "self.B.weight @ self.A.weight"),
    ),
    Mistake(
        "A and B have to be transposed for x on the left: `x @ self.A.T @ self.B.T`.",
        ("x @ self.A.T @ self.B.T", "x @ self.A @ self.B"),
    ),
    Mistake(
        "x is (…, in), a row for each position, so it is on the left: `x @ self.A.T @ self.B.T`.",
        ("x @ self.A.T @ self.B.T", "self.B @ self.A @ x"),
    ),
    Mistake(
        "B @ A is (out, in), as a weight is. For x on the left it must be transposed.",
        ("x @ self.A.T @ self.B.T", "x @ (self.B @ self.A)"),
    ),
    Mistake(
        "No gradient reaches A and B, because of a `no_grad`, a `detach` or a `data` in `forward`. "
        "Only `merged` needs none.",
        ("    def forward", "    @torch.no_grad()\n    def forward"),
    ),
    Mistake(
        "What A and B add is subtracted, in `forward` and in `merged`.",
        ("self.linear(x) + self.scale", "self.linear(x) - self.scale"),
        ("self.linear.weight += ", "self.linear.weight -= "),
    ),
    Mistake(
        "The bias of the linear map is lost. Call the map itself: `self.linear(x)`.",
        ("self.linear(x)", "x @ self.linear.weight.T"),
    ),
    Mistake(
        "A and B are frozen as well. Freeze the linear map only: `linear.requires_grad_(False)`.",
        (ZEROS, ZEROS + "\n        self.requires_grad_(False)"),
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
        "`merged` returns the frozen map as it was, without what A and B have learned.",
        (MERGE, "        return self.linear\n"),
    ),
    Mistake(
        "`merged` returns the LoRA itself. Return the linear map, so that A and B can be thrown "
        "away.",
        (MERGE, MERGE.replace("return self.linear", "return self")),
    ),
    Mistake(
        "`merged` transposes what it adds. B @ A is (out, in), as the weight is.",
        ("(self.B @ self.A)", "(self.B @ self.A).T"),
    ),
    Mistake(
        "`merged` returns a weight. Return the linear map that has it.",
        (MERGE, "        return self.linear.weight + self.scale * (self.B @ self.A)\n"),
    ),
    Mistake(
        "`merged` returns nothing. Return the linear map.",
        (MERGE, MERGE.replace("        return self.linear\n", "")),
    ),
    Mistake(
        "A weight is an `nn.Parameter`, and `+` makes a plain tensor. Change it in place with `+=`.",
        ("self.linear.weight += ", "self.linear.weight = self.linear.weight + "),
    ),
    Mistake(
        "The linear map that `merged` returns has no bias. Change the weight of `self.linear`, and "
        "return that.",
        (MERGE, NEW_LINEAR.replace("n_in, n_out)", "n_in, n_out, bias=False)")),
    ),
    Mistake(
        "The linear map that `merged` returns has a bias of its own. Change the weight of "
        "`self.linear`, and return that.",
        (MERGE, NEW_LINEAR),
    ),
    Mistake(
        "`merged` needs `@torch.no_grad()`, or the merged weight goes on depending on A and B.",
        ("    @torch.no_grad()\n", ""),
    ),
    # ---- add_lora
    Mistake(
        "The rest of the model is still trained: the tables, the norms and the biases. Freeze all "
        "of it first: `model.requires_grad_(False)`.",
        ("    model.requires_grad_(False)\n", ""),
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
        "`rank` and `alpha` are not handed on, so each LoRA has its own defaults.",
        *each("{0} = LoRA({0})"),
    ),
    Mistake(
        "Everything is trained again at the end. Only A and B are.",
        (RETURN, "    model.requires_grad_(True)\n" + RETURN),
    ),
    Mistake(
        "`alpha` is not handed on, so each LoRA has its default.",
        *each("{0} = LoRA({0}, rank)"),
    ),
    Mistake(
        "The arguments of LoRA are in the wrong order: the rank, then α.",
        *each("{0} = LoRA({0}, alpha, rank)"),
    ),
    *(
        Mistake(
            f"`{name}` has no LoRA. All four maps of a block get one.",
            (f"        {name} = LoRA({name}, rank, alpha)\n", ""),
        )
        for name in MAPS
    ),
    Mistake(
        "The LoRAs are made, but not put into the model. A new value for a local variable, such as "
        "that of a loop, leaves the block as it was: assign to `attn.c_attn` itself, or use `setattr`.",
        *each("new = LoRA({0}, rank, alpha)"),
    ),
    Mistake(
        "The LoRAs belong to the block, and attention and the MLP still use their maps. Assign to "
        "`block.attn.c_attn` and the like.",
        *((old, f"block.{old.partition('.')[2]}") for old, _ in each("")),
    ),
    Mistake(
        "The head has a LoRA as well. Only the four maps of every block get one.",
        (RETURN, "    model.lm_head = LoRA(model.lm_head, rank, alpha)\n" + RETURN),
    ),
    Mistake(
        "Only the blocks are frozen. The tables and the last norm are still trained: "
        "`model.requires_grad_(False)`.",
        (FREEZE, ""),
        (LOOP, LOOP + "        block.requires_grad_(False)\n"),
    ),
    Mistake(
        "The norms are still trained. Freeze all of the model.",
        (
            FREEZE,
            """\
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("ln" in name)
""",
        ),
    ),
    Mistake(
        "The model is frozen again for every block, and with it the LoRAs of the blocks before. Freeze "
        "it once, before the loop.",
        (FREEZE, ""),
        (LOOP, LOOP + "    " + FREEZE),
    ),
)

SAME = "a new LoRA changes nothing"
PROPORTIONAL = "what A and B add is proportional to x"
CONNECTED = "its output has a gradient"
LEARNS = "its gradients reach A or B at the first step"
KIND_OF_MERGED = "what merged returns"
PLAIN = "the weight of merged is a parameter, without a history of operations"


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
    torch.default_generator.manual_seed(0)
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
    linear = nn.Linear(n_in, n_out)
    before = linear(x).detach()
    layer = mine.LoRA(linear, rank, alpha)
    new = layer(x)
    same = bool(torch.allclose(new, before))
    learns = False
    if new.requires_grad:
        new.square().sum().backward()
        own = [p for name, p in layer.named_parameters() if name.partition(".")[0] != "linear"]
        learns = any(p.grad is not None and bool(p.grad.any()) for p in own)
    fill(layer, Adapted(n_in, n_in, n_out, rank))
    found: dict[str, Any] = {SAME: same, "number of trained weights": trained(layer)}
    found |= {CONNECTED: new.requires_grad, LEARNS: learns}
    with torch.no_grad():
        out, at_0, other = layer(x), layer(0 * x), layer(-2 * x)
        found[PROPORTIONAL] = bool(torch.allclose(other - at_0, -2 * (out - at_0), atol=1e-5))
    merged = layer.merged()
    is_linear = isinstance(merged, nn.Linear)
    out = out if found[PROPORTIONAL] else None  # so that all that bends it is one mistake
    found |= {"output": out, KIND_OF_MERGED: "a Linear" if is_linear else kind_of(merged)}
    found["output of merged"] = merged(x).detach() if is_linear else None
    return Labelled(found | {PLAIN: not is_linear or merged.weight.is_leaf})


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
        told = {SAME: True, "number of trained weights": count, CONNECTED: True, LEARNS: True}
        told |= {PROPORTIONAL: True, "output": out, KIND_OF_MERGED: "a Linear"}
        return Labelled(told | {"output of merged": out, PLAIN: True})
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
