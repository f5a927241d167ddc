"""FLOPs per token."""

from gpt2_edu import GPT2Config, flops

from ...exercise import Case, Mistake

ORDER = 30
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 10

TASK = r"""
Write a function that gives the FLOPs of one token in training: forward and backward.

Count the matrix products only. Each block has $12\,C^2$ weights in its matrices, `lm_head` has $VC$, and each weight costs 2 FLOPs in the forward pass. Attention's products without weights cost $4C$ FLOPs for each key that a token sees, in each block, and under the causal mask a token sees $T/2$ keys on average. Training costs three times the forward pass.

`n_layer` is N, `n_embd` C, `vocab_size` V; all four arguments are whole numbers. A tiny example: N = 1, C = 2, V = 10, T = 4. The matrices have 48 + 20 = 68 weights, 136 FLOPs. Attention: 4 · 2 · 2 = 16 FLOPs. So 152 forward, and 456 in training.
"""

HINTS = (
    "First the forward pass alone: weights of matrices times 2, plus attention.",
    "Attention is in each block, so it is $N \\cdot 4C \\cdot T/2 = 2NCT$.",
    "Three times the sum: $6\\,(12NC^2 + VC) + 6NCT$.",
)

START = '''
def training_flops(n_layer, n_embd, vocab_size, T):
    """N, C, V and T. Returns the FLOPs per token, forward and backward."""
    ...
'''

SOLUTION = """
def training_flops(n_layer, n_embd, vocab_size, T):
    weights = 12 * n_layer * n_embd**2 + vocab_size * n_embd
    # 4·C for each visible key, T/2 keys on average, in each block
    attention = 2 * n_layer * n_embd * T
    return 3 * (2 * weights + attention)
"""

MISTAKES = (
    Mistake(
        "Attention is left out. Its products have no weights, so counting weights alone misses them.",
        ("2 * weights + attention", "2 * weights"),
    ),
    Mistake(
        "`lm_head` is left out. It is a matrix of V·C weights, and every token is multiplied by it.",
        (" + vocab_size * n_embd", ""),
    ),
    Mistake(
        "This counts attention's whole table. Under the causal mask a token sees T/2 keys on average, so half of it.",
        ("3 * (2 * weights + attention)", "3 * (2 * weights + 2 * attention)"),
    ),
    Mistake(
        "That is the forward pass. The backward pass needs two products for each one, so training costs three times as much.",
        ("return 3 *", "return"),
    ),
    Mistake(
        "Attention is counted once here, but each of the N blocks has it.",
        ("2 * n_layer * n_embd * T", "2 * n_embd * T"),
    ),
    Mistake(
        "These are the FLOPs of all T tokens. The function asks for one token.",
        ("3 * (2 * weights + attention)", "T * 3 * (2 * weights + attention)"),
    ),
    Mistake(
        "`lm_head` is counted in each block. The model has only one, after the last block.",
        (
            "12 * n_layer * n_embd**2 + vocab_size * n_embd",
            "n_layer * (12 * n_embd**2 + vocab_size * n_embd)",
        ),
    ),
    Mistake(
        "Training is counted as two forward passes. The backward pass alone costs two, so it is three in all.",
        ("return 3 *", "return 2 *"),
    ),
    Mistake(
        "Each weight is counted as 1 FLOP. It is a multiplication *and* an addition, 2 FLOPs.",
        ("2 * weights", "weights"),
    ),
    Mistake(
        "Only the weights count three times here. Attention has a backward pass, too.",
        ("3 * (2 * weights + attention)", "3 * 2 * weights + attention"),
    ),
)


def right(n_layer, n_embd, vocab_size, T):
    config = GPT2Config(n_layer=n_layer, n_head=1, n_embd=n_embd, vocab_size=vocab_size)
    return flops.flops_per_token(config, T)


def cases():
    return [
        Case("N = 1, C = 2, V = 10, T = 4", (1, 2, 10, 4)),
        Case("the toy sizes, with two blocks", (2, 12, 97, 5)),
        Case("gpt2 at T = 1024", (12, 768, 50257, 1024)),
        Case("gpt2-xl at T = 256", (48, 1600, 50257, 256)),
        Case("T = 1", (3, 7, 11, 1)),
    ]
