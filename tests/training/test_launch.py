"""The files in launch/ start a run on two ranks here: of one machine, of two, and under Slurm."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpt2_edu.training.config import LOG
from gpt2_edu.training.run_log import read_log

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN, SLURM = (ROOT / "launch" / name for name in ("torchrun.sh", "slurm.sbatch"))
SMALL = """--device cpu --warmup-steps 1 --n-layer 1 --n-head 1 --n-embd 8 --block-size 8
    --batch-size 2 --eval-every 0 --sample-every 0 --log-every 1 --quiet""".split()


@pytest.fixture
def environment():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    keep = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    mine = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return keep | mine | {"PORT": str(port)}


def finish(*started: subprocess.Popen) -> None:
    for process in started:
        said = process.communicate(timeout=120)[0]
        assert process.returncode == 0, said[-3000:]


def start(*command: object, **options) -> subprocess.Popen:
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(list(map(str, command)), **output, **options)


def ranks_and_steps(out: Path) -> tuple[int, int]:
    rows = read_log(out / LOG)
    return rows[0]["devices"], rows[-1]["step"]


def test_one_machine(environment, data, tmp_path):
    given = ("--data", data, "--out", tmp_path / "run", "--steps", 2, *SMALL)
    finish(start(TORCHRUN, *given, env=environment | {"GPUS": "2"}))
    assert ranks_and_steps(tmp_path / "run") == (2, 2)


def test_two_machines(environment, data, tmp_path):
    given = ("--data", data, "--out", tmp_path / "run", "--steps", 2, "--fsdp", *SMALL)
    each = environment | {"GPUS": "1", "NODES": "2", "HOST": "127.0.0.1"}
    finish(*(start(TORCHRUN, *given, env=each) for _ in range(2)))
    assert ranks_and_steps(tmp_path / "run") == (2, 2)


def test_several_machines_need_a_place_to_meet(environment):
    done = start(TORCHRUN, env=environment | {"GPUS": "1", "NODES": "2"})
    said = done.communicate(timeout=60)[0]
    assert done.returncode != 0 and "HOST: says where the machines meet" in said


def test_slurm_starts_a_run_and_goes_on_with_it(environment, data, tmp_path):
    """Slurm's own part is played: scontrol names the machines, srun starts a process on each."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "scontrol").write_text("#!/bin/sh\nprintf '127.0.0.1\\n127.0.0.2\\n'\n")
    (tools / "srun").write_text(
        '#!/bin/sh\nshift\n"$@" & one=$!\n"$@" & two=$!\nwait $one && wait $two\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    out = tmp_path / "run"
    job = environment | {
        "PATH": f"{tools}:{environment['PATH']}",
        "OUT": str(out),
        "GPUS": "1",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_JOB_ID": environment["PORT"],
        "SLURM_SUBMIT_DIR": str(ROOT),
    }
    given = ("--data", data, "--steps", 3, "--save-every", 1, *SMALL)
    finish(start("bash", SLURM, *given, env=job))
    assert ranks_and_steps(out) == (2, 3)
    done = start("bash", SLURM, *given, env=job)
    said = done.communicate(timeout=120)[0]
    assert done.returncode == 0, said[-3000:]
    assert ranks_and_steps(out) == (2, 3)
