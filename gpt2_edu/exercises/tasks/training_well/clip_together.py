"""Clip all gradients together."""

import torch

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 8

TASK = r"""
`grads` is a list of gradients, tensors of any shapes. Treat them as one long vector. If it is longer than `limit`, shorten it to `limit` without changing its direction; if not, leave it as it is. Return the new gradients in a list, in the same order and with the same shapes, and change nothing in place.

Together, the two gradients (3, 0) and (4) have the length 5. With the limit 1 they become (0.6, 0) and (0.8).
"""

HINTS = (
    "The length of the long vector is the root of the sum of all squares over all tensors.",
    "All tensors are multiplied by the same number, limit / length, or by 1 if that is smaller.",
    "`length = torch.cat([g.flatten() for g in grads]).norm()`",
)

START = '''
def clip_together(grads, limit):
    """grads: a list of tensors. Returns a list of tensors of the same shapes."""
    ...
'''

SOLUTION = """
def clip_together(grads, limit):
    length = torch.cat([g.flatten() for g in grads]).norm()
    factor = min(1.0, limit / length.item())  # never longer than before
    return [g * factor for g in grads]
"""

MISTAKES = (
    Mistake(
        "You clip each tensor by itself, which changes the direction of the whole. Use one length for all of them, and one factor.",
        ("g * factor", "g * min(1.0, limit / g.norm().item())"),
    ),
    Mistake(
        "A short gradient became longer. If the length is below the limit, change nothing. The factor is at most 1.",
        ("min(1.0, limit / length.item())", "limit / length.item()"),
    ),
    Mistake(
        "You cut each entry to the limit. That changes the direction and leaves the whole too long. Multiply all entries by one factor.",
        ("g * factor", "g.clamp(-limit, limit)"),
    ),
    Mistake(
        "You added the lengths of the tensors. The length of the whole is the root of the sum of their squares.",
        ("torch.cat([g.flatten() for g in grads]).norm()", "sum(g.norm() for g in grads)"),
    ),
    Mistake(
        "You forgot the root. The sum of the squares is the length squared.",
        (".norm()", ".square().sum()"),
    ),
    Mistake(
        "The numbers are right, but `*=` writes them into the caller's gradients. Return new tensors, `g * factor`.",
        ("[g * factor for g in grads]", "[g.mul_(factor) for g in grads]"),
    ),
    Mistake(
        "Nothing was shortened. What is too long is multiplied by limit / length. (`clip_grad_norm_` does not help, because it looks at the `.grad` of what it is given.)",
        ("[g * factor for g in grads]", "grads"),
    ),
    Mistake(
        "You take the length of the longest tensor. The tensors are one long vector, whose length is the root of the sum of all their squares.",
        ("torch.cat([g.flatten() for g in grads]).norm()", "max(g.norm() for g in grads)"),
    ),
    Mistake(
        "You take the largest entry for the length. The length is the root of the sum of all squares.",
        ("torch.cat([g.flatten() for g in grads]).norm()", "max(g.abs().max() for g in grads)"),
    ),
)


def right(grads, limit):
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in grads]
    for parameter, g in zip(parameters, grads, strict=True):
        parameter.grad = g.clone()
    torch.nn.utils.clip_grad_norm_(parameters, limit)
    return [parameter.grad for parameter in parameters]


def cases():
    generator = torch.Generator().manual_seed(14)
    shapes = ((3, 5), (5,), (2, 2, 4))
    grads = [torch.randn(shape, generator=generator) for shape in shapes]
    return [
        Case("the example", ([torch.tensor([3.0, 0.0]), torch.tensor([4.0])], 1.0)),
        Case("three tensors, too long", (grads, 0.5)),
        Case("three tensors, nearly too long", ([g / 15 for g in grads], 0.5)),
        Case("three tensors, short enough", ([g / 100 for g in grads], 0.5)),
    ]
