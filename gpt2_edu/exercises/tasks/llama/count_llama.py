"""The parameters in a config.json."""

from ....config import LlamaConfig
from ....flops import num_parameters
from ...exercise import Case, Mistake

ORDER = 80
KIND = "write"
LEVEL = 2
RANK = "good"
MINUTES = 15

TASK = r"""
Count the parameters of a Llama from its `config.json`, which comes as a dictionary `c`. The keys that matter are `vocab_size`, `hidden_size`, `intermediate_size`, `num_hidden_layers`, `num_attention_heads`, `num_key_value_heads`, `head_dim` and `tie_word_embeddings`.

There are no biases. Each block has four maps of attention (of which those of k and v are narrower), three of the MLP, and two norms with one weight for each column. After the last block comes one more norm. A head that is not tied is a second table.

SmolLM2-135M has 134,515,008 parameters.
"""

HINTS = (
    'Write C, F, D first, and let `heads = c["num_attention_heads"] * D` and `kept = c["num_key_value_heads"] * D` be the widths of q and of k.',
    "Attention has 2 · C · heads + 2 · C · kept weights: q and the map back are as wide as all query heads, k and v as wide as the key heads.",
    "A block has attention + 3 · C · F + 2 · C. The whole has N of them, C for the last norm, and V · C once if tied, else twice.",
)

START = '''
def count_llama(c):
    """c: a dictionary as in config.json. Returns an int."""
    ...
'''

SOLUTION = """
def count_llama(c):
    C, F, D = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    heads, kept = c["num_attention_heads"] * D, c["num_key_value_heads"] * D
    attention = 2 * C * heads + 2 * C * kept  # q and the map back; k and v
    block = attention + 3 * C * F + 2 * C
    table = c["vocab_size"] * C
    tables = 1 if c["tie_word_embeddings"] else 2
    return tables * table + c["num_hidden_layers"] * block + C
"""

MISTAKES = (
    Mistake(
        "k and v are as wide as q here. They have only `num_key_value_heads` heads.",
        ("2 * C * heads + 2 * C * kept", "4 * C * heads"),
    ),
    Mistake(
        "The map back from the heads to C is missing. It has as many weights as that of q.",
        ("2 * C * heads + 2", "C * heads + 2"),
    ),
    Mistake(
        "The map back is counted as narrow as those of k and v. It reads all query heads.",
        ("2 * C * heads + 2 * C * kept", "C * heads + 3 * C * kept"),
    ),
    Mistake(
        "A SwiGLU has three matrices: gate, up and down.",
        ("3 * C * F", "2 * C * F"),
    ),
    Mistake(
        "The last norm, after all blocks, is missing. It has C weights.",
        (" * block + C", " * block"),
    ),
    Mistake(
        "Each block has two norms, with C weights each.",
        ("F + 2 * C", "F"),
    ),
    Mistake(
        "An RMSNorm has no bias, so each norm has C parameters and not 2C.",
        ("F + 2 * C", "F + 4 * C"),
        (" * block + C", " * block + 2 * C"),
    ),
    Mistake(
        "The table is counted once, whether the head is tied or not. A head that is not tied is a second table.",
        ('1 if c["tie_word_embeddings"] else 2', "1"),
    ),
    Mistake(
        "The table is counted twice, whether the head is tied or not. A tied head is the table.",
        ('1 if c["tie_word_embeddings"] else 2', "2"),
    ),
    Mistake(
        "Tied and not tied are swapped. Tied means one table for both.",
        ("1 if", "2 if"),
        ("else 2", "else 1"),
    ),
    Mistake(
        "D is `head_dim`, which need not be C / H.",
        ('c["head_dim"]', 'c["hidden_size"] // c["num_attention_heads"]'),
    ),
    Mistake(
        "A Llama has no table of positions. The rotation has no parameters.",
        ("* block + C", '* block + C + c["max_position_embeddings"] * C'),
    ),
    Mistake(
        "F is `intermediate_size`, and not 4C.",
        (
            'C, F, D = c["hidden_size"], c["intermediate_size"]',
            'C, F, D = c["hidden_size"], 4 * c["hidden_size"]',
        ),
    ),
    Mistake(
        "One norm a block is counted. There are two: before attention and before the MLP.",
        ("F + 2 * C", "F + C"),
    ),
    Mistake(
        "One of k and v is as wide as q here. Both have only `num_key_value_heads` heads.",
        ("2 * C * heads + 2 * C * kept", "3 * C * heads + C * kept"),
    ),
    Mistake(
        "Attention's maps are taken for square, C × C. q and the map back are C × heads, where heads is `num_attention_heads` · `head_dim`.",
        ("2 * C * heads + 2 * C * kept", "2 * C * C + 2 * C * kept"),
    ),
    Mistake(
        "All four maps of attention are taken for square. q and the map back are C × heads, k and v C × kept.",
        ("2 * C * heads + 2 * C * kept", "4 * C * C"),
    ),
    Mistake(
        "k or v is missing. Both have C · kept weights.",
        ("2 * C * kept", "C * kept"),
    ),
    Mistake(
        "All norms are missing. Each block has two, and one follows the last block.",
        ("F + 2 * C", "F"),
        (" * block + C", " * block"),
    ),
    Mistake(
        "k and v have `num_key_value_heads` heads, not H / K.",
        (
            'c["num_key_value_heads"] * D',
            '(c["num_attention_heads"] // c["num_key_value_heads"]) * D',
        ),
    ),
    Mistake(
        "`head_dim` is missing in the width of k and v. They have K heads of D columns.",
        ('c["num_key_value_heads"] * D', 'c["num_key_value_heads"]'),
    ),
    Mistake(
        "The blocks are counted once. There are `num_hidden_layers` of them.",
        ('c["num_hidden_layers"] * block', "block"),
    ),
    Mistake(
        "The table is inside the sum that is multiplied by the number of blocks. It is there once.",
        (
            'tables * table + c["num_hidden_layers"] * block',
            'c["num_hidden_layers"] * (tables * table + block)',
        ),
    ),
    Mistake(
        "The last norm is counted in every block. It comes once, after all of them.",
        (" * block + C", " * (block + C)"),
    ),
    Mistake(
        "The table of tokens is missing.",
        ("tables * table + ", ""),
    ),
    Mistake(
        "A table has C entries for each token.",
        ('c["vocab_size"] * C', 'c["vocab_size"]'),
    ),
    Mistake(
        "The norms of a block have C weights each, because an RMSNorm has no bias.",
        ("F + 2 * C", "F + 4 * C"),
    ),
    Mistake(
        "The last norm is counted twice. It has C weights.",
        (" * block + C", " * block + 2 * C"),
    ),
    Mistake(
        "Biases are counted. A Llama has none.",
        ("3 * C * F", "3 * C * F + 2 * F + C"),
    ),
    Mistake(
        "Only the attention is counted in every block. The MLP and the norms are in every block, too: add up the block first, then multiply by the number of blocks.",
        ("block = attention + 3 * C * F + 2 * C", "block = attention"),
        ("* block + C", "* block + 3 * C * F + 2 * C + C"),
    ),
    Mistake(
        "The projections of attention have no biases.",
        ("2 * C * heads + 2 * C * kept", "2 * C * heads + 2 * C * kept + heads + 2 * kept + C"),
    ),
    Mistake(
        "A norm has one weight for each column, so two of them have 2 · C.",
        ("2 * C\n    table", "2\n    table"),
    ),
)


def right(c):
    return num_parameters(
        LlamaConfig(
            vocab_size=c["vocab_size"],
            n_layer=c["num_hidden_layers"],
            n_head=c["num_attention_heads"],
            n_kv_head=c["num_key_value_heads"],
            n_embd=c["hidden_size"],
            n_inner=c["intermediate_size"],
            head_size=c["head_dim"],
            tie_word_embeddings=c["tie_word_embeddings"],
        )
    )


NAMES = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "num_key_value_heads", "head_dim", "tie_word_embeddings"),
)


def cases():
    sizes = {
        "SmolLM2-135M": (49152, 576, 1536, 30, 9, 3, 64, True),
        "Llama 3 8B": (128256, 4096, 14336, 32, 32, 8, 128, False),
        "one block, as many key heads": (11, 12, 20, 1, 3, 3, 4, True),
        "heads that are wider than C / H": (101, 24, 40, 2, 6, 2, 10, True),
        "not tied": (101, 24, 40, 3, 4, 1, 6, False),
    }
    window = {"max_position_embeddings": 8192}
    return [
        Case(label, (dict(zip(NAMES, of, strict=True)) | window,)) for label, of in sizes.items()
    ]
