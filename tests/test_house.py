"""What is said in more than one place says the same, and the house stands anywhere."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

import gpt2_edu

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert gpt2_edu.__version__ == str(citation["version"])


def test_public_repository_is_the_same_everywhere():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == config["repository"]["url"]
    assert citation["title"] == config["title"]


def test_pinned_environment_satisfies_the_floors_of_the_package():
    pins = re.findall(r"^([\w.-]+)==([\w.]+)$", (ROOT / "requirements.txt").read_text(), re.M)
    versions = {name.lower().replace("_", "-"): version for name, version in pins}
    assert len(versions) == len(pins), "a package is pinned twice"
    for requirement in PROJECT["dependencies"]:
        name, floor = requirement.split(">=")
        assert parts(versions[name.lower().replace("_", "-")]) >= parts(floor)


def parts(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def tracked_files(missing) -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        missing("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_package_registry_or_a_folder_of_one_machine(missing):
    """Whoever installs from a mirror, or clones to another folder, must not trip over ours."""
    hosts = ["py" + "pi.org", "files.python" + "hosted.org", "registry.np" + "mjs.org"]
    hosts += ["registry.yarn" + "pkg.com", "deb.debian" + ".org", "download.pytorch" + ".org"]
    folders = [f"/{name}/" for name in ("ro" + "ot", "wo" + "rk", "Us" + "ers")] + ["/ho" + "me/"]
    # A folder counts only where a path begins: not inside an address.
    pattern = re.compile(
        "|".join([*map(re.escape, hosts), *(rf"(?<![\w.~*)/-]){folder}\w" for folder in folders)])
    )
    found = []
    for path in tracked_files(missing):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []


def test_npm_lock_files_hold_hashes_and_no_addresses():
    for folder in ("web", "benchmarks/in_page"):
        lock = json.loads((ROOT / folder / "package-lock.json").read_text(encoding="utf-8"))
        packages = [entry for name, entry in lock["packages"].items() if name]
        assert packages
        assert all("integrity" in entry and "resolved" not in entry for entry in packages)
