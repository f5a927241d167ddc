"""Train a model for each step of the book, and store losses and samples: `make staircase`.

The file is gpt2_edu/assets/staircase.json; what a step is, gpt2_edu/analysis/staircase.py says. Two
cores need ten minutes.
"""

from __future__ import annotations

import torch

from gpt2_edu.analysis.staircase import FILE, Recipe, climb
from gpt2_site.make_crane import rounded, write_json


def main() -> None:
    torch.set_num_threads(1)  # sums in one order, so that the same machine gives the same numbers
    write_json(FILE, rounded(climb(Recipe())), indent=1)


if __name__ == "__main__":
    main()
