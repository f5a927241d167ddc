"""The logit lens."""

import torch
from torch.nn import functional as F

from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
Write the logit lens, which reads the residual stream at any stage as if it were the last. First comes the final LayerNorm, then `lm_head`, which is tied to `wte` and has no bias.

`x` is (…, C), with any axes before C; `gamma` and `beta` (C,) are the parameters of `ln_f`; `wte` is (V, C). The result is the logits, (…, V). You have your `layer_norm` of chapter 9.

Here is a tiny example with C = 2, V = 3, γ = (1, 1) and β = (0, 0). The vector (5, 1) is normalised to nearly (1, −1). With the rows (1, 0), (0, 1), (1, 1) in `wte`, the logits are nearly 1, −1, 0.

Once it is right, it reads the chapter's two cranes at every stage.
"""

HINTS = (
    "Take two steps, in the order in which GPT-2 takes them at its end.",
    "`wte` is stored as (V, C), as `nn.Linear` stores its weight. A logit is the dot product of the normalised vector with one row.",
    "`layer_norm(x, gamma, beta) @ wte.T`.",
)

START = '''
layer_norm = own("layer_norm")


def logit_lens(x, gamma, beta, wte):
    """x (…, C); gamma, beta (C,); wte (V, C). Returns (…, V)."""
    ...
'''

SOLUTION = """
layer_norm = own("layer_norm")


def logit_lens(x, gamma, beta, wte):
    # without the norm, a stage with longer vectors would seem surer
    return layer_norm(x, gamma, beta) @ wte.T
"""

MISTAKES = (
    Mistake(
        "The final LayerNorm is missing. `lm_head` was trained on normalised vectors, and the stream has another length at each stage.",
        ("layer_norm(x, gamma, beta)", "x"),
    ),
    Mistake(
        "These are probabilities. The lens gives logits, so leave the softmax out.",
        (
            "layer_norm(x, gamma, beta) @ wte.T",
            "(layer_norm(x, gamma, beta) @ wte.T).softmax(dim=-1)",
        ),
    ),
    Mistake(
        "γ and β are not used. `ln_f` has learned them, and `lm_head` relies on them.",
        ("layer_norm(x, gamma, beta)", "F.layer_norm(x, (x.size(-1),))"),
    ),
    Mistake(
        "γ and β are applied before the normalisation here. LayerNorm normalises first, then multiplies by γ and adds β.",
        ("layer_norm(x, gamma, beta)", "F.layer_norm(gamma * x + beta, (x.size(-1),))"),
    ),
    Mistake(
        "`wte` is (V, C), one row for each word, so its rows are the columns of the product. Transpose it, `@ wte.T`.",
        ("wte.T", "wte"),
    ),
    Mistake(
        "γ and β are swapped. `layer_norm` takes x, then gamma, then beta.",
        ("layer_norm(x, gamma, beta)", "layer_norm(x, beta, gamma)"),
    ),
    Mistake(
        "This normalises over all axes at once, so tokens depend on each other. Each vector of C entries has a mean and a variance of its own.",
        (
            "layer_norm(x, gamma, beta)",
            "(gamma * (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() + beta)",
        ),
    ),
    Mistake(
        "The standard deviation divides by C − 1 here. LayerNorm divides by C.",
        (
            "layer_norm(x, gamma, beta)",
            "(gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True) + beta)",
        ),
    ),
    Mistake(
        "β is left out. LayerNorm multiplies by γ and then adds β.",
        ("gamma, beta) @", "gamma, 0 * beta) @"),
    ),
    Mistake(
        "You return the logits of the last position only. Each position has its own.",
        ("layer_norm(x, gamma, beta) @", "layer_norm(x, gamma, beta)[..., -1, :] @"),
    ),
    Mistake(
        "The norm comes before the table. It belongs to the vectors of the stream, not to the logits.",
        ("layer_norm(x, gamma, beta) @ wte.T", "F.layer_norm(x @ wte.T, wte.shape[:1])"),
    ),
)


def right(x, gamma, beta, wte):
    return F.linear(F.layer_norm(x, gamma.shape, gamma, beta), wte)


def cases():
    generator = torch.Generator().manual_seed(16)
    ones, zeros = torch.ones(2), torch.zeros(2)
    tiny = torch.tensor([[[5.0, 1.0]]])
    x = 4 * torch.randn(2, 5, 12, generator=generator)
    gamma, beta = torch.randn(2, 12, generator=generator)
    wte = torch.randn(17, 12, generator=generator)
    return [
        Case(
            "one token, two entries, three words",
            (tiny, ones, zeros, torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])),
        ),
        Case("random numbers, (B, T, C)", (x, gamma, beta, wte)),
        Case("a single vector, (C,)", (x[0, 0], gamma, beta, wte)),
        Case("all stages at once, (stages, B, T, C)", (x.view(2, 1, 5, 12), gamma, beta, wte)),
    ]


def after(answer):
    from ....tokenizer import load_tokenizer
    from ...crane_run import crane_run

    marsh, city = (crane_run(f"In the {place}, the crane") for place in ("marsh", "city"))
    norm, wte = marsh.model.transformer.ln_f, marsh.model.wte.weight
    ate, lifted = (load_tokenizer("crane").encode(word)[0] for word in (" ate", " lifted"))
    lines = ["Your lens, at the crane: the lean to the bird, in nats", f"{'':28}marsh   city"]
    for name in marsh.tape.names:
        if name.endswith(("embd", "resid_mid", "resid_post")):
            x = torch.stack([run.tape[name][0, -1] for run in (marsh, city)])
            logits = answer(x, norm.weight, norm.bias, wte)
            lean = logits[:, ate] - logits[:, lifted]
            lines.append(f"{name:26}{lean[0]:7.1f}{lean[1]:7.1f}")
    return "\n".join(lines)
