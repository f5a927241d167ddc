"""What is said in more than one place says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

import gpt2_edu

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_has_the_version_and_address_of_the_book():
    citation, config = yaml.safe_load(read("CITATION.cff")), yaml.safe_load(read("_config.yml"))
    assert str(citation["version"]) == gpt2_edu.__version__
    assert citation["repository-code"] == config["repository"]["url"]
    assert citation["title"] == config["title"]


def test_pins_satisfy_the_floors_of_the_package():
    pins = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", read("requirements.txt"), re.M))
    versions = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    for line in tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]:
        needed = Requirement(line)
        assert needed.specifier.contains(versions[needed.name.lower().replace("_", "-")])
