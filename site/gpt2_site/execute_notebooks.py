"""Execute the notebooks in place, as the book shows them: `make notebooks`.

CPU, one thread, GPT2_EDU_BOOK=1. The file that comes out depends on the notebook's text alone: cell
ids come from the cells' content, and no times, widget state or interpreter version are stored. So a
notebook that is executed again without a change has no diff. A cell that fails stops its notebook,
which is then left as it was.
"""

import argparse
import hashlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from gpt2_site.addresses import bootstrap
from gpt2_site.chapters import chapters, pages

CELL_TIMEOUT = 600  # seconds
USES_GPU = "pick_device()"
PLACE = "exercise-"  # begins the names of cells that links lead to
WRITE_IT = "now-write-it"  # the cell where a chapter asks for a part of GPT-2
STEP = f"{PLACE}{WRITE_IT}"  # its name in Colab


def tidy(nb: nbformat.NotebookNode) -> None:
    """Bring everything beside the cells' text and outputs into one form."""
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nb.metadata.language_info = {"name": "python", "pygments_lexer": "ipython3"}
    for key in ("widgets", "jupytext"):
        nb.metadata.pop(key, None)
    next(cell for cell in nb.cells if cell.cell_type == "code").source = bootstrap()
    ask_for_gpu(nb)
    seen: dict[str, int] = {}
    for cell in nb.cells:
        for key in ("execution", "ExecuteTime", "collapsed", "outputId"):
            cell.metadata.pop(key, None)
        if not cell.metadata.get("id", "").startswith(PLACE):
            cell.metadata.pop("id", None)  # given by Colab
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def ask_for_gpu(nb: nbformat.NotebookNode) -> None:
    """Have Colab bring a GPU, of the kind that is free, to a notebook that uses one."""
    nb.metadata.pop("accelerator", None)
    nb.metadata.pop("colab", None)
    if any(USES_GPU in cell.source for cell in nb.cells if cell.cell_type == "code"):
        nb.metadata.update(accelerator="GPU", colab={"gpuType": "T4"})


def client_of(nb: nbformat.NotebookNode, path: Path, timeout: int = CELL_TIMEOUT) -> NotebookClient:
    """What runs a notebook in a kernel of its own, in the folder of its file."""
    return NotebookClient(
        nb,
        kernel_name="python3",
        timeout=timeout,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )


def execute(path: Path) -> str | None:
    """Execute one notebook and write it back; return None, or what went wrong."""
    os.environ.update(GPT2_EDU_BOOK="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"  # see NBVAL in the Makefile
    os.environ.pop("MPLBACKEND", None)  # the kernel then draws inline
    nb = nbformat.read(path, as_version=4)
    tidy(nb)
    client = client_of(nb, path)
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        number = client.code_cells_executed
        return f"{path}: code cell {number} failed; the file is unchanged.\n{error}"
    tidy(nb)
    store(nb, path)
    return None


def store(nb: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook in the one form that has no diff where nothing changed."""
    text = nbformat.writes(nb, version=4, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Execute notebooks in place, as the book does.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all")
    paths = parser.parse_args().notebooks or [
        *(page.path for page in pages()),
        *(chapter.practice for chapter in chapters()),
    ]
    missing = [p for p in paths if not p.is_file()]
    if missing:
        print(f"no such notebook: {', '.join(map(str, missing))}", file=sys.stderr)
        return 2
    failures = 0
    with ProcessPoolExecutor(max_workers=2) as pool:
        for path, problem in zip(paths, pool.map(execute, paths), strict=True):
            print(problem or f"{path}: executed", flush=True)
            failures += problem is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
