"""Which heads look at the place?"""

from ...exercise import Mistake

ORDER = 50
KIND = "explore"
LEVEL = 2
RANK = "extra"
MINUTES = 12

TASK = r"""
The trained model has 12 heads, 4 in each of its 3 blocks. How many of them give **more than half** of their weight to the place when they look from `␣crane`? Count in both texts, "In the marsh, the crane" and "In the city, the crane".

Answer with a list of two whole numbers, first for the marsh, then for the city.

Begin each text with `<|endoftext|>`, as the chapter does. It is then at position 0, the place at position 3, and `␣crane` is the last token. The weights of block n are on the tape as `transformer.h.{n}.attn.weights`, (B, H, T, T). Before you count, guess whether it will be the same heads in both texts.
"""

HINTS = (
    "Run each text inside `with torch.no_grad(), trace(model) as t:` and collect the tables of all three blocks.",
    "The row is the query and the column the key, so for one head it is `table[-1, 3]`.",
    "For one block, `(t[path][0, :, -1, 3] > 0.5).sum()` counts its heads. Add the three blocks.",
)

START = """
from gpt2_edu import GPT2, load_tokenizer, trace

encoding = load_tokenizer("crane")
model = GPT2.from_pretrained("crane").eval()
texts = ("In the marsh, the crane", "In the city, the crane")

looks_at_place = ...  # [for the marsh, for the city]
"""

SOLUTION = """
from gpt2_edu import GPT2, load_tokenizer, trace

encoding = load_tokenizer("crane")
model = GPT2.from_pretrained("crane").eval()
texts = ("In the marsh, the crane", "In the city, the crane")

looks_at_place = []
for text in texts:
    ids = torch.tensor([[encoding.eot_token, *encoding.encode(text)]])
    with torch.no_grad(), trace(model) as t:
        model(ids)
    paths = [f"transformer.h.{n}.attn.weights" for n in range(3)]
    # row -1: ␣crane looks; column 3: the place is looked at
    found = torch.stack([t[path][0, :, -1, 3] for path in paths])
    looks_at_place.append(int((found > 0.5).sum()))
"""

right = [2, 1]

MISTAKES = (
    Mistake(
        "You get no head at all in the last block alone, with row and column swapped, with the column of another token, or without `<|endoftext|>` in front. The row is the last one, `␣crane`, and the column is 3 if the text begins with `<|endoftext|>`.",
        code="looks_at_place = [0, 0]",
    ),
    Mistake(
        "That counts the heads that look more at the place than at any other token. The question asks for more than half of the weight.",
        code="looks_at_place = [3, 3]",
    ),
    Mistake(
        "It is right for the marsh, but the city is not like the marsh. Count there too.",
        code="looks_at_place = [2, 2]",
    ),
    Mistake(
        "The two texts are in the other order: first the marsh, then the city.",
        code="looks_at_place = [1, 2]",
    ),
)


def after(answer):
    from ....tokenizer import load_tokenizer
    from ...crane_run import crane_run

    lines = ["The chapter's two heads of block 1, looking from the crane:"]
    for text in ("In the marsh, the crane", "In the city, the crane"):
        run = crane_run(text)
        for head in (0, 2):
            weights = run.noted(1, "attn.weights")[0, head, -1]
            best = int(weights.argmax())
            token = load_tokenizer("crane").decode([int(run.idx[0, best])])
            lines.append(f"{text}: 1.{head} looks most at {token!r}, with {weights[best]:.2f}")
    return "\n".join([*lines, "A head that looks at the marsh need not look at the city."])
