"""One file for each step towards the reader's own GPT-2; see ``step.py``."""
