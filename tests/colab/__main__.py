"""Every notebook as Colab runs it, from its first cell: `make colab-test`.

python -m tests.colab                          # with the Python of `make`
python -m tests.colab --python python3.13      # with another one
python -m tests.colab 03_crane practice/13_training

An environment with Colab's versions (tests/colab/requirements.txt) stands in _build/env-colab-…;
google.colab is simulated, and the package installed as the cell installs it, from the tag that it
names: git finds that in a copy of this repository. Each notebook has a kernel and a folder of its
own, as it has a machine of its own there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
sys.path.insert(0, str(ROOT / "site"))

from gpt2_site.addresses import repository, version  # noqa: E402
from gpt2_site.make_colab import OUT  # noqa: E402
from gpt2_site.make_colab import main as make_colab  # noqa: E402
from tests.colab.look import problems  # noqa: E402

RAN = ROOT / "_build" / "colab-ran"
TORCH = "torch==2.11.0"  # Colab's, of August 2026


def environment(python: str, torch: str) -> Path:
    """A venv with Colab's versions for this Python; made anew when the list has changed."""
    told = subprocess.run([python, "--version"], capture_output=True, text=True, check=True)
    wanted = f"{told.stdout}{torch}\n{(HERE / 'requirements.txt').read_text('utf-8')}"
    place = ROOT / "_build" / f"env-colab-{told.stdout.split()[1]}"
    ready = place / "ready"
    if not ready.is_file() or ready.read_text("utf-8") != wanted:
        print(f"making {place.relative_to(ROOT)} …", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", str(place)], check=True)
        pip = [str(place / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *torch.split()], check=True)
        subprocess.run([*pip, "-r", str(HERE / "requirements.txt")], check=True)
        ready.write_text(wanted, "utf-8")
    return place


def copy_with_tag(place: Path) -> Path:
    """A copy of this repository as it stands in the folder, with the tag that notebooks name."""
    git = ["git", "-C", str(place)]
    listed = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, *who, "commit", "--quiet", "-m", "as it is"], check=True)
    subprocess.run([*git, "tag", f"v{version()}"], check=True)
    return place


def run(path: Path, place: Path, work: Path) -> str | None:
    """Run a notebook; returns what went wrong. What came out is stored beside it."""
    nb = nbformat.read(path, as_version=4)
    folder = work / path.stem / path.parent.name
    folder.mkdir(parents=True)
    client = NotebookClient(
        nb, kernel_name="colab", timeout=1200, resources={"metadata": {"path": str(folder)}}
    )
    said = None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        said = str(error)
    ran = RAN / path.relative_to(OUT)
    ran.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, ran)
    return said


def drive_labs(place: Path) -> bool:
    """Use the panels with sliders through their callbacks, with Colab's ipywidgets."""
    python = [str(place / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tests = ["tests/labs/test_labs.py", "tests/exercises/test_drive.py"]
    # Colab's matplotlib and newer parts of it do not agree on names; readers see no warnings.
    ran = subprocess.run([*python, "-o", "filterwarnings=default", *tests], cwd=ROOT)
    return ran.returncode != 0


def installed(place: Path) -> set[str]:
    listed = [str(place / "bin" / "pip"), "freeze", "--disable-pip-version-check"]
    found = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line for line in found if not line.startswith("gpt2-edu ")}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", nargs="*", help="such as 03_crane; default: all")
    parser.add_argument("--python", default=sys.executable, help="3.12 and 3.13 are Colab's")
    parser.add_argument("--torch", default=TORCH, help=f"what pip installs, {TORCH}")
    given = parser.parse_args()
    place = environment(given.python, given.torch)
    make_colab()
    paths = sorted(OUT.rglob("*.ipynb"))
    if given.notebooks:
        paths = [OUT / "notebooks" / f"{name}.ipynb" for name in given.notebooks]
    before = installed(place)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        copy = copy_with_tag(work / "repository")
        kernel = work / "jupyter" / "kernels" / "colab"
        kernel.mkdir(parents=True)
        python = str(place / "bin" / "python")
        argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        (kernel / "kernel.json").write_text(
            json.dumps({"argv": argv, "display_name": "Colab", "language": "python"})
        )
        startup = work / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "colab.py").write_text((HERE / "startup" / "colab.py").read_text("utf-8"))
        os.environ.pop("GPT2_EDU_BOOK", None)
        os.environ |= {
            "JUPYTER_PATH": str(work / "jupyter"),
            "IPYTHONDIR": str(work / "ipython"),
            "PYTHONPATH": str(HERE / "modules"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a debugger's word about itself
            "OMP_NUM_THREADS": "1",  # two run at a time: with two threads each, ten times as slow
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{copy}.insteadOf",
            "GIT_CONFIG_VALUE_0": repository(),
        }

        def timed(path: Path) -> tuple[Path, float, str | None]:
            began = time.monotonic()
            problem = run(path, place, work)
            return path, time.monotonic() - began, problem

        failed = 0
        with ThreadPoolExecutor(max_workers=2) as pool:
            first = [timed(path) for path in paths[:1]]  # installs the package
            for path, seconds, problem in chain(first, pool.map(timed, paths[1:])):
                state = "failed" if problem else "ran"
                print(f"{path.relative_to(OUT)}: {state}, {seconds / 60:.1f} min", flush=True)
                if problem:
                    print(problem)
                    failed += 1
    changed = sorted(before ^ installed(place))
    if changed:
        print("pip changed what was installed:", ", ".join(changed))
    print(f"{len(paths) - failed} of {len(paths)} notebooks ran, {place.name}")
    unread = problems([RAN / path.relative_to(OUT) for path in paths])
    print(*unread, f"{len(unread)} outputs cannot be read well", sep="\n")
    if not given.notebooks:
        failed += drive_labs(place)
    return bool(failed or changed or unread)


if __name__ == "__main__":
    sys.exit(main())
