"""One file an exercise; see gpt2_edu/exercises/exercise.py for what a file holds."""
