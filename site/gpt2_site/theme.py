"""Sphinx extension: the book's own theme, a page's frame in one template (site/theme/layout.html).

Sphinx gives the text, the contents and the neighbours of a page; here a page learns which chapter
it is, where it opens in Colab, and what it is about.
"""

import base64
import hashlib
import re
from collections import Counter
from pathlib import Path

import rcssmin
import sphinx_copybutton
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from gpt2_site import katex, strip
from gpt2_site.addresses import colab
from gpt2_site.chapters import Page, chapter_of, chapters, pages
from gpt2_site.drawings import shortened
from gpt2_site.unbroken import unbroken


def sha256(text: str) -> str:
    """A text's digest, as a page's policy writes it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def digest(*texts: str) -> str:
    """Eight characters that change when a text does."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


THEME = Path(__file__).resolve().parent.parent / "theme"
INLINE = re.search(r"<script>(.*?)</script>", (THEME / "layout.html").read_text("utf-8"), re.S)
# A page may load the site's own files, over a network or from a disk, and ask Hugging Face's hub
# for GPT-2, once the reader agrees. Workers come with the page; a style may stand in a text.
HUB = "https://huggingface.co https://*.huggingface.co https://*.hf.co"
POLICY = "; ".join(
    [
        "default-src 'none'",
        f"script-src 'self' file: 'sha256-{sha256(INLINE[1])}' 'wasm-unsafe-eval'",
        "style-src 'self' file: 'unsafe-inline'",
        "img-src 'self' file: data:",
        "font-src 'self' file:",
        f"connect-src 'self' file: data: blob: {HUB}",
        "worker-src 'self' file: blob:",
        "form-action 'self' file:",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types default lit-html",
    ]
)
ROOT = THEME.parent.parent
STATIC = THEME.parent / "static"
EXHIBITS = ROOT / "gpt2_edu/exhibits/static"
COMMENT = re.compile(r"/\*.*?\*/\s*", re.S)
REMARK = re.compile(r"^ *//.*\n", re.M)  # a line of its own in a script
# The styles that all pages need.
STYLES = "".join(
    COMMENT.sub("", path.read_text("utf-8"))
    for path in (
        Path(sphinx_copybutton.__file__).parent / "_static" / "copybutton.css",
        *(STATIC / f"{name}.css" for name in ("page", "code", "book")),
        *(EXHIBITS / f"{name}.css" for name in ("exhibits", "base")),
    )
)
FACES = rcssmin.cssmin((STATIC / "faces.css").read_text("utf-8"))
# Files that pages load, each joined from several, so that a page waits for one answer: the name of
# the file → their names.
SHEETS: dict[str, list[str]] = {}
SCRIPTS: dict[str, list[str]] = {}
VERSION = digest(*(p.read_text("utf-8") for p in sorted(STATIC.glob("*.js"))))
LOOK = digest(
    STYLES, *(p.read_text("utf-8") for d in (STATIC, EXHIBITS) for p in sorted(d.glob("*.css")))
)
CLASSES: set[frozenset[str]] = set()  # of each element on pages with mathematics
# Exhibits with a script and a stylesheet of their own.
OWN = ("card", "flow", "learn", "reward", "scale", "scaling")
# What Sphinx and extensions put on every page, and the book does without.
UNUSED = (
    "doctools",
    "sphinx_highlight",
    "basic.css",
    "copybutton.css",
    "katex-math",
    "mystnb",
    "pygments",
)

ALIGNED = re.compile(r"^ {4}\S|\S {2,}\S", re.M)  # indented, or in columns

# What the pages' makers write, and what they should have written.
MARKUP = [
    # A folded cell says what it holds; the label would be read out instead.
    (re.compile(r'(<summary) aria-label="Toggle hidden content"'), r"\1"),
    # The bibliography's roles are deprecated, and do not fit each other.
    (re.compile(r' role="(?:list|doc-biblioentry)"'), ""),
    # A corner without a word heads nothing.
    (re.compile(r'<th class="head[^>]*><p></p></th>|<th scope="col"></th>'), "<td></td>"),
    # Most words of code have the colour of the text (code.css): half of a page's elements.
    (re.compile(r'<span class="(?:bp|err|n|ne|nn|o|p|vm|w)">([^<]*)</span>'), r"\1"),
    # A heading's own link is for the pointer; by keyboard "On this page" has the same ones.
    (re.compile(r'<a class="headerlink"'), r'\g<0> aria-hidden="true" tabindex="-1"'),
    # A wide table scrolls in a box of its own.
    (re.compile(r'<table class="docutils.*?</table>', re.S), r'<div class="scroll">\g<0></div>'),
]


PLOT = r"<figure class=\"g2 g2-plot\""  # as a notebook's file has it
# A figure of a notebook, and what it says of itself.
FIGURE = re.compile(r'(<(figure|div) class="g2 [^"]*")>')
CAPTION = re.compile(r"<(?:strong|caption)>(.*?)</(?:strong|caption)>", re.S)


def described(doctree: nodes.document | None) -> str:
    """The first paragraph of a page, at most 160 characters: what a search engine shows."""
    text = opening(doctree)
    return text if len(text) <= 160 else re.sub(r"\W+\w*$", "", text[:159]) + "…"


def opening(doctree: nodes.document | None) -> str:
    """The first paragraph of a page."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        text = " ".join(paragraph.astext().split())
        if len(text) > 40:
            return text
    return ""


def promised(doctree: nodes.document) -> str:
    """What a neighbouring page is about: the question that a chapter opens with, or a sentence."""
    sentences = re.findall(r"\S.*?[.?!](?=\s|$)", opening(doctree))
    asked = [sentence for sentence in sentences if sentence.endswith("?")]
    told = [sentence for sentence in sentences if len(sentence) > 20]
    return (asked[-1:] or told[:1] or [""])[0]


def linkable(body: str) -> str:
    """Each exhibit with an id to link to: gpt2-crane, and gpt2-crane-2 where it is the second."""
    count: Counter[str] = Counter()

    def named(tag: re.Match[str]) -> str:
        count[tag[1]] += 1
        number = f"-{count[tag[1]]}" if count[tag[1]] > 1 else ""
        return f'<{tag[1]} id="{tag[1]}{number}" class="g2-live"'

    body = re.sub(r'<(gpt2-[\w-]+) class="g2-live"', named, body)
    return FIGURE.sub(lambda found: f'{found[1]} id="{figure_name(found, count)}">', body)


def figure_name(found: re.Match[str], count: Counter[str]) -> str:
    """After its caption's first words: the address stays when figures come before it."""
    inside = found.string[found.end() : found.string.find(f"</{found[2]}>", found.end())]
    caption = CAPTION.search(inside)
    text = re.sub(r"<[^>]+>|&[^;]+;", " ", caption[1] if caption else "")
    words = re.findall(r"[a-z0-9]+", text.lower())
    name = "-".join(["figure", *words[:6]])
    count[name] += 1
    return f"{name}-{count[name]}" if count[name] > 1 else name


def plots(page: Page) -> int:
    """How many numbered figures a page has."""
    return page.path.read_text(encoding="utf-8").count(PLOT)


def frame(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document) -> None:
    """What the template needs to know of a page."""
    context["description"] = described(doctree)
    if "body" in context:
        for written, meant in MARKUP:
            context["body"] = written.sub(meant, context["body"])
        context["body"] = linkable(unbroken(shortened(context["body"])))
    told = {f"notebooks/{one.name}": one for one in pages()}
    if one := told.get(page.replace("practice/", "")):
        context["chapter"] = one.number
        context["ribbon"] = chapters()
    if one := told.get(page):
        context["strip"] = strip.PLACES[chapter_of(one).slug]
        context["pass"] = strip.ALT
        earlier = sum(map(plots, chapter_of(one).pages[: chapter_of(one).pages.index(one)]))
        if earlier:  # figures are numbered through a chapter
            start = f'<section style="counter-reset: figure {earlier}"'
            context["body"] = context["body"].replace("<section", start, 1)
    relations = app.env.collect_relations().get(page, [None, None, None])
    for side, neighbour in zip(("prev", "next"), relations[1:], strict=True):
        if context.get(side) and neighbour:
            context[side]["says"] = promised(app.env.get_doctree(neighbour))
    context["author"] = app.config.author
    context["policy"] = POLICY
    context["notebook"] = page.startswith("notebooks/")
    context["colab"] = colab(page)
    body = context.get("body", "")
    found = set(re.findall(r'<gpt2-([\w-]+)[^>]* class="g2-live"', body))
    own = [kind for kind in OWN if kind in found]
    drawn = found.difference(own) or "learn" in own  # with plots and maps
    live = own + ["live"] * bool(drawn)
    copied = dict.fromkeys(
        ("copybutton", "clipboard", "documentation_options"), context["notebook"]
    )
    needs = {"katex": 'class="katex"', "take.js": 'class="g2', "names.js": "g2-ledger"}
    used = {name: has in body for name, has in needs.items()} | copied
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if loaded(str(file.filename), used)]
    scripts = [str(file.filename) for file in context["script_files"]]
    context["scripts"] = f"{joined(SCRIPTS, scripts, 'scripts', 'js')}?v={VERSION}"
    sheets = [str(file.filename) for file in context["css_files"]]
    sheets = ["_static/styles.css", *sheets, *(f"_static/{kind}.css" for kind in live)]
    context["styles"] = f"{joined(SHEETS, sheets, 'styles', 'css')}?v={LOOK}"
    context["faces"] = FACES.replace("vendor/", f"{context['content_root']}_static/vendor/")
    if 'class="katex"' in body:
        classes = {frozenset(many.split()) for many in re.findall(r'class="([^"]*)"', body)}
        CLASSES.update(classes)
        _, faces = katex.cut((STATIC / katex.SHEET).read_text("utf-8"), classes)
        fonts = f"{context['content_root']}_static/{Path(katex.SHEET).parent}/fonts/"
        context["faces"] += faces.replace("fonts/", fonts)


def joined(files: dict[str, list[str]], names: list[str], stem: str, kind: str) -> str:
    """The name of the file that others are joined in."""
    name = f"_static/{stem}-{digest(*names)}.{kind}"
    files[name] = names
    return name


def keep_columns(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark printed tables and code, whose lines are not wrapped."""
    for printed in doctree.findall(nodes.literal_block):
        if "output" in printed["classes"] and ALIGNED.search(printed.astext()):
            printed["classes"].append("aligned")


def loaded(name: str, used: dict[str, bool]) -> bool:
    """Whether a page loads a file: some are for all, some for pages that have what they are for."""
    return not any(one in name for one in UNUSED) and all(
        here for one, here in used.items() if one in name
    )


def number(_: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give each chapter its number, and a page that is listed among chapters none."""
    told = {f"notebooks/{one.name}": (one.number,) for one in chapters()}
    for page in env.toc_secnumbers:
        chosen = told.get(page)
        env.toc_secnumbers[page] = dict.fromkeys(env.toc_secnumbers[page]) | {"": chosen}
        env.titles[page]["secnumber"] = chosen
        for reference in env.tocs[page].findall(nodes.reference):
            reference["secnumber"] = None if reference["anchorname"] else chosen
    return []


def join(app: Sphinx, error: Exception | None) -> None:
    """Write the files that several are joined in, and take the spaces out of styles."""
    if error or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "_static" / "styles.css").write_text(STYLES, encoding="utf-8")
    for name, scripts in SCRIPTS.items():
        texts = [
            later(script, REMARK.sub("", (out / script).read_text("utf-8"))) for script in scripts
        ]
        (out / name).write_text("\n;\n".join(texts), encoding="utf-8")
    for name, sheets in SHEETS.items():
        styles = {sheet: (out / sheet).read_text("utf-8") for sheet in sheets}
        if (used := f"_static/{katex.SHEET}") in styles:
            styles[used], _ = katex.cut(styles[used], CLASSES)
        (out / name).write_text("\n".join(styles.values()), encoding="utf-8")
    for file in (out / "_static").glob("*.css"):
        file.write_text(rcssmin.cssmin(file.read_text("utf-8")), encoding="utf-8")


def later(name: str, script: str) -> str:
    """A script, to run once the page rests where nobody waits for it: buttons that copy code."""
    if not name.endswith("copybutton.js"):
        return script
    return f"(globalThis.requestIdleCallback ?? setTimeout)(() => {{\n{script}\n}})"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_theme("gpt2", str(THEME))
    app.add_config_value(
        "comments_config", {}, ""
    )  # Jupyter Book sets it for an extension that we leave out
    app.connect("html-page-context", frame)
    app.connect("doctree-resolved", keep_columns)
    app.connect("env-get-updated", number, priority=900)  # after Sphinx has numbered all of them
    app.connect("build-finished", join)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
