"""The tables of book/browser.md, from the newest measurement of benchmarks/in_page.py."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from pathlib import Path

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGE = BOOK / "browser.md"
RESULTS = BOOK.parent / "benchmarks" / "results"
NAMES = {
    "ours": "WebAssembly",
    "ours, plain JavaScript": "plain JavaScript",
    "ours, float16 weights": "WebAssembly, float16 weights",
    "ours, int8 weights": "WebAssembly, int8 weights",
    "onnxruntime-web": "onnxruntime-web",
}


def power(value: float) -> str:
    """One digit, with a power of ten where it is small: "1·10⁻⁵"."""
    if value > 1e-3:
        return f"{value:.1g}"
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}·10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def tables() -> tuple[list[str], list[str], str]:
    """The rows for Crane World's model and for OpenAI's sizes, and a line on what was measured."""
    results = [json.loads(path.read_text("utf-8")) for path in RESULTS.glob("in_page-*.json")]
    measured = max(results, key=lambda result: result["date"])
    median = {(row["task"], row["contender"]): row["median"] for row in measured["rows"]}

    def row(model: str, contender: str, *cells: str) -> str:
        off = measured["differences"][f"{model}, {contender}"]
        texts = f"{off['the same']} of {off['greedy texts of 20 tokens']}"
        return f"| {NAMES[contender]} | {' | '.join(cells)} | {power(off['logits'])} | {texts} |"

    def ms(task: str, contender: str) -> str:
        return f"{1e3 * median[task, contender]:.0f}"

    small = [
        row(
            "Crane",
            name,
            ms("Crane: ready", name),
            ms("Crane: first answer, cold", name),
            f"{median['Crane: writing, recorded', name]:,.0f}",
        )
        for name in NAMES
        if ("Crane: ready", name) in median
    ]
    large = [
        row(
            "124M",
            name,
            f"{median['124M: ready', name]:.1f}",
            ms("124M: first answer, cold", name),
            ms("124M: a token, CPU time", name),
            f"{median['124M: peak memory', name] / 1e6:,.0f}",
        )
        for name in NAMES
        if ("124M: ready", name) in median
    ]
    machine, settings = measured["machine"], measured["settings"]
    about = (
        f"Measured on {date.fromisoformat(measured['date'][:10]):%Y-%m-%d} with Chromium "
        f"{settings['chromium'].split('.')[0]} on {machine['cores']} shared cores "
        f"({machine['cpu']}), onnxruntime-web {settings['onnxruntime-web']}, one thread each."
    )
    return small, large, about


def filled(page: str) -> str:
    """The page with the figures in its two tables and below them."""
    small, large, about = tables()
    for head, rows in (("Crane World's model", small), ("124 million parameters", large)):
        table = re.compile(rf"(\| {head} .*\n.*\n)(?:\|.*\n)*")
        page = table.sub(lambda match, rows=rows: match[1] + "\n".join(rows) + "\n", page)
    return re.sub(r"^Measured on.*$", about, page, flags=re.M)


def main() -> int:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
