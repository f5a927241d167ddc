"""Who imports whom in gpt2_edu, read from the source, and the picture of it in ARCHITECTURE.md.

.venv/bin/python book/architecture.py     # draws book/_static/architecture.svg
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "book" / "_static" / "architecture.svg"
PICTURE_WIDTH, ROW, HEIGHT = 720, 92, 50
# Each folder's box, and GPT-2 for the files of the root: x, row, width, what it is for.
BOXES = {
    "exercises": (20, 0, 330, "check, own, progress"),
    "cli": (370, 0, 330, "gpt2-edu train, generate, …"),
    "exhibits": (20, 1, 210, "pictures and tables in pages"),
    "analysis": (250, 1, 250, "evaluate, look inside, break"),
    "training": (520, 1, 180, "settings, loop, checkpoints"),
    "crane": (250, 2, 190, "a language with known truth"),
    "data": (520, 2, 140, "text → … → batches"),
    "GPT-2": (20, 3, 420, "the files of the root: config … model … generation"),
    "weights": (460, 3, 240, "load, save, hub"),
    "machine": (20, 4, 680, "devices, files on disk, measurements, messages"),
}
LOADER = ("GPT-2", "weights")  # model.py imports it, and of the root it knows config.py alone


def room(module: str, source: Path) -> str:
    """The folder that "gpt2_edu.x.y" stands in, or the file of the root; "" for the package."""
    name = (module.split(".") + [""])[1]
    there = (source / name).is_dir() or (source / f"{name}.py").is_file()
    return name if name and there else ""


def imported(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Our modules that a file imports, in full; what stands under TYPE_CHECKING is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            names = list(imported(node, package))
        yield from (name for name in names if name.split(".")[0] == "gpt2_edu")


def arrows(
    source: Path, *, by_file: bool = False, without: Collection[Path] = ()
) -> dict[str, set[str]]:
    """Each room of the package in a folder, with the rooms that it imports; not itself.

    "" is the package. ``by_file`` takes each file for a room; folders ``without`` are left out.
    """
    files = [p for p in sorted(source.rglob("*.py")) if not {*without} & {*p.parents}]
    modules = {".".join(["gpt2_edu", *p.relative_to(source).with_suffix("").parts]) for p in files}
    found: dict[str, set[str]] = {}
    for path in files:
        own = ["gpt2_edu", *path.relative_to(source).with_suffix("").parts]
        if own == ["gpt2_edu", "__init__"]:
            continue
        named = imported(ast.parse(path.read_text(encoding="utf-8")), own[:-1])
        if by_file:
            name = ".".join(own)
            targets = {m for n in named for m in (n, n.rpartition(".")[0]) if m in modules}
        else:
            name, targets = room(".".join(own), source), {room(n, source) for n in named}
        found.setdefault(name, set()).update(targets - {name})
    return found


def of_folders(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same arrows with all files of the root taken as one room, "GPT-2"."""
    merged: dict[str, set[str]] = {name: set() for name in BOXES}
    for own, targets in found.items():
        if own not in ("__main__", "trainer"):  # two doors, with nothing behind them
            name = own if own in BOXES else "GPT-2"
            merged[name] |= {target if target in BOXES else "GPT-2" for target in targets} - {name}
    return merged


def shortest(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows without those that a longer way says as well."""

    def reached(start: str, without: tuple[str, str]) -> set[str]:
        seen, new = set(), {start}
        while new:
            seen |= new
            new = {t for s in new for t in graph[s] if (s, t) != without} - seen
        return seen

    graph = {s: {t for t in graph[s] if (s, t) != LOADER} for s in graph}
    return [(s, t) for s in graph for t in sorted(graph[s]) if t not in reached(s, (s, t))]


def svg(graph: dict[str, set[str]]) -> str:
    """The picture: a box for each room, an arrow from it to what it builds on."""

    def line(start: str, end: str) -> str:
        (x0, row0, w0, _), (x1, row1, w1, _) = BOXES[start], BOXES[end]
        if row0 == row1:
            left, right = (x0, x1 + w1) if x0 > x1 else (x0 + w0, x1)
            dashed = (start, end) == LOADER
            y = row0 * ROW + HEIGHT // 2 + (18 if dashed else 0)
            style = ' stroke-dasharray="3"' if dashed else ""
            return f'<path d="M{left} {y}L{right} {y}"{style} marker-end="url(#head)"/>'
        low, high = max(x0, x1) + 20, min(x0 + w0, x1 + w1) - 20
        if low > high:  # neither stands above the other: from corner to corner
            ends = (x0 + w0 - 20, x1 + 20) if x0 < x1 else (x0 + 20, x1 + w1 - 20)
        elif row1 == row0 + 1 or end == "GPT-2":
            ends = ((low + high) // 2, (low + high) // 2)
        else:  # beside the boxes between
            edge = high if x0 > x1 else low
            ends = (edge, edge)
        top, bottom = row0 * ROW + HEIGHT + 8, row1 * ROW + 8
        return f'<path d="M{ends[0]} {top}L{ends[1]} {bottom}" marker-end="url(#head)"/>'

    boxes = "".join(
        f'<rect x="{x}" y="{row * ROW + 8}" width="{width}" height="{HEIGHT}" rx="6"/>'
        f'<text x="{x + width // 2}" y="{row * ROW + 29}" class="name">{name}</text>'
        f'<text x="{x + width // 2}" y="{row * ROW + 47}">{about}</text>'
        for name, (x, row, width, about) in BOXES.items()
    )
    lines = "".join(line(start, end) for start, end in [*shortest(graph), LOADER])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PICTURE_WIDTH} {5 * ROW - 26}">\n'
        "<title>Rooms of the package; an arrow leads from a room to what it builds on</title>\n"
        "<style>:root{--ink:#1f2328;--paper:#fff}"
        "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117}}"
        "rect{fill:var(--paper);stroke:var(--ink)}path{stroke:var(--ink);stroke-width:1.5}"
        "text{fill:var(--ink);font:13px sans-serif;text-anchor:middle}"
        ".name{font:600 15px monospace}</style>\n"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8" fill="none"/></marker></defs>\n'
        f"{lines}\n{boxes}\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(svg(of_folders(arrows(ROOT / "gpt2_edu"))), encoding="utf-8")
