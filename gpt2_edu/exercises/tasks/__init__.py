"""One file for each exercise, in a folder for each chapter; see ``exercise.py``."""
