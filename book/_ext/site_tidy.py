"""Sphinx extension: what is done once all pages are written.

- The site's root leads to the front page.
- A link to the glossary shows the entry when the pointer rests on it.
- A chapter says at its foot when and with what it was run: its row of the status page.
- A page that runs the model finds its files as scripts in _static/files.
"""

import html as markup
import re
from pathlib import Path

import site_found
from addresses import published
from sphinx.application import Sphinx

from gpt2_edu.web import files_script

ROOT_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/favicon.svg">
<link rel="canonical" href="{address}">
<meta property="og:title" content="{title}">
<meta property="og:image" content="{card}">
<meta name="twitter:card" content="summary_large_image">
<meta http-equiv="refresh" content="0; url={front}">
</head>
<body><p>The book begins at <a href="{front}">{title}</a>.</p></body>
</html>
"""

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


def tidy(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    front = app.config.root_doc + ".html"
    root_page = ROOT_PAGE.format(
        title=app.config.html_title,
        front=front,
        address=published(app.config.root_doc),
        card=site_found.card(None),
    )
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

    for page in out.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        html = TO_GLOSSARY.sub(explain, html)
        if page.parent.name == "notebooks":
            html = html.replace("</article>", ran.get(page.stem, "") + "\n</article>", 1)
        page.write_text(html, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
