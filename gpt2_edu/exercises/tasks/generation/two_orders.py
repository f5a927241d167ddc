"""Heat, then cut; cut, then heat."""

from ...exercise import Mistake

ORDER = 50
KIND = "explore"
LEVEL = 2
RANK = "extra"
MINUTES = 10
TOLERANCE = 0.02

TASK = r"""
Two programs have the same settings, temperature 2 and top-p 0.9. One heats first and then cuts, as this package does. The other cuts first and then heats the rest. How many tokens can each of them draw after "By the river, the crane ate"? Put the `<|endoftext|>` in front, as the chapter does, use the model "crane", and count the probabilities above 0. Answer with a list of two numbers: heated first, cut first.
"""

HINTS = (
    'The logits are `model(torch.tensor([[encoding.eot_token, *encoding.encode("By the river, the crane ate")]]))[0][:, -1]`, with `GPT2.from_pretrained("crane")` and `load_tokenizer("crane")` from `gpt2_edu`.',
    "The package's function, under another name than yours, is `from gpt2_edu.sampling import next_probabilities as knobs`. With both knobs in one call it heats first. For the other order, call it twice, once for each knob.",
    "Between the two calls, `.log()` turns probabilities into logits again. A token that was cut has log 0 = −∞, and stays out.",
)

START = "two_orders = ..."

SOLUTION = """
from gpt2_edu import GPT2, load_tokenizer
from gpt2_edu.sampling import next_probabilities as knobs

encoding = load_tokenizer("crane")
ids = encoding.encode("By the river, the crane ate")
idx = torch.tensor([[encoding.eot_token, *ids]])
with torch.no_grad():
    logits = GPT2.from_pretrained("crane")(idx)[0][:, -1]

heated_first = knobs(logits, temperature=2.0, top_p=0.9)
cut_first = knobs(knobs(logits, top_p=0.9).log(), temperature=2.0)
two_orders = [int((p > 0).sum()) for p in (heated_first, cut_first)]
# 87 and 2: heat lifts the tail, and p then has to reach far into it.
"""

right = [87, 2]

MISTAKES = (
    Mistake(
        "The two are the wrong way round. The first number is for heating first, which lets the tail in.",
        code="two_orders = [2, 87]",
    ),
    Mistake(
        "Both numbers are for heating first, because with both knobs in one call the package always heats first. For the other order, cut in one call and heat in a second one.",
        code="two_orders = [87, 87]",
    ),
    Mistake(
        "Both times the temperature is missing, or comes after the cut. To heat first, pass `temperature=2.0` and `top_p=0.9` together.",
        code="two_orders = [2, 2]",
    ),
    Mistake(
        "Very close, but the prompt lacks its `<|endoftext|>`. In training every story followed one.",
        code="two_orders = [82, 2]",
    ),
    Mistake(
        "That counts the whole vocabulary, because heat alone removes no token. Cut with top-p 0.9 as well.",
        code="two_orders = [1024, 2]",
    ),
    Mistake(
        "The second call got probabilities, where it expects logits. Take the logarithm between the two calls, `.log()`, so that what was cut is −∞ and stays out.",
        code="two_orders = [87, 1024]",
    ),
)
