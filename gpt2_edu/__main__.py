"""``python -m gpt2_edu``: the command line, also under torchrun."""

from .cli import main

if __name__ == "__main__":
    main()
