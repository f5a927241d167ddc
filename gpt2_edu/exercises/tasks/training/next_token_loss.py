"""The loss, from logits."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15
TOLERANCE = 1e-4  # beside a logit of 1000, float32 has no finer step

TASK = r"""
Write the loss of the whole batch without `cross_entropy` and `nll_loss`. (`log_softmax` and `logsumexp` are allowed, but `exp` and `log` will do.) `logits` is (B, T, V). `targets` is (B, T) and already shifted, so `targets[b, t]` is the id that should come after position t. At each position

$$-\ln p = -\Big(z_{\text{target}} - \ln \sum_j e^{z_j}\Big)$$

with the V logits $z$ of that position. Return the mean over all positions that count, as a tensor without axes. A target of −100 marks a position that does not count, such as the padding after a short text. Leave it out of both the sum and the count. Logits may be as large as 1000, and $e^{1000}$ overflows, so subtract the largest logit of each position first. The softmax does not change.

Logits (0, 0) and target 1 give $-\ln \frac12 = 0.6931$.
"""

HINTS = (
    "Flatten to (B·T, V) and (B·T,), and drop the rows whose target is −100 before anything else.",
    "`logits - logits.amax(dim=-1, keepdim=True)` has 0 as its largest entry in each row. Then subtract the logarithm of the sum of the exponentials, over the last axis.",
    "`log_p[torch.arange(len(targets)), targets]` picks the target's entry from each row.",
)

START = '''
def next_token_loss(logits, targets):
    """logits (B, T, V); targets (B, T), -100 not counted.

    Returns one number, a tensor without axes.
    """
    ...
'''

SOLUTION = """
def next_token_loss(logits, targets):
    logits, targets = logits.flatten(0, 1), targets.flatten()
    counted = targets != -100
    logits, targets = logits[counted], targets[counted]
    # The largest becomes 0, so that no exponential overflows.
    logits = logits - logits.amax(dim=-1, keepdim=True)
    log_p = logits - logits.exp().sum(dim=-1, keepdim=True).log()
    return -log_p[torch.arange(len(targets)), targets].mean()
"""

MISTAKES = (
    Mistake(
        "The exponentials of large logits overflow here. Subtract the largest logit of each position first.",
        ("    logits = logits - logits.amax(dim=-1, keepdim=True)\n", ""),
    ),
    Mistake(
        "Positions with −100 are left out of the sum but still counted in the mean. Divide by the number of targets that count, not by B · T.",
        (".mean()", ".sum() / counted.numel()"),
    ),
    Mistake(
        "The target −100 is used as an id here, which goes wrong as soon as there is one. Leave those positions out.",
        (
            """\
    counted = targets != -100
    logits, targets = logits[counted], targets[counted]
""",
            "",
        ),
    ),
    Mistake(
        "This applies the softmax twice, because probabilities are used as if they were logits. Use the logits as they are.",
        (
            "    # The largest becomes",
            "    logits = logits.softmax(dim=-1)\n    # The largest becomes",
        ),
    ),
    Mistake(
        "The softmax runs over the positions here. It belongs to the last axis, the vocabulary.",
        code="""
def next_token_loss(logits, targets):
    log_p = logits.log_softmax(dim=1).flatten(0, 1)
    targets = targets.flatten()
    counted = targets != -100
    log_p, targets = log_p[counted], targets[counted]
    return -log_p[torch.arange(len(targets)), targets].mean()
""",
    ),
    Mistake(
        "The targets are shifted a second time here. They were shifted when the window was cut, so position t of the logits belongs to position t of the targets.",
        (
            "logits.flatten(0, 1), targets.flatten()",
            "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()",
        ),
    ),
    Mistake(
        "This is the sum over the positions. The loss is their mean, so that it does not grow with the batch.",
        (".mean()", ".sum()"),
    ),
    Mistake(
        "This is a mean of each text's mean, in which a text with few targets weighs too much. Take one mean over all targets that count.",
        code="""
def next_token_loss(logits, targets):
    return torch.stack(
        [F.cross_entropy(a, b) for a, b in zip(logits, targets)]
    ).mean()
""",
    ),
    Mistake(
        "The sign is lost. ln p is below 0, and the loss is −ln p, so put a minus in front.",
        ("return -log_p", "return log_p"),
    ),
    Mistake(
        "`log2` is the logarithm to base 2. The loss uses the natural one, `log`.",
        ("log()", "log2()"),
    ),
    Mistake(
        "You sum along axis 0, which counts the positions once B and T are flattened. The sum runs over the vocabulary, the last axis.",
        ("logits.amax(dim=-1,", "logits.amax(dim=0,"),
        (".sum(dim=-1,", ".sum(dim=0,"),
    ),
    Mistake(
        "The largest logit is subtracted in the exponentials only. Subtract it from the target's logit as well, or add it again outside the logarithm.",
        ("logits =", "shifted ="),
        ("logits.exp", "shifted.exp"),
    ),
    Mistake(
        "You subtract the largest logit of all positions. If a position has only small ones, all its exponentials become 0. Take the largest of each position, `amax(dim=-1, keepdim=True)`.",
        ("logits.amax(dim=-1, keepdim=True)", "logits.max()"),
    ),
    Mistake(
        "Positions with the target 0 are left out as well. 0 is an id like any other. Leave out only −100.",
        ("targets != -100", "targets > 0"),
    ),
    Mistake(
        "A probability of e⁻¹⁰⁰⁰ is rounded to 0, and the logarithm of 0 is −∞. Do not compute the probability: subtract the logarithm of the sum from the logit.",
        (
            "log_p = logits - logits.exp().sum(dim=-1, keepdim=True).log()",
            "log_p = logits.softmax(dim=-1).log()",
        ),
    ),
    Mistake(
        "`log_p[:, targets]` picks every target in every row. Pair each row with its own target: `log_p[torch.arange(len(targets)), targets]`.",
        ("log_p[torch.arange(len(targets)), targets]", "log_p[:, targets]"),
    ),
    Mistake(
        "`amax` and `sum` drop the axis, so that (N, V) meets (N,). Keep it, with `keepdim=True`.",
        ("amax(dim=-1, keepdim=True)", "amax(dim=-1)"),
        ("sum(dim=-1, keepdim=True)", "sum(dim=-1)"),
    ),
    Mistake(
        "Positions with −100 count here, as if their target were token 0. Leave them out of the sum and of the count.",
        ("targets.flatten()", "targets.flatten().clamp(min=0)"),
    ),
)


def right(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


def cases():
    generator = torch.Generator().manual_seed(13)
    logits = torch.randn(2, 5, 7, generator=generator)
    targets = torch.randint(7, (2, 5), generator=generator)
    targets[0, 0], targets[1, 3] = 0, 0  # id 0 is a token like any other
    padded = targets.clone()
    padded[0, 2:] = -100
    one = torch.tensor([[[0.0, 0.0]]]), torch.tensor([[1]])
    both = torch.tensor([[[1000.0, 999.0, 0.0], [0.0, 1.0, 2.0]]])
    return [
        Case("one position, two equal logits", one),
        Case("random numbers", (logits, targets)),
        Case("some targets are −100", (logits, padded)),
        Case("logits up to 1000", (torch.tensor([[[1000.0, 999.0, 0.0]]]), torch.tensor([[1]]))),
        Case("large logits beside small ones", (both, torch.tensor([[1, 2]]))),
        Case(
            "a target that is 1000 below",
            (torch.tensor([[[1000.0, 0.0]]]), torch.tensor([[1]])),
        ),
        Case("T = 1", (logits[:, :1], targets[:, :1])),
        Case("a batch of 1", (logits[:1], targets[:1])),
    ]
