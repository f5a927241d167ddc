"""A bias that does nothing."""

ORDER = 60
KIND = "stretch"
LEVEL = 3
RANK = "extra"
MINUTES = 15

TASK = r"""
GPT-2's `c_attn` has 3C biases: $b_Q$, $b_K$ and $b_V$. One of the three can be set to any values, and attention always gives the same result as before. Which one, and why? Try it with a random `c_attn` first, then prove it from

$$\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt d}\right) V$$

and say why the other two do change the result.
"""

HINTS = (
    "In an untrained layer of your own, add 5 to the first C biases, then to the next C, then to the last C, and compare the results.",
    "Write the score of query $i$ and key $j$ with the bias spelled out: $q_i \\cdot (k_j + b_K)$. Which part depends on $j$?",
    "What does a softmax do if the same number is added to all scores of a row?",
)

SOLUTION = r"""
It is $b_K$, the bias of the keys. Let $k_j$ be a key without its bias. The score of query $i$ and key $j$ is

$$q_i \cdot (k_j + b_K) = q_i \cdot k_j + q_i \cdot b_K$$

The second part does not depend on $j$: it is one number $c_i$ for the whole row. The division by $\sqrt d$ does not change that. And the softmax does not see what is added to a whole row:

$$\frac{e^{s_j + c}}{\sum_m e^{s_m + c}} = \frac{e^{c}\, e^{s_j}}{e^{c} \sum_m e^{s_m}} = \frac{e^{s_j}}{\sum_m e^{s_m}}$$

So the weights are the same, and the result with them, up to rounding.

$b_Q$ does count: $(q_i + b_Q) \cdot k_j$ adds $b_Q \cdot k_j$, which is another number for each key. And $b_V$ is added to every value. The shares of a row sum to 1, so exactly $b_V$ is added to each row of the result.

The same holds with the mask of the next chapter, which only leaves out some terms of the sum.
"""
