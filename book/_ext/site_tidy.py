"""Sphinx extension: what the theme leaves to be done once the pages are written.

- Source maps (5 MB) serve only those who debug the theme: they are left out.
- Some markup shuts out readers who use a keyboard or a screen reader, or no JavaScript: it is
  put right.
- The site's root is a bare redirect: it gets a title, the icon and a link.
- A link to the glossary shows the entry when the pointer rests on it.
- A chapter says, below its heading, when and with what it was run: its row of the status page.
- A page that runs the model finds its files as scripts in _static/files; one with exhibits that
  answer loads their script.
- Font Awesome ships 2,000 icons, 1.5 MB of JavaScript on every page: the ones in use are kept.
"""

import html as markup
import re
from pathlib import Path

from sphinx.application import Sphinx

from gpt2_edu.web import files_script

# name:[width,height,[aliases],"code","paths"],
# "magnifying-glass":[512,512,[128269,"search"],"f002","M416 208c0 45.9…"],
ICON = re.compile(r'"?([a-z0-9-]+)"?:\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?')

ROOT_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/favicon.svg">
<meta http-equiv="refresh" content="0; url={front}">
</head>
<body><p>The book begins at <a href="{front}">{title}</a>.</p></body>
</html>
"""

# What the pages' makers write, and what they should have written.
MARKUP = [
    # The notebook's download button opens JSON in a tab.
    (re.compile(r'(<a href="[^"]*_sources/[^"]*") target="_blank"'), r"\1 download"),
    # Tables that scroll: the theme's script lets the keyboard into those that overflow.
    (
        re.compile(r'class="(g2-scroll|g2 g2-(?:ledger|parity))"'),
        r'class="\1 pst-scrollable-table-container"',
    ),
    # A folded cell says what it holds; the label would be read out instead.
    (re.compile(r'(<summary) aria-label="Toggle hidden content"'), r"\1"),
    # The bibliography's roles are deprecated, and do not fit each other.
    (re.compile(r' role="(?:list|doc-biblioentry)"'), ""),
    # Without JavaScript the theme knows no "auto", and leaves the page without colours.
    (re.compile(r'(<html[^>]*) data-theme="auto"'), r'\1 data-theme="light"'),
]

LIVE = 'class="g2-live"'
SCRIPTS = """<link rel="stylesheet" href="{static}/live.css">
<script src="{static}/gpt2.js" defer></script>
<script src="{static}/live.js" defer></script>
</body>"""

# An entry of the glossary: its anchor, and its text.
ENTRY = re.compile(r'<section id="([^"]+)">\s*<h2>.*?</h2>\s*<p>(.*?)</p>', re.S)
TO_GLOSSARY = re.compile(r'(<a class="reference internal")( href="[^"]*glossary\.html#([^"]+)")')
PLAIN = {
    r"\(": "",
    r"\)": "",
    r"\,": " ",
    r"\ln": "ln",
    r"\Phi": "Φ",
    r"\sum": "Σ",
    "{": "",
    "}": "",
}

# A row of book/status.md: the notebook's name, seconds, date, Python and PyTorch.
ROW = re.compile(
    r"^\| \[.*\]\(\.\./notebooks/(\w+)\.ipynb\) \| \d+ \| (\d+) \| (\S+) \| (\S+) \| (\S+) ", re.M
)


def entries(glossary: str) -> dict[str, str]:
    """The text of each entry without markup and without the pointer to its chapter."""
    found = {}
    for anchor, text in ENTRY.findall(glossary):
        text = re.sub(r"\s*<a [^>]*><span[^>]*>Chapter \d+</span></a>\.", "", text)
        text = markup.unescape(re.sub(r"<[^>]+>", "", text))
        for written, meant in PLAIN.items():
            text = text.replace(written, meant)
        found[anchor] = markup.escape(text)
    return found


def badges(status: str) -> dict[str, str]:
    """For each notebook, a line that says when and with what it was run."""
    return {
        name: f'<p class="run-on">Run from its first cell to its last on {date}, in {seconds} s, '
        f"without a GPU: Python {python}, PyTorch {torch}. "
        f'<a class="reference internal" href="../book/status.html">All chapters</a></p>'
        for name, seconds, date, python, torch in ROW.findall(status)
    }


def keep_used_icons(script: Path, used: set[str]) -> None:
    """Drop from Font Awesome's script every icon whose name and aliases are not among `used`."""

    def keep(icon: re.Match[str]) -> str:
        names = {icon[1], *re.findall(r'"([^"]+)"', icon[2])}
        return icon[0] if names & used else ""

    text = ICON.sub(keep, script.read_text(encoding="utf-8"))
    script.write_text(text.replace("],}", "]}"), encoding="utf-8")


def tidy(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    for source_map in static.rglob("*.map"):
        source_map.unlink()
    front = app.config.root_doc + ".html"
    root_page = ROOT_PAGE.format(title=app.config.html_title, front=front)
    (out / "index.html").write_text(root_page, encoding="utf-8")

    (static / "files").mkdir(exist_ok=True)
    for name in ("crane", "gpt2"):
        (static / "files" / f"{name}.js").write_text(files_script(name), encoding="utf-8")

    explained = entries((out / "book" / "glossary.html").read_text(encoding="utf-8"))
    ran = badges((Path(app.srcdir) / "book" / "status.md").read_text(encoding="utf-8"))

    def explain(link: re.Match[str]) -> str:
        return (
            f'{link[1]} title="{explained[link[3]]}"{link[2]}' if link[3] in explained else link[0]
        )

    used: set[str] = set()
    for page in out.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        for written, meant in MARKUP:
            html = written.sub(meant, html)
        html = TO_GLOSSARY.sub(explain, html)
        if page.parent.name == "notebooks":
            html = html.replace("</a></h1>", "</a></h1>\n" + ran.get(page.stem, ""), 1)
        if LIVE in html:
            up = "../" * (len(page.relative_to(out).parts) - 1)
            html = html.replace("</body>", SCRIPTS.format(static=f"{up}_static"), 1)
        page.write_text(html, encoding="utf-8")
        used.update(re.findall(r"\bfa-([a-z0-9-]+)", html))
    fontawesome = static / "scripts" / "fontawesome.js"
    for script in static.rglob("*.js"):
        if script != fontawesome and "vendor" not in script.parts:
            used.update(re.findall(r"\bfa-([a-z0-9-]+)", script.read_text(encoding="utf-8")))
    keep_used_icons(fontawesome, used)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
