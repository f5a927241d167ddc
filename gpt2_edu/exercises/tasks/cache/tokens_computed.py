"""How many tokens pass through the model?"""

from ...exercise import Mistake

ORDER = 10
KIND = "paper"
LEVEL = 1
RANK = "core"
MINUTES = 5

TASK = r"""
A model writes 50 new tokens after a prompt of 100. How many tokens pass through it in all, without a cache and with one? Answer with a list of two numbers. (The last new token is only written, never read.)
"""

HINTS = (
    "Without a cache the first new token costs a pass over 100 tokens, the second one over 101. Over how many goes the last?",
    "The sum of 100, 101, …, 149 is 50 times the mean of the first and the last.",
    "With a cache each token passes once, those of the prompt and every new one but the last.",
)

START = "tokens_computed = ..."

SOLUTION = """
without = sum(range(100, 150))  # 50 · 124.5 = 6225
with_cache = 100 + 49  # prefill, then one token a step
tokens_computed = [without, with_cache]
"""

right = [6225, 149]

MISTAKES = (
    Mistake(
        "The second number is one too many, because the last new token is written and never read.",
        code="tokens_computed = [6225, 150]",
    ),
    Mistake(
        "The first sum begins one too late. The first new token is predicted from the 100 of the prompt.",
        code="tokens_computed = [sum(range(101, 151)), 149]",
    ),
    Mistake(
        "Each step reads the new tokens too, and not only the prompt. It is 100, then 101, and so on up to 149.",
        code="tokens_computed = [50 * 100, 149]",
    ),
    Mistake(
        "With a cache the prompt still passes once, in the prefill. Add its 100 tokens.",
        code="tokens_computed = [6225, 49]",
    ),
    Mistake(
        "That is the right pair in the wrong order. The first number is for the loop without a cache.",
        code="tokens_computed = [149, 6225]",
    ),
    Mistake(
        "Both numbers count the last new token. It is written and never read, so without a cache the last pass is over 149 tokens.",
        code="tokens_computed = [sum(range(101, 151)), 150]",
    ),
    Mistake(
        "The passes are not all over 150 tokens. The text grows, so it is 100 tokens first, then 101, and 149 in the last pass.",
        code="tokens_computed = [50 * 150, 149]",
    ),
    Mistake(
        "With a cache the prompt still passes once, in the prefill. Add its 100 tokens, and leave out the last new one.",
        code="tokens_computed = [6225, 50]",
    ),
    Mistake(
        "The first sum has one pass too many. The last new token is predicted from the 149 tokens before it.",
        code="tokens_computed = [sum(range(100, 151)), 149]",
    ),
    Mistake(
        "Without the cache each pass computes the text as it is by then, from 100 tokens to 149. The token of the last pass is never computed, with the cache or without.",
        code="""tokens_computed = [50 * 150, 150]""",
    ),
)
