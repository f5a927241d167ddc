"""The loader."""

import torch

from ....config import GPT2Config
from ....gpt2_weights import from_hugging_face, to_hugging_face
from ....model import GPT2
from ...exercise import Case, Mistake

ORDER = 40
KIND = "write"
LEVEL = 2
RANK = "core"
MINUTES = 15

TASK = r"""
Write the loader of this chapter without looking. `checkpoint` is the content of a Hugging Face file, {name: tensor}. The result is a new dictionary with the names, the layout and the type of `GPT2.state_dict()`. It takes five steps.

1. Drop the mask buffers: names that end in `.attn.bias` or `.attn.masked_bias`.
2. Complete the names: OpenAI's begin at `wte.weight` or `h.0.…`, ours with `transformer.`. Some files have that already. A file may hold `lm_head.weight` too; it keeps its name.
3. Transpose the four `Conv1D` weights of each block: `attn.c_attn`, `attn.c_proj`, `mlp.c_fc`, `mlp.c_proj`.
4. Convert every tensor to float32.
5. Add `lm_head.weight`, which is the table `transformer.wte.weight`.

A file with only `wte.weight` and `h.0.attn.c_proj.weight = [[1, 2], [3, 4]]` becomes three tensors: `transformer.wte.weight`, `transformer.h.0.attn.c_proj.weight = [[1, 3], [2, 4]]` and `lm_head.weight`.
"""

HINTS = (
    "One loop over `checkpoint.items()`. First `continue` for a mask, then complete the name, then transpose if the name requires it.",
    "`name.endswith((…, …))` takes a tuple of endings. Mind the dot in `.attn.bias`, because without it `h.0.attn.c_attn.bias` matches too.",
    "Transpose by name, never by shape, because `attn.c_proj.weight` is square, and `wte` and `wpe` are tables, not layers.",
)

START = '''
def translate(checkpoint):
    """checkpoint {name: tensor}. Returns {name: tensor} for our GPT2."""
    ...
'''

SOLUTION = """
def translate(checkpoint):
    conv1d = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    state = {}
    for name, tensor in checkpoint.items():
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue  # the causal mask, which we compute
        if not name.startswith(("transformer.", "lm_head.")):
            name = "transformer." + name
        # by name: c_proj of attention is square and fits either way
        state[name] = (tensor.T if name.endswith(conv1d) else tensor).float()
    state["lm_head.weight"] = state["transformer.wte.weight"]
    return state
"""

MISTAKES = (
    Mistake(
        "The square `attn.c_proj.weight` is not transposed, because its shape fits either way. It is a `Conv1D` like the others, so transpose it too.",
        (
            "tensor.T if name.endswith(conv1d) else tensor",
            'tensor.T if ".h." in name and tensor.ndim == 2 and len(tensor) != len(tensor.T) else tensor',
        ),
    ),
    Mistake(
        "Every tensor with two axes is transposed here. `wte` and `wpe` are tables, not layers, and need no change. Go by name.",
        ("name.endswith(conv1d)", "tensor.ndim == 2"),
    ),
    Mistake(
        "Nothing is transposed. The four projections of each block are stored as (in, out).",
        ("(tensor.T if name.endswith(conv1d) else tensor)", "tensor"),
    ),
    Mistake(
        "Both `c_proj` are unchanged, and only names with `c_attn` and `c_fc` are transposed. All four projections of a block are `Conv1D`.",
        ("name.endswith(conv1d)", 'name.endswith(("c_attn.weight", "c_fc.weight"))'),
    ),
    Mistake(
        "The biases of `c_attn` are gone, because their names end in `attn.bias` too. With the dot in front, `.attn.bias` matches only the masks.",
        ('".attn.bias", ".attn.masked_bias"', '"attn.bias", "attn.masked_bias"'),
    ),
    Mistake(
        "The masks are still there. They look like parameters but are not. Skip names that end in `.attn.bias` or `.attn.masked_bias`.",
        ('".attn.bias", ".attn.masked_bias"', ""),
    ),
    Mistake(
        "One kind of mask is still there, `.attn.masked_bias`. Older files have it in addition to `.attn.bias`.",
        ('(".attn.bias", ".attn.masked_bias")', '".attn.bias"'),
    ),
    Mistake(
        "All biases are gone. Drop only the masks, `.attn.bias` and `.attn.masked_bias`.",
        ('(".attn.bias", ".attn.masked_bias")', '".bias"'),
    ),
    Mistake(
        "`lm_head.weight` is missing. It is tied, so the file leaves it out. Give it the table `transformer.wte.weight`.",
        ('    state["lm_head.weight"] = state["transformer.wte.weight"]\n', ""),
    ),
    Mistake(
        "The head's table is transposed. `nn.Linear` from C to V stores (out, in), which is (V, C), just like the embedding.",
        ('= state["transformer.wte.weight"]', '= state["transformer.wte.weight"].T'),
    ),
    Mistake(
        "The type is still that of the file. The crane, for one, is stored in float16. Convert every tensor to float32.",
        (".float()", ".contiguous()"),
    ),
    Mistake(
        "OpenAI's names are not completed. They begin at `wte.weight` and `h.0`, ours with `transformer.`.",
        ('name.startswith(("transformer.", "lm_head."))', "True"),
    ),
    Mistake(
        "Some name is in neither dictionary. Put `transformer.` in front only where it is not there already (`startswith`), and look up the table in the new dictionary, by its new name.",
        ('name.startswith(("transformer.", "lm_head."))', "False"),
    ),
    Mistake(
        "The loop ends at the first mask, so what follows it is lost. Skip the mask alone, with `continue`.",
        ("continue  # the", "break  # the"),
    ),
    Mistake(
        "A file's own `lm_head.weight` keeps its name. It does not get `transformer.` in front.",
        ('("transformer.", "lm_head.")', '"transformer."'),
    ),
    Mistake(
        "`c_fc` is not transposed. All four projections of a block are `Conv1D`.",
        ('"c_attn.weight", "c_proj.weight", "c_fc.weight"', '"c_attn.weight", "c_proj.weight"'),
    ),
    Mistake(
        "`reshape` and `view` do not transpose; they cut the same row of numbers into other pieces. Use `tensor.T`.",
        ("tensor.T if", "tensor.reshape(tensor.T.shape) if"),
    ),
    Mistake(
        "A block has two layers called `c_proj`, and both are stored as (in, out): turn that of the MLP as well.",
        ('"c_proj.weight"', '"attn.c_proj.weight"'),
    ),
    Mistake(
        "The table is looked up in `checkpoint` by one of its two names, and another file has the other. Take it from your own dictionary, where it is `transformer.wte.weight`.",
        ('state["transformer.wte.weight"]', 'checkpoint["wte.weight"]'),
    ),
    Mistake(
        "The table is looked up in `checkpoint` by one of its two names, and another file has the other. Take it from your own dictionary, where it is `transformer.wte.weight`.",
        ('state["transformer.wte.weight"]', 'checkpoint["transformer.wte.weight"]'),
    ),
)


def right(checkpoint):
    ours = {name: tensor.float() for name, tensor in from_hugging_face(checkpoint).items()}
    return ours | {"lm_head.weight": ours["transformer.wte.weight"]}


def _file(generator):
    """What a file of a small GPT-2 holds."""
    sizes = {"vocab_size": 11, "block_size": 7, "n_layer": 2, "n_head": 3, "n_embd": 6}
    state = GPT2(GPT2Config(**sizes)).state_dict()
    numbers = {name: torch.randn(t.shape, generator=generator) for name, t in state.items()}
    return to_hugging_face(numbers)


def cases():
    generator = torch.Generator().manual_seed(12)
    tiny = {
        "wte.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "h.0.attn.c_proj.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    }
    file = _file(generator)
    half = {name: tensor.half() for name, tensor in file.items()}
    openai = {name.removeprefix("transformer."): tensor for name, tensor in file.items()}
    mask = torch.ones(7, 7).tril().view(1, 1, 7, 7)
    masks = {f"h.{layer}.attn.bias": mask for layer in range(2)}
    table = {"wte.weight": openai["wte.weight"]}  # masks may stand anywhere
    openai = table | masks | openai
    older = table | {"h.0.attn.masked_bias": torch.tensor(-1e4)} | openai
    head = file | {"lm_head.weight": file["transformer.wte.weight"]}
    return [
        Case("two tensors by OpenAI's names", (tiny,)),
        Case("all tensors of two blocks, by our names", (file,)),
        Case("the same in float16, as the crane is stored", (half,)),
        Case("OpenAI's names, with the masks", (openai,)),
        Case("an older file, with a second kind of mask", (older,)),
        Case("a file that stores the head too", (head,)),
    ]
