"""Cut the faces of the book down to what a page may show: some characters, the weights 400 to 600.

    .venv/bin/python site/gpt2_site/make_fonts.py FOLDER       # the Makefile says which

Source Serif 4 for text, JetBrains Mono for code and tokens, where a space shows as ␣. Both come
from npm (web/package.json), under the SIL Open Font License.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.varLib import instancer

NPM = Path(__file__).resolve().parents[2] / "web" / "node_modules"
SERIF = NPM / "@fontsource-variable/source-serif-4/files"
FACES = {
    "serif": SERIF / "source-serif-4-latin-wght-normal.woff2",
    "serif-italic": SERIF / "source-serif-4-latin-wght-italic.woff2",
    "mono": NPM / "jetbrains-mono/fonts/webfonts/JetBrainsMonoNL-Regular.woff2",
}
# Letters of the languages that names come from, Greek of formulas, signs of prose and of tokens.
CHARACTERS = [
    range(0x20, 0x7F),  # ASCII
    range(0xA0, 0x180),  # Latin with accents
    range(0x391, 0x3CA),  # Greek
    range(0x2010, 0x2027),  # dashes, quotes, dots
    range(0x2080, 0x208A),  # ₀ to ₉
    list(
        map(
            ord,
            "′″‹›⁄€⁰⁴⁵⁶⁷⁸⁹⁻⁺ᵀℓℝ→←↑↓↔⇒∂∆∈∏∑−∘√∞∥∫≈≠≡≤≥⊙⋅⋮⋯⏎␣␤─│┌┐└┘├┤┬┴┼█▁▂▃▄▅▆▇░▏▎▍▌▋▊▉■□▲△▶▸▼▾●○✓✗×·�",
        )
    ),
]


def cut(source: Path, target: Path) -> None:
    """Write what the book needs of a face, as WOFF2."""
    options = subset.Options(flavor="woff2", layout_features=["kern", "tnum"], hinting=False)
    font = subset.load_font(str(source), options)
    if "fvar" in font:
        instancer.instantiateVariableFont(font, {"wght": (400, 600)}, inplace=True)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[code for some in CHARACTERS for code in some])
    cutter.subset(font)
    subset.save_font(font, str(target), options)


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in FACES.items():
        cut(source, folder / f"{name}.woff2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
