"""Seconds from starting Python to a GPT-2 class: ours, that of transformers, torch alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import contenders
from benchmarks.common import Report, Row, alternate, parser, rounds

ROOT = str(Path(__file__).resolve().parents[1])


def start(line: str) -> None:
    """Run one line in a new Python that finds our package in the repository."""
    environment = os.environ | {"PYTHONPATH": ROOT}
    subprocess.run([sys.executable, "-c", line], env=environment, check=True)


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    lines = {"ours": "from gpt2_edu import GPT2", "torch alone": "import torch"}
    if contenders.has_transformers():
        lines["transformers"] = "from transformers import GPT2LMHeadModel"
    device = torch.device(options.device)
    report = Report("import_time", device, {})
    runs = {name: lambda line=line: start(line) for name, line in lines.items()}
    taken = alternate(runs, rounds(options), device, warm_up=1)  # the disk's cache is warm then
    for name, times in taken.items():
        report.rows.append(Row("import", name, times, "s", higher_is_better=False))
    report.finish(options.json)


if __name__ == "__main__":
    main()
