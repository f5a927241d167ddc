"""Sphinx extension: what the first page and "Open the model" show before any script runs.

Three directives, whose numbers are asked of the model when the site is built:

- ``living``: a sentence with a switch for its place, what comes next, and where one head looks.
  Both places are in the page, so that the switch needs no script; front.js lets the model write on.
- ``part``: the card of a part, with a picture and its chapters; its content says what one can do
  afterwards.
- ``playground``: the exhibit of that name, around what it shows first, as tables.
"""

from __future__ import annotations

import json
from html import escape
from urllib.parse import urlencode

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gpt2_site import front_facts as facts
from gpt2_site import front_pictures
from gpt2_site.chapters import chapters

PAGES = ("book/index", "book/model")
SHOWN = 3  # bars
BELIEF = {
    "marsh": "In a marsh a crane is a bird.",
    "city": "In a city a crane is a machine.",
}
CHIPS = (
    "In the marsh, the crane",
    "In the city, the crane",
    "By the river, the crane",
    'Then Vera gave Nils the kite. "Thank you," said',
)
FIRST = "Switch ␣marsh to ␣city with a chip. Then cut head 1.0, and 1.2 with it."


def living() -> str:
    """The sentence, its two places, and the rest for each of them."""
    toggle = "".join(
        f'<label><input type="radio" name="place" value="{place}"{" checked" * (not n)}>'
        f"<span>{place}</span></label>"
        for n, place in enumerate(facts.PLACES)
    )
    block, head = facts.HEAD
    arcs, rest, links = "", "", ""
    for place in facts.PLACES:
        text = facts.beginning(place)
        guesses = facts.guesses(text, SHOWN)
        weight = next(look.weight for look in facts.looks(text) if look.head == f"{block}.{head}")
        arcs += (
            f'<span class="arc of-{place}" style="--weight:{weight:.2f}">'
            f"<small>{weight:.2f}</small></span>"
        )
        bars = "".join(bar(guess) for guess in guesses)
        rest += (
            f'<div class="of-{place}"><ol class="next" aria-label="what comes next">{bars}</ol>'
            f'<p class="why">{BELIEF[place]} Head {block}.{head} of {len(facts.looks(text))} looks '
            f"from <em>crane</em> back at <em>{place}</em>: {weight:.2f} of its attention goes "
            "there. Switch the place, or let it write on.</p></div>"
        )
        address = urlencode({"text": text})
        links += f'<a class="inside of-{place}" href="model.html?{address}">look inside</a>'
    count = sum(parameter.numel() for parameter in facts.model().parameters())
    return f"""<figure class="living">
<fieldset><legend class="unseen">Where the crane is</legend>
<p class="line"><span>In the</span>{
        toggle
    }<span>, the</span><b class="crane">crane</b><span>…</span>{arcs}</p>
</fieldset>
<div class="told">{rest}<div class="of-now" hidden><ol class="next" aria-label="what comes next">{
        bar(facts.Guess("", "", 0)) * SHOWN
    }</ol><p class="written" aria-live="polite"></p></div></div>
<p class="acts"><button class="write" type="button">write on</button>{links}</p>
<figcaption>{count:,} parameters, running in this page, offline.</figcaption>
</figure>
<script src="../_static/front.js" defer></script>"""


def bar(guess: facts.Guess) -> str:
    name = f"{escape(guess.token.removeprefix('␣'))}<small>{escape(guess.rest)}</small>"
    return f'<li style="--p:{guess.p:.3f}"><b>{name}</b><i>{guess.p:.2f}</i></li>'


def playground() -> str:
    """The exhibit, and inside it what stands there without a script."""
    first, second = (facts.beginning(place) for place in facts.PLACES)
    settings = {"first": FIRST, "text": first, "head": "1.0", "chips": CHIPS}
    tables = [table(f"After “{text}”", ["token", "probability"], rows(text)) for text in CHIPS[:2]]
    heads = [[look.head, look.token, f"{look.weight:.2f}"] for look in facts.looks(first)]
    where = f"Where each head looks from ␣crane in “{first}”"
    tables.append(table(where, ["head", "most at", "weight"], heads))
    assert (first, second) == CHIPS[:2]
    return (
        f'<gpt2-playground class="g2-live" data-settings="{escape(json.dumps(settings))}">'
        f'<div class="printed">{"".join(tables)}</div></gpt2-playground>'
    )


def rows(text: str) -> list[list[str]]:
    return [[guess.token, f"{guess.p:.3f}"] for guess in facts.guesses(text, 5)]


def table(caption: str, columns: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table class="table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


class Living(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [raw(living())]


class Playground(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [raw(playground())]


class Part(SphinxDirective):
    """The card of a part, by its number."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        number = int(self.arguments[0])
        own = [c for c in chapters() if c.part.startswith(f"Part {number}. ")]
        if not own:
            raise self.error(f"there is no part {number}")
        name = own[0].part.partition(". ")[2]
        items = [f"{c.number}. [{c.title}](../notebooks/{c.path.name})" for c in own]
        body = nodes.container()
        listed = StringList([*self.content, "", *items], source=self.get_source_info()[0])
        self.state.nested_parse(listed, self.content_offset, body)
        head = f'<section class="part"><h2><small>Part {number}</small> {escape(name)}</h2>'
        drawn = front_pictures.OF_PART[number]()
        return [raw(head + drawn), *body.children, raw("</section>")]


def style(app: Sphinx, page: str, *_: object) -> None:
    """In the head: what is painted first should stay in its place."""
    if page in PAGES:
        app.add_css_file("front.css", priority=900)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", style, priority=400)  # before the theme makes its choice
    app.add_directive("living", Living)
    app.add_directive("part", Part)
    app.add_directive("playground", Playground)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
