"""What GitHub runs: pinned, with few rights, and the same targets that run here.

actionlint and zizmor, in `make lint`, know more of GitHub; these rules are the house's own.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
FILES = [*sorted(GITHUB.glob("workflows/*.yml")), *sorted(GITHUB.glob("actions/*/action.yml"))]
# Lines that are no target: they speak to GitHub, or look at what a target made.
PLAIN = ("git diff", "git push", "gh ", "number=$(gh ", "if [ ", "echo ", "exit ", "sha256sum ")


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


WORKFLOWS = {path.stem: read(path) for path in FILES if path.parent.name == "workflows"}
JOBS = {
    f"{name}-{key}": job for name, flow in WORKFLOWS.items() for key, job in flow["jobs"].items()
}


@pytest.fixture(params=JOBS)
def job(request: pytest.FixtureRequest) -> dict[str, Any]:
    return JOBS[request.param]


def commands(job: dict[str, Any]) -> list[str]:
    """The lines that a job runs, a variable of its matrix replaced by each of its values."""
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    targets = job.get("strategy", {}).get("matrix", {}).get("target", [])
    return [
        line.replace('"$TARGET"', target)
        for line in lines
        for target in (targets if "$TARGET" in line else [""])
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nobody_can_change_what_an_action_is(path):
    """A tag can be moved; a commit, with the tag in a comment for readers, can not."""
    used = re.findall(r"uses: +(?!\./)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


def test_an_action_has_one_version_everywhere():
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    used = set(re.findall(r"uses: +([\w/-]+)@(\w+ # .*)", text))
    assert len({name for name, _ in used}) == len(used)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_no_rights_but_those_that_its_jobs_ask_for(name):
    assert WORKFLOWS[name]["permissions"] == {}
    assert "concurrency" in WORKFLOWS[name]


def test_a_job_that_hangs_ends_and_its_rights_are_listed(job):
    assert job["timeout-minutes"] <= 90
    assert job["permissions"]


def test_a_checkout_leaves_no_token_behind(job):
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_a_token_is_seen_only_by_commands_that_speak_to_github(job):
    for step in job["steps"]:
        if "GH_TOKEN" in step.get("env", {}):
            assert "make" not in step["run"]


def test_every_step_is_a_target_that_runs_here_too(job):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for line in commands(job):
        words = line.split()
        if words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= targets
        else:
            assert line.lstrip().startswith(PLAIN)


def test_what_others_wrote_is_never_part_of_a_command(job):
    """A branch's or an issue's name in a command could be a command; variables hold them."""
    for step in job["steps"]:
        assert "${{" not in step.get("run", "")


def test_what_is_published_comes_from_no_cache():
    for name in ("release-build", "release-colab"):
        setup = next(s for s in JOBS[name]["steps"] if s.get("uses", "").endswith("/setup"))
        assert setup["with"]["cache"] == ""


def test_all_versions_of_python_that_the_package_names_are_tested():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", project)
    assert JOBS["ci-unit"]["strategy"]["matrix"]["python"] == versions


def test_dependabot_looks_at_every_kind_of_pin():
    updates = read(GITHUB / "dependabot.yml")["updates"]
    kinds = {update["package-ecosystem"]: update for update in updates}
    assert set(kinds) == {"pip", "npm", "github-actions"}
    locks = subprocess.run(
        ["git", "ls-files", "*package-lock.json"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    assert [f"/{Path(lock).parent.as_posix()}" for lock in sorted(locks, reverse=True)] == (
        kinds["npm"]["directories"]
    )


def test_the_forms_ask_for_something_and_lead_to_this_repository():
    address = read(ROOT / "_config.yml")["repository"]["url"]
    forms = GITHUB / "ISSUE_TEMPLATE"
    assert all(
        link["url"].startswith(address) for link in read(forms / "config.yml")["contact_links"]
    )
    for name in ("mistake", "problem", "idea"):
        form = read(forms / f"{name}.yml")
        assert form["name"] and form["description"]
        assert any(field.get("validations", {}).get("required") for field in form["body"])
