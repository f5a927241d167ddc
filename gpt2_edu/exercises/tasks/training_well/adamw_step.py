"""A step of AdamW that is off."""

import torch

from ...exercise import Case, Mistake

ORDER = 10
KIND = "repair"
LEVEL = 3
RANK = "good"
MINUTES = 12

TASK = r"""
This is one step of AdamW, as a function that changes nothing in place. It takes a parameter `p`, its gradient `g`, the two running means `m` and `v` as the previous step left them, and the number `t` of this step, counted from 1. It returns the new `p`, `m` and `v`; all tensors have the same shape. Its β₂ is 0.95, as in most training of language models. One thing in it is not AdamW, although it seems to work. Models train with it, only a little worse.

Fix it. With p = 2, g = 5, m = v = 0, t = 1, lr = 0.1 and no decay, the new p is 1.9, because the first step moves every parameter by lr. With decay 0.5 as well it is 2 · (1 − 0.1 · 0.5) − 0.1 = 1.8.
"""

HINTS = (
    "Without decay the function is right. Where does the decay go in?",
    "Anything added to the gradient passes through m and v and is divided by $\\sqrt{\\hat v}$, so a parameter with large gradients hardly decays. That is Adam with a penalty, without the W.",
    "The decay belongs outside the quotient. Write `p * (1 - lr * decay)` instead of `p`, and leave `g` unchanged.",
)

START = '''
def adamw_step(p, g, m, v, t, lr, decay):
    """All tensors of one shape. Returns the new p, m and v."""
    raise NotImplementedError("find the bug, fix it, delete this line")
    beta1, beta2, eps = 0.9, 0.95, 1e-8
    g = g + decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    p = p - lr * m_hat / (v_hat.sqrt() + eps)
    return p, m, v
'''

SOLUTION = """
def adamw_step(p, g, m, v, t, lr, decay):
    beta1, beta2, eps = 0.9, 0.95, 1e-8
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    p = p * (1 - lr * decay)  # not through g, which v would scale
    p = p - lr * m_hat / (v_hat.sqrt() + eps)
    return p, m, v
"""

MISTAKES = (
    Mistake(
        "The bug is still there. The decay goes into the gradient, and so into m and v. Pull p towards 0 outside the quotient.",
        ("    m = beta1", "    g = g + decay * p\n    m = beta1"),
        ("p = p * (1 - lr * decay)", "p = p"),
    ),
    Mistake(
        "The decay still goes into the gradient, and so into m and v. Pull p towards 0 outside the quotient.",
        ("    m = beta1", "    g = g + lr * decay * p\n    m = beta1"),
        ("p = p * (1 - lr * decay)", "p = p"),
    ),
    Mistake(
        "Now nothing decays. Taking the decay out of the gradient is right; put it where p is multiplied by 1 − lr · decay.",
        ("p = p * (1 - lr * decay)", "p = p"),
    ),
    Mistake(
        "The decay is in the right place but too strong. It has to be multiplied by lr as well.",
        ("p = p * (1 - lr * decay)", "p = p * (1 - decay)"),
    ),
    Mistake(
        "The decay is outside the quotient now but has the wrong sign, so the parameter grows. The factor is 1 − lr · decay.",
        ("1 - lr * decay", "1 + lr * decay"),
    ),
    Mistake(
        "The decay is right, but the hats are gone. Without them m and v are too small in the first steps.",
        ("m / (1 - beta1**t)", "m"),
        ("v / (1 - beta2**t)", "v"),
    ),
    Mistake(
        "p decays after the step here, so the step itself shrinks too. Decay the old p, then subtract.",
        ("    p = p * (1 - lr * decay)  # not through g, which v would scale\n", ""),
        ("return p, m, v", "return p * (1 - lr * decay), m, v"),
    ),
    Mistake(
        "The decay is right, but ε has slipped under the root. There it acts like a gradient of 0.0001; in Adam it is added to the root.",
        ("v_hat.sqrt() + eps", "v_hat + eps).sqrt("),
    ),
    Mistake(
        "The decay is inside the quotient, so it is divided by the root of v as well. Take it out: `p * (1 - lr * decay)`.",
        ("p = p * (1 - lr * decay)", "p = p"),
        ("lr * m_hat /", "lr * (m_hat + decay * p) /"),
    ),
    Mistake(
        "p is right, but you return m and v with their hats. The next step needs the running means without the correction.",
        ("return p, m, v", "return p, m_hat, v_hat"),
    ),
    Mistake(
        "The decay is right, but `mul_` writes it into the caller's p. Make a new tensor, `p * (1 - lr * decay)`.",
        ("p = p * (1 - lr * decay)", "p.mul_(1 - lr * decay)"),
    ),
    Mistake(
        "The first step without decay was right before. β₂ = 0.95 is no bug, and the decay still goes through the gradient. Leave β₂ as it is, and pull p towards 0 outside the quotient.",
        ("0.9, 0.95", "0.9, 0.999"),
        ("    m = beta1", "    g = g + decay * p\n    m = beta1"),
        ("p = p * (1 - lr * decay)", "p = p"),
    ),
    Mistake(
        "Only m is corrected now. v begins at 0 as well, so it needs its hat, `v / (1 - beta2**t)`.",
        ("v / (1 - beta2**t)", "v"),
    ),
    Mistake(
        "This pulls every parameter by the same amount. The decay takes a share of p itself, `p * (1 - lr * decay)`.",
        ("p = p * (1 - lr * decay)", "p = p - lr * decay"),
    ),
    Mistake(
        "p is right, but the next step needs m and v, too. Return all three, `return p, m, v`.",
        ("return p, m, v", "return p"),
    ),
    Mistake(
        "The decay is in its place now, but β₂ was no bug. It is 0.95 here, as in most training of language models.",
        ("0.9, 0.95", "0.9, 0.999"),
    ),
)


def right(p, g, m, v, t, lr, decay):
    parameter = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.AdamW(
        [parameter], lr=lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=decay
    )
    state = {"step": torch.tensor(t - 1.0), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.state[parameter] = state
    parameter.grad = g.clone()
    optimizer.step()
    return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]


def cases():
    generator = torch.Generator().manual_seed(13)
    p, g, m, v = torch.randn(4, 3, 5, generator=generator)
    v = v**2 + 0.1
    two, five, zero = torch.tensor([2.0]), torch.tensor([5.0]), torch.zeros(1)
    return [
        Case("a first step without decay", (two, five, zero, zero, 1, 0.1, 0.0)),
        Case("the same with decay 0.5", (two, five, zero, zero, 1, 0.1, 0.5)),
        Case("step 7 of random numbers", (p, g, m, v, 7, 0.3, 0.2)),
        Case("a tiny gradient, beside which ε counts", (p, 1e-6 * g, m * 0, v * 0, 1, 0.3, 0.2)),
        Case("no gradient at all: p still decays", (p, g * 0, m * 0, v, 7, 0.3, 0.2)),
    ]
