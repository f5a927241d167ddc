"""A token too quiet."""

from ...exercise import Mistake

ORDER = 20
KIND = "paper"
LEVEL = 2
RANK = "extra"
MINUTES = 6

TASK = r"""
LayerNorm brings a token to the standard deviation 1, but not quite, because of ε. The numbers of a very quiet token have the standard deviation 0.001 (the biased one). Which standard deviation do they have after GPT-2's LayerNorm, with $\varepsilon = 10^{-5}$, γ = 1 and β = 0? Give three decimals or more.
"""

HINTS = (
    "The numbers are divided by $\\sqrt{\\sigma^2 + \\varepsilon}$, so the standard deviation is divided by it as well.",
    "σ is 0.001, so σ² is $10^{-6}$, a tenth of ε.",
)

START = "quiet_token = ..."

SOLUTION = "quiet_token = 0.001 / math.sqrt(0.001**2 + 1e-5)  # 1 / √11 = 0.3015"

right = 0.30151134
TOLERANCE = 6e-4  # tells 0.3 from 0.3015, and takes 0.301 and 0.302

MISTAKES = (
    Mistake(
        "That would be right without ε. Here ε is ten times as large as the variance.",
        code="quiet_token = 1",
    ),
    Mistake(
        "Here ε is outside the root. It belongs under it, with the variance.",
        code="quiet_token = 0.001 / (0.001 + 1e-5)",
    ),
    Mistake(
        "Under the root belongs the variance, σ² = 10⁻⁶. You put σ there.",
        code="quiet_token = 0.001 / math.sqrt(0.001 + 1e-5)",
    ),
    Mistake(
        "That is the variance afterwards. Its root is the standard deviation.",
        code="quiet_token = 1 / 11",
    ),
    Mistake(
        "You divided by σ² + ε. Take its root first.",
        code="quiet_token = 0.001 / (0.001**2 + 1e-5)",
    ),
    Mistake(
        "Only ε is left under the root here. Add the variance, 10⁻⁶.",
        code="quiet_token = 0.001 / math.sqrt(1e-5)",
    ),
    Mistake(
        "Rounded too much: give three decimals or more.",
        code="quiet_token = 0.3",
    ),
    Mistake(
        "That is what LayerNorm divides by. Divide the standard deviation, 0.001, by it.",
        code="quiet_token = math.sqrt(0.001**2 + 1e-5)",
    ),
)
