"""A mistake that the loss does not see."""

from ...exercise import Mistake

ORDER = 30
KIND = "explore"
LEVEL = 2
RANK = "good"
MINUTES = 10

TASK = r"""
A loader has a bug. In the last block of the crane it swaps the biases of `attn.c_proj` and `mlp.c_proj`. Both have C entries, so a strict load raises no error. The loss on the twenty stories of the chapter changes by less than a thousandth. Yet it is a different model, in which some logits are off by more than 1.

`trace` records every tensor of a pass under its name. After `with trace(model) as tape, torch.no_grad(): model(ids)`, `tape[name]` is a tensor and `tape.ledger()` lists them all. Run the same ids through both models and compare tensor by tensor, in the order of the ledger. Which is the **first** one that differs? Give its name as it appears in `trace`, such as `"transformer.h.0.ln_1"`.
"""

HINTS = (
    "One tape for each model: `with trace(good) as a, torch.no_grad(): good(idx)`, and the same for `bad`.",
    "`[name for name, _, _ in a.ledger().rows()]` are the names in order, and `a[name]` is the tensor.",
    "`torch.equal(a[name], b[name])` compares. (A difference would give nan in the masked scores, where both sides are −∞.)",
)

START = """
from gpt2_edu import GPT2, trace

good, bad = GPT2.from_pretrained("crane"), GPT2.from_pretrained("crane")
last = bad.transformer.h[2]
one, other = last.attn.c_proj, last.mlp.c_proj
one.bias, other.bias = other.bias, one.bias  # what the loader does
idx = torch.arange(10, 20).unsqueeze(0)  # ten arbitrary tokens

quiet_exchange = ...
"""

SOLUTION = """
from gpt2_edu import GPT2, trace

good, bad = GPT2.from_pretrained("crane"), GPT2.from_pretrained("crane")
last = bad.transformer.h[2]
one, other = last.attn.c_proj, last.mlp.c_proj
one.bias, other.bias = other.bias, one.bias  # what the loader does
idx = torch.arange(10, 20).unsqueeze(0)  # ten arbitrary tokens

with trace(good) as a, torch.no_grad():
    good(idx)
with trace(bad) as b, torch.no_grad():
    bad(idx)
names = [name for name, _, _ in a.ledger().rows()]
quiet_exchange = next(n for n in names if not torch.equal(a[n], b[n]))
# Both biases are added to the residual stream, where their sum is the same.
"""

right = "transformer.h.2.attn.out"

MISTAKES = (
    Mistake(
        "That is the second of the two layers. The first one to use a wrong bias comes earlier in the same block.",
        code='quiet_exchange = "transformer.h.2.mlp.out"',
    ),
    Mistake(
        "This already inherits the mistake, because attention's output was added to it. Look one row further up.",
        code='quiet_exchange = "transformer.h.2.resid_mid"',
    ),
    Mistake(
        "The scores differ too, but they are the last to do so. Look for the first row that differs.",
        code='quiet_exchange = "logits"',
    ),
    Mistake(
        "These are the concatenated heads, before `c_proj`. The wrong bias is added after them.",
        code='quiet_exchange = "transformer.h.2.attn.merged"',
    ),
    Mistake(
        "That is the module, as a parity table would name it. Give the name of its output in the ledger.",
        code='quiet_exchange = "transformer.h.2.attn"',
    ),
    Mistake(
        "The name is right, but the path is incomplete. In a trace of the whole model it begins with `transformer`.",
        code='quiet_exchange = "attn.out"',
    ),
    Mistake(
        "These contain −∞ − (−∞), which is NaN and so never equals itself. Compare with `torch.equal`, not by a difference.",
        code='quiet_exchange = "transformer.h.0.attn.masked_scores"',
    ),
    Mistake(
        "That is the module whose bias is wrong. Give the name of the tensor that it puts out, from the ledger.",
        code='quiet_exchange = "transformer.h.2.attn.c_proj"',
    ),
    Mistake(
        "That is the parameter. The ledger lists the tensors of a pass; give the first that differs.",
        code='quiet_exchange = "transformer.h.2.attn.c_proj.bias"',
    ),
    Mistake(
        "The name is right, but the path is incomplete. In a trace of the whole model `transformer.` comes in front.",
        code='quiet_exchange = "h.2.attn.out"',
    ),
    Mistake(
        "These are all that differ. Give the first of them alone, as a string.",
        (
            "next(n for n in names if not torch.equal(a[n], b[n]))",
            "[n for n in names if not torch.equal(a[n], b[n])]",
        ),
    ),
    Mistake(
        "In the first block nothing is wrong. The biases are swapped in the last one, `h.2`.",
        code='quiet_exchange = "transformer.h.0.attn.out"',
    ),
)
