"""Sphinx extension: what is done once all pages are written.

- The site's root leads to the front page.
- A link to the glossary shows the entry when the pointer rests on it.
- A page that runs the model finds its files as scripts in _static/files.
"""

import html as markup
import re
from pathlib import Path

from sphinx.application import Sphinx

from gpt2_edu.web import files_script
from gpt2_site.addresses import published

ROOT_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="_static/favicon.svg">
<link rel="canonical" href="{address}">
<meta property="og:title" content="{title}">
<meta property="og:image" content="{picture}">
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
        picture=f"{app.config.html_baseurl}_static/heads.png",
    )
    (out / "index.html").write_text(root_page, encoding="utf-8")

    (static / "files").mkdir(exist_ok=True)
    for name in ("crane", "gpt2"):
        (static / "files" / f"{name}.js").write_text(files_script(name), encoding="utf-8")

    explained = entries((out / "book" / "glossary.html").read_text(encoding="utf-8"))

    def explain(link: re.Match[str]) -> str:
        return (
            f'{link[1]} title="{explained[link[3]]}"{link[2]}' if link[3] in explained else link[0]
        )

    for page in out.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        page.write_text(TO_GLOSSARY.sub(explain, html), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", tidy, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
