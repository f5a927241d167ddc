"""A mistake that the loss does not see."""

from ...exercise import Mistake

ORDER = 30
KIND = "explore"
LEVEL = 2
MINUTES = 10

TASK = r"""
A loader has a bug: in the last block of the crane it puts the bias of `attn.c_proj` and that of `mlp.c_proj` in each other's place. Both have C numbers, so a strict load says nothing. The loss on the twenty stories of the chapter changes by less than a thousandth. Yet it is another model: some logits are off by more than 1.

`trace` records every tensor of a pass under its name: after `with trace(model) as tape, torch.no_grad(): model(ids)`, `tape[name]` is a tensor and `tape.ledger()` lists them all. Send the same ids through both models and compare tensor by tensor, in the order of the ledger. What is the **first** one that is not the same? Give its name, as `trace` has it, such as `"transformer.h.0.ln_1"`.
"""

HINTS = (
    "One tape for each model: `with trace(good) as a, torch.no_grad(): good(idx)`, and the same for `bad`.",
    "`[name for name, _, _ in a.ledger().rows()]` are the names in their order, and `a[name]` is the tensor.",
    "`torch.equal(a[name], b[name])` compares. (A difference would give nan in the masked scores, where both sides are −∞.)",
)

START = """
from gpt2_edu import GPT2, trace

good, bad = GPT2.from_pretrained("crane"), GPT2.from_pretrained("crane")
last = bad.transformer.h[2]
one, other = last.attn.c_proj, last.mlp.c_proj
one.bias, other.bias = other.bias, one.bias  # what the loader does
idx = torch.arange(10, 20).unsqueeze(0)  # ten tokens, taken at will

quiet_exchange = ...
"""

SOLUTION = """
from gpt2_edu import GPT2, trace

good, bad = GPT2.from_pretrained("crane"), GPT2.from_pretrained("crane")
last = bad.transformer.h[2]
one, other = last.attn.c_proj, last.mlp.c_proj
one.bias, other.bias = other.bias, one.bias  # what the loader does
idx = torch.arange(10, 20).unsqueeze(0)  # ten tokens, taken at will

with trace(good) as a, torch.no_grad():
    good(idx)
with trace(bad) as b, torch.no_grad():
    bad(idx)
names = [name for name, _, _ in a.ledger().rows()]
quiet_exchange = next(n for n in names if not torch.equal(a[n], b[n]))
# The two biases meet again in the stream, where their sum is the same.
"""

right = "transformer.h.2.attn.out"

MISTAKES = (
    Mistake(
        "That is the second of the two layers. The first one to use a wrong bias comes earlier in the same block.",
        'quiet_exchange = "transformer.h.2.mlp.out"',
    ),
    Mistake(
        "This already inherits the mistake: attention's result was added to it. Look one row further up.",
        'quiet_exchange = "transformer.h.2.resid_mid"',
    ),
    Mistake(
        "The scores differ too, but they are the last to do so. Look for the first row that is not the same.",
        'quiet_exchange = "logits"',
    ),
    Mistake(
        "These are the heads side by side, before `c_proj`. The wrong bias is added after them.",
        'quiet_exchange = "transformer.h.2.attn.merged"',
    ),
    Mistake(
        "That is the module, as a parity table would name it. Give the name of its result in the ledger.",
        'quiet_exchange = "transformer.h.2.attn"',
    ),
    Mistake(
        "The name is right, but the path is cut off. A trace of the whole model names it from `transformer` on.",
        'quiet_exchange = "attn.out"',
    ),
    Mistake(
        "These contain −∞ − (−∞), which is no number and so never equals itself. Compare with `torch.equal`, not by a difference.",
        'quiet_exchange = "transformer.h.0.attn.masked_scores"',
    ),
)
