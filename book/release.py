"""The version of the book and its package: written everywhere, and checked before pages go out.

    make stamp VERSION=0.2.0    # write it
    make check-tag              # are the tags there that the pages lead to?
    make colab-tag              # the notebooks that `make colab` wrote, as a tag of their own

A release begins with a stamped commit; its tag v0.2.0 starts .github/workflows/release.yml.
"""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from addresses import colab_tag as name_of_colab_tag
from addresses import version
from chapters import ROOT, chapters
from execute_notebooks import store, tidy
from make_colab import OUT as COLAB

# Where the version stands. Install cells name it, too: stamp_notebooks.
PLACES = {
    "pyproject.toml": r'(?<=^version = ")[^"]+',
    "gpt2_edu/__init__.py": r'(?<=^__version__ = ")[^"]+',
    "CITATION.cff": r"(?<=^version: ).+",
}
INSTALLED = re.compile(r"(?<=@v)\d+\.\d+\.\d+")  # in an install cell


class Refused(ValueError):
    """What was asked for cannot be done; the message says why."""


def notebooks() -> list[Path]:
    return [path for chapter in chapters() for path in (chapter.path, chapter.practice)]


def install_cell(nb: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return next(cell for cell in nb.cells if cell.cell_type == "code")


# ---- make stamp


def stamp(new: str) -> None:
    """Write a version wherever one stands. Twice the same changes nothing."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", new):
        raise Refused(f"VERSION={new!r} is no version: write three numbers, as in VERSION=0.2.0")
    changelog = ROOT / "CHANGELOG.md"
    texts = {ROOT / name: rewritten(name, pattern, new) for name, pattern in PLACES.items()}
    texts[changelog] = with_section(changelog.read_text(encoding="utf-8"), new)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    for path in notebooks():
        nb = nbformat.read(path, as_version=4)
        tidy(nb)  # its first cell names the version
        store(nb, path)


def rewritten(name: str, pattern: str, new: str) -> str:
    text, count = re.subn(
        pattern, new, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    if count != 1:
        raise Refused(f"{name} should say the version once, and says it {count} times")
    return text


def with_section(changelog: str, new: str) -> str:
    """The changelog with what is unreleased under the new version, unless that has its section."""
    if f"## [{new}]" in changelog:
        return changelog
    today = datetime.date.today().isoformat()
    text = changelog.replace("## [Unreleased]", f"## [Unreleased]\n\n## [{new}] - {today}", 1)
    link = re.search(r"^\[unreleased\]: (.+)/compare/v.+\.\.\.HEAD$", text, re.M)
    if text == changelog or link is None:
        raise Refused("CHANGELOG.md lacks its section [Unreleased], or the link of that name")
    links = f"[unreleased]: {link[1]}/compare/v{new}...HEAD\n[{new}]: {link[1]}/releases/tag/v{new}"
    return text.replace(link[0], links)


# ---- make check-tag


def check_tag() -> None:
    """Raise Refused if a reader of the pages would be led to a tag that is not there."""
    tag = f"v{version()}"
    for path in notebooks():
        found = INSTALLED.findall(install_cell(nbformat.read(path, as_version=4)).source)
        if not found or {*found} != {version()}:
            raise Refused(
                f"{path.relative_to(ROOT)} installs {', '.join(found) or 'no version'}, and "
                f"pyproject.toml says {version()}. Write one everywhere: make stamp VERSION=…"
            )
    ways = {
        tag: f"Make it: git tag {tag} && git push origin {tag}",
        name_of_colab_tag(): "The workflow release.yml pushes it.",
    }
    for name, way in ways.items():
        if not tag_exists(name):
            lead = f"The tag {name}, to which the pages lead, is neither here nor at origin."
            raise Refused(f"{lead} {way}")
    print(f"{tag} and colab-{tag} are there, and all {len(notebooks())} install cells name them.")


def tag_exists(tag: str) -> bool:
    """Whether this repository has the tag, or the one that it was cloned from."""
    if git("tag", "--list", tag):
        return True
    try:
        return bool(git("ls-remote", "--tags", "origin", f"refs/tags/{tag}"))
    except subprocess.CalledProcessError as error:
        print(f"origin does not answer: {error.stderr.splitlines()[0]}", file=sys.stderr)
        return False


# ---- make colab-tag


def colab_tag() -> None:
    """Tag the notebooks for Colab: a commit without parents, the same for the same notebooks."""
    if not COLAB.is_dir():
        raise Refused("There are no notebooks for Colab yet: run make colab first")
    tag = name_of_colab_tag()
    name, mail, date = git("log", "-1", "--format=%an%n%ae%n%cI").split("\n")
    settings = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", date))
    }
    with tempfile.TemporaryDirectory() as folder:
        settings["GIT_INDEX_FILE"] = str(Path(folder) / "index")
        git(f"--work-tree={COLAB}", "add", "--all", "--force", ".", cwd=COLAB, **settings)
        tree = git("write-tree", **settings)
    message = f"The notebooks of v{version()}, as Colab opens them"
    commit = git("commit-tree", tree, "-m", message, **settings)
    git("tag", "--force", tag, commit)
    print(f"{tag} is {commit[:10]}. Publish it: git push origin {tag}")


def git(*words: str, cwd: Path | None = None, **settings: str) -> str:
    """What a command of git prints. Raises CalledProcessError if it fails."""
    done = subprocess.run(
        ["git", *words],
        cwd=cwd or ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def main(words: list[str]) -> int:
    tasks = {"stamp": stamp, "check-tag": check_tag, "colab-tag": colab_tag}
    try:
        tasks[words[0]](*words[1:])
    except Refused as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
