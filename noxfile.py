"""Checks in environments other than .venv: `make newest`, or `.venv/bin/nox -s newest`.

TORCH names a build of PyTorch other than the index's usual one, such as TORCH=torch==2.13.0+cpu.
"""

import os
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.envdir = "_build/nox"
TORCH = os.environ.get("TORCH", "torch")
# What the package's own tests leave out: the site, what runs in a browser or in Node.
OTHERS = ("site", "web", "labs", "exhibits/test_exhibits_shown.py", "test_generated.py")
PACKAGE = (
    "-q",
    "-n",
    "2",
    "-m",
    "not browser and not thorough",
    *(f"--ignore=tests/{name}" for name in OTHERS),
)


@nox.session
def newest(session: nox.Session) -> None:
    """Test the package with the newest versions of what it needs."""
    session.install("--editable", ".[book,data]", "--group", "test", TORCH)
    session.run("pytest", *PACKAGE)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Test the package with the lowest versions that pyproject.toml admits."""
    oldest = ("--resolution", "lowest-direct")
    session.install("--editable", ".[book,data]", "--group", "test", TORCH, *oldest)
    session.run("pytest", "-W", "default", *PACKAGE)


@nox.session
def sphinx(session: nox.Session) -> None:
    """Build the book with Sphinx alone, without Jupyter Book, and test its pages."""
    session.install("--editable", ".[book]", "--group", "site", "Sphinx>=8", TORCH)
    conf, out = Path("conf.py"), "_build/sphinx"
    session.run(".venv/bin/jupyter-book", "config", "sphinx", ".", external=True)
    with conf.open("a", encoding="utf-8") as file:
        file.write("extensions = [name for name in extensions if 'jupyter' not in name]\n")
    strict = ("--quiet", "--fail-on-warning", "--nitpicky", "--keep-going")
    try:
        session.run("sphinx-build", *strict, ".", out, env={"PYTHONPATH": "site"})
    finally:
        conf.unlink()
    test = ("-m", "pytest", "-q", "tests/site/test_site.py")
    session.run(".venv/bin/python", *test, env={"SITE": out}, external=True)


@nox.session
def grading(session: nox.Session) -> None:
    """Grade the assignments with nbgrader: all, or those of one chapter, `-- 6`."""
    session.install("--editable", ".[book]", "--group", "grading", "--group", "site", TORCH)
    place = session.virtualenv.location
    session.run("python", "-m", "tests.grading", place, *(session.posargs or ["all"]))


@nox.session(name="colab-test", venv_backend="none")
def colab_test(session: nox.Session) -> None:
    """Run the notebooks with the versions of Colab: `-- --python python3.13`."""
    session.run(".venv/bin/python", "-m", "tests.colab", *session.posargs, external=True)
