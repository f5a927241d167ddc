"""How long an exhibit of the book takes from a change to its new picture.

Each stands on a page of its own as the site has it, with the settings of its notebook and the
packed scripts. States take turns; where an exhibit remembers what it has computed, none comes
twice. A change counts from the call that makes it until all numbers have come and everything is
laid out. What it weighs is measured too: lines, and bytes on the way.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
from itertools import combinations, cycle, islice, permutations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the repository: no install needed

import torch

from benchmarks import chromium
from benchmarks.common import Report, Row, parser, rounds
from gpt2_edu.web import files_script

ROOT = Path(__file__).resolve().parents[1]
STATIC = "gpt2_edu/exhibits/static"
ELEMENT = re.compile(r'<gpt2-([a-z]+) class="g2-live" data-settings="([^"]*)">')
QUICK = 3  # exhibits with --quick
CHANGES, WARM = 26, 4  # that count, and before them
PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>An exhibit</title>
<link rel="stylesheet" href="/{STATIC}/exhibits.css">
<link rel="stylesheet" href="/{STATIC}/live.css">
<main class="bd-article"><gpt2-KIND class="g2-live" data-settings="SETTINGS"></gpt2-KIND></main>
<script src="/{STATIC}/gpt2.js"></script><script src="/{STATIC}/live.js"></script></html>"""

BLOCKS = ["0", "1", "2"]
LOADING = ["head", "square", "positions", "heads", "gelu", "epsilon"]

# What a reader moves first.
TURNS: dict[str, list[dict[str, Any]]] = {
    "blocks": [
        {"order": list(order), "out": list(out)}
        for order in permutations(BLOCKS)
        for n in (0, 1)
        for out in combinations(BLOCKS, n)
    ],
    "cache": [{"steps": 6}, {"steps": 7}],
    "cost": [{"T": 256}, {"T": 512}],
    "crane": [{"q.x": 0.4}, {"q.x": 0.5}],
    "heads": [{"off": ["1.0"]}, {"off": ["1.2"]}],
    "inside": [{"back": 1, "stage": 2}, {"back": 2, "stage": 3}],
    "layernorm": [{"volume": 10}, {"volume": 100}],
    "mask": [{"mask": True}, {"mask": False}],
    "mistakes": [{"wrong": list(wrong)} for n in (1, 2, 3) for wrong in combinations(LOADING, n)],
    "mlp": [{"by": 1}, {"by": -1}],
    "museum": [{"bug": name, "mystery": 0} for name in ("no mask", "wrong view", "scale by C")],
    "order": [{"mask": True}, {"mask": False}],
    "sampling": [{"temperature": 0.7}, {"temperature": 1.3}],
    "scores": [{"cell": "1 2", "d": 64}, {"cell": "2 1", "d": 256}],
    "snapshots": [{"shot": 3}, {"shot": 8}],
    "stations": [{"station": 4}, {"station": 9}],
    "tokens": [{"merges": 10}, {"merges": 20}],
    "valley": [{"rate": 0.1}, {"rate": 0.2}],
    "writers": [{"off": ["embd"]}, {"off": []}],
}

CHANGE = """async (element, change) => {
  const { state } = element;
  const known = Object.entries(change).filter(([name]) => state.known.has(name)); // of this one
  const begin = performance.now();
  state.set(Object.fromEntries(known));
  const pause = () => new Promise((done) => setTimeout(done));
  do await pause(); while (element.dataset.state === "busy");
  element.getBoundingClientRect();
  if (element.dataset.state !== "ready") throw new Error(element.innerText);
  return performance.now() - begin;
}"""


def exhibits() -> list[tuple[str, str, str]]:
    """A name with its chapter, the kind, and the settings of each, in the book's order."""
    found: dict[str, tuple[str, str, str]] = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", []):
                shown = "".join(output.get("data", {}).get("text/html", []))
                for kind, settings in ELEMENT.findall(shown):
                    name = f"{path.stem[:2]} {kind}"
                    name += ", the second" if name in found else ""
                    found[name] = (name, kind, settings)
    return list(found.values())


def milliseconds(page: Any, kind: str, changes: int) -> float:
    element = page.locator(f"gpt2-{kind}")
    page.wait_for_selector(f"gpt2-{kind}[data-state=ready]")
    turns = islice(cycle(TURNS[kind]), WARM + changes)
    taken = [element.evaluate(CHANGE, turn) for turn in turns]
    return statistics.median(taken[WARM:])


def weight(kind: str) -> str:
    module = (ROOT / "web" / "exhibits" / f"{kind}.mjs").read_bytes()
    lines = len(module.splitlines())
    return f"{lines} lines, {len(gzip.compress(module)):,} bytes gzipped"


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__, device="cpu").parse_args(argv)
    changes = 2 if options.quick else CHANGES
    made = {f"/{STATIC}/files/{name}.js": files_script(name) for name in ("crane", "gpt2")}
    measured = exhibits()[:QUICK] if options.quick else exhibits()
    rows = [
        Row(name, "ours", [], "ms", False, 16 if kind == "crane" else 50, weight(kind))
        for name, kind, _ in measured
    ]
    with (
        chromium.served(ROOT, made) as address,
        chromium.starter(sys.exit) as launch,
    ):
        browser = launch()
        for _ in range(rounds(options)):
            for row, (_, kind, settings) in zip(rows, measured, strict=True):
                made["/one.html"] = PAGE.replace("KIND", kind).replace("SETTINGS", settings)
                page = browser.new_page(viewport={"width": 1000, "height": 900})
                page.goto(f"{address}/one.html")
                row.values.append(milliseconds(page, kind, changes))
                page.close()
        browser.close()
    live = len(gzip.compress((ROOT / STATIC / "live.js").read_bytes()))
    print(f"All exhibits and their instruments, packed and gzipped: {live:,} bytes.")
    found = {"changes": changes, "rounds": rounds(options), "bytes": live}
    Report("exhibits", torch.device("cpu"), found, rows=rows).finish(options.json)


if __name__ == "__main__":
    main()
