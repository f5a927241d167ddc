"""Copy from npm what pages load of others, with its licences: the Makefile calls it.

    PYTHONPATH=site .venv/bin/python -m gpt2_site.make_vendor FOLDER

KaTeX's styles; MiniSearch; and faces, cut down to what a page may show: some characters, the
weights 400 to 600. "Edu Serif" is Source Serif 4, for text, "Edu Mono" is JetBrains Mono, for code
and tokens, where a space shows as ␣, and "EduMath_Main" and the like are KaTeX's, for formulas. All
are under the SIL Open Font License, which asks for another name where a face was changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from shutil import copy, rmtree

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

NPM = Path(__file__).resolve().parents[2] / "web" / "node_modules"
COPIED = {
    "katex": ["katex/dist/katex.min.css", "katex/LICENSE"],
    "minisearch": ["minisearch/dist/umd/index.js", "minisearch/LICENSE.txt"],
}
# KaTeX's fonts in the formats of browsers before 2016, which are not copied.
OLD_FONTS = re.compile(r',url\([^)]*\) format\("(?:woff|truetype)"\)')
SERIF = NPM / "@fontsource-variable/source-serif-4"
FACES = {
    "faces/serif": (SERIF / "files/source-serif-4-latin-wght-normal.woff2", "Edu Serif"),
    "faces/serif-italic": (SERIF / "files/source-serif-4-latin-wght-italic.woff2", "Edu Serif"),
    "faces/mono": (NPM / "jetbrains-mono/fonts/webfonts/JetBrainsMonoNL-Regular.woff2", "Edu Mono"),
}
FORMULAS = NPM / "katex/dist/fonts"
KATEX, OURS = "KaTeX_", "EduMath_"  # how the names of a formula's faces begin, there and here
COPYRIGHT, LICENCES = 0, (13, 14)  # in a font's table of names, beside its own names, 1 to 6
# Letters of the languages that names come from, Greek of formulas, signs of prose and of tokens.
CHARACTERS = [
    *range(0x20, 0x7F),  # ASCII
    *range(0xA0, 0x180),  # Latin with accents
    *range(0x391, 0x3CA),  # Greek
    *range(0x2010, 0x2027),  # dashes, quotes, dots
    *range(0x2080, 0x208A),  # ₀ to ₉
    *map(ord, "′″‹›⁄€⁰⁴⁵⁶⁷⁸⁹⁻⁺ᵀℓℝ→←↑↓↔⇒∂∆∈∏∑−∘√∞∥∫≈≠≡≤≥⊙⋅⋮⋯⏎␣␤─│┌┐└┘├┤┬┴┼"),
    *map(ord, "ϵ∇∗∝∣⊤\ue020"),  # of formulas; the last is the stroke of ≠
    *map(ord, "█▁▂▃▄▅▆▇░▏▎▍▌▋▊▉■□▲△▶▸▼▾●○✓✗×·�"),
]


def cut(source: Path, target: Path, family: str) -> str:
    """Write what the book needs of a face, as WOFF2, under another name; returns its copyright."""
    options = subset.Options(flavor="woff2", layout_features=["kern", "tnum"], hinting=False)
    options.name_IDs = [*range(7), *LICENCES]
    font = subset.load_font(str(source), options)
    if "fvar" in font:
        instancer.instantiateVariableFont(font, {"wght": (400, 600)}, inplace=True)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=CHARACTERS)
    cutter.subset(font)
    rename(font, family)
    subset.save_font(font, str(target), options)
    return " ".join(str(font["name"].getDebugName(COPYRIGHT)).split())


def rename(font: TTFont, family: str) -> None:
    """Give a font another family's name wherever it names itself."""
    names = font["name"]
    style, version = names.getDebugName(2), names.getDebugName(5)
    postscript = f"{family}-{style}".replace(" ", "")
    new = {1: family, 3: f"{version};{postscript}", 4: f"{family} {style}", 6: postscript}
    for record in names.names:
        if record.nameID in new:
            record.string = new[record.nameID]


def main() -> int:
    folder = Path(sys.argv[1])
    rmtree(folder, ignore_errors=True)
    for place, patterns in COPIED.items():
        (folder / place).mkdir(parents=True)
        for pattern in patterns:
            for file in NPM.glob(pattern):
                copy(file, folder / place)
    styles = folder / "katex" / "katex.min.css"
    rules = OLD_FONTS.sub("", styles.read_text("utf-8")).replace(KATEX, OURS)
    styles.write_text(rules, encoding="utf-8")
    faces = dict(FACES)
    for file in FORMULAS.glob("*.woff2"):
        name = file.stem.replace(KATEX, OURS)
        faces[f"katex/fonts/{name}"] = (file, name.partition("-")[0])
    for place in ("faces", "katex/fonts"):
        (folder / place).mkdir()
    made = {
        f"{family}: {cut(source, folder / f'{name}.woff2', family)}"
        for name, (source, family) in faces.items()
    }
    licence = (SERIF / "LICENSE").read_text(encoding="utf-8")
    licence = licence[licence.index("This Font Software") :]  # a packager's name is above it
    text = "\n".join(["The faces here were made from others.", *sorted(made), "", licence])
    (folder / "faces" / "OFL.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
