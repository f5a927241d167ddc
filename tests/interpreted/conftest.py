"""Triton's interpreter is chosen before Triton is imported: tests/test_kernels.py runs these tests
in a process of their own. On a GPU they run with all others.
"""

import os

import torch

if os.environ.get("TRITON_INTERPRET") != "1" and not torch.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]
