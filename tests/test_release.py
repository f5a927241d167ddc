"""The version: one number everywhere, and pages that lead to no tag that is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import addresses
import nbformat
import pytest
import release
from chapters import chapters

ROOT = Path(__file__).resolve().parents[1]
FILES = [*release.PLACES, "CHANGELOG.md"]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def house(tmp_path, monkeypatch) -> Path:
    """A repository with all that says the version, and one notebook."""
    house = tmp_path / "house"
    notebook = chapters()[0].path
    for name in [*FILES, "_config.yml", str(notebook.relative_to(ROOT))]:
        (house / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, house / name)
    git(tmp_path, "init", "--quiet", str(house))
    git(house, "add", ".")
    git(house, "commit", "--quiet", "--message", "all")
    for module in (release, addresses):
        monkeypatch.setattr(module, "ROOT", house)
    monkeypatch.setattr(release, "COLAB", house / "_build" / "colab")
    monkeypatch.setattr(release, "notebooks", lambda: [house / notebook.relative_to(ROOT)])
    return house


def refused(message: str, *words: str, capsys) -> None:
    assert release.main([*words]) == 1
    assert message in capsys.readouterr().err


def test_a_stamp_writes_the_version_everywhere_and_only_once(house):
    assert release.main(["stamp", "7.5.3"]) == 0
    for name in FILES:
        assert "7.5.3" in (house / name).read_text(encoding="utf-8"), name
    assert release.version() == "7.5.3"
    cell = release.install_cell(nbformat.read(release.notebooks()[0], as_version=4))
    assert set(release.INSTALLED.findall(cell.source)) == {"7.5.3"}
    once = git(house, "diff")
    assert release.main(["stamp", "7.5.3"]) == 0
    assert git(house, "diff") == once


def test_a_stamp_moves_what_is_unreleased_under_the_version(house):
    changelog = house / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(text.replace("## [Unreleased]\n", "## [Unreleased]\n\n- Much.\n"))
    release.main(["stamp", "7.5.3"])
    before, after = changelog.read_text(encoding="utf-8").split("- Much.")
    assert before.index("## [Unreleased]") < before.index("## [7.5.3] - 20")
    assert "/compare/v7.5.3...HEAD\n" in after and "/releases/tag/v7.5.3\n" in after


def test_the_version_that_stands_there_changes_nothing(house):
    """So the workflow of a release can tell whether the tagged commit was stamped."""
    release.main(["stamp", release.version()])
    assert git(house, "status", "--short") == ""


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3; ls"])
def test_no_version_is_refused_before_anything_is_written(version, house, capsys):
    refused("is no version", "stamp", version, capsys=capsys)
    assert git(house, "status", "--short") == ""


def test_pages_that_lead_to_a_missing_tag_are_not_published(house, capsys):
    refused("neither here nor at origin. Make it: git tag v", "check-tag", capsys=capsys)
    git(house, "tag", f"v{release.version()}")
    refused("The workflow release.yml pushes it", "check-tag", capsys=capsys)
    git(house, "tag", f"colab-v{release.version()}")
    assert release.main(["check-tag"]) == 0


def test_a_tag_that_only_origin_has_counts(house, tmp_path):
    git(tmp_path, "clone", "--quiet", "--bare", str(house), "origin")
    for tag in (f"v{release.version()}", f"colab-v{release.version()}"):
        git(tmp_path / "origin", "tag", tag)
    git(house, "remote", "add", "origin", str(tmp_path / "origin"))
    assert release.main(["check-tag"]) == 0


def test_an_install_cell_that_names_another_version_is_not_published(house, capsys):
    path = release.notebooks()[0]
    text = path.read_text(encoding="utf-8").replace(f"@v{release.version()}", "@v0.0.1")
    path.write_text(text, encoding="utf-8")
    refused("installs 0.0.1", "check-tag", capsys=capsys)


def test_the_tag_for_colab_holds_its_notebooks_alone_and_is_the_same_twice(house, capsys):
    refused("run make colab first", "colab-tag", capsys=capsys)
    notebook = house / "_build" / "colab" / "notebooks" / "01.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text("{}")
    tag = f"colab-v{release.version()}"
    commits = set()
    for _ in range(2):
        assert release.main(["colab-tag"]) == 0
        commits.add(git(house, "rev-parse", tag))
    assert len(commits) == 1
    assert git(house, "ls-tree", "-r", "--name-only", tag) == "notebooks/01.ipynb"
    assert git(house, "rev-list", "--count", tag) == "1"
    assert git(house, "diff", "--cached") == ""
