"""Names, numbers with their nouns and formulas with their commas stay whole."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from gpt2_site.chapters import find, pages
from gpt2_site.katex import cut
from gpt2_site.unbroken import unbroken
from tests.site.waiting import OPEN, until

RESIDUAL = f"notebooks/{find('residual').name}.html"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("GPT-2’s size", '<span class="whole">GPT-2</span>’s size'),
        ("see chapter\n13 and Figures 4.1", "see chapter\xa013 and Figures\xa04.1"),
        ('chapter <a href="x">5</a>', 'chapter\xa0<a href="x">5</a>'),
        ("up by 5.9 %.", "up by 5.9\xa0%."),
        ("a chapter about 5", "a chapter about 5"),
        ('<a title="GPT-2, chapter 5">it</a>', '<a title="GPT-2, chapter 5">it</a>'),
        ("<pre>7 % GPT-2</pre>", "<pre>7 % GPT-2</pre>"),
        ("<code><i>GPT-2</i> 5 %</code>", "<code><i>GPT-2</i> 5 %</code>"),
        ("<svg><text>5 %</text></svg>", "<svg><text>5 %</text></svg>"),
        ("<td><p>20 of them</p></td><td><p>and more of all</p></td>",) * 2,
        (
            f"<td><p>{'a <b>cell</b>' * 7}</p></td>",
            f'<td class="wordy"><p>{"a <b>cell</b>" * 7}</p></td>',
        ),
        ("<gpt2-crane>GPT-2</gpt2-crane>", "<gpt2-crane>GPT-2</gpt2-crane>"),
    ],
)
def test_names_and_numbers_stay_whole_outside_code(written, meant):
    assert unbroken(written) == meant


def test_a_class_that_is_ruled_out_need_not_occur():
    """Hats stand above their letters by such a rule of KaTeX's."""
    rule = ".katex .accent .accent-body:not(.accent-full){width:0}"
    own = [frozenset({name}) for name in ("katex", "accent", "accent-body")]
    assert cut(rule, own) == (rule, "")
    assert cut(rule, own[:2]) == ("", "")


@pytest.mark.thorough
def test_a_hat_is_above_its_letter(opened, soup):
    name = next(p.name for p in pages() if soup(f"notebooks/{p.name}").select(".accent-body"))
    page = opened(f"notebooks/{name}.html")
    page.evaluate(OPEN)
    hats = page.locator(".katex .accent-body:not(.accent-full)")
    assert hats.count() and {hat.evaluate("(h) => h.clientWidth") for hat in hats.all()} == {0}


def test_formulas_keep_their_commas(soup):
    page = soup(RESIDUAL.removesuffix(".html"))
    loose = [
        math.select_one("annotation").get_text()
        for math in page.select("article span.math")
        if re.match(r"[.,;:!?)]", str(math.next_sibling or ""))
        and not math.find_parent(class_="whole")
    ]
    assert len(page.select(".whole")) > 3
    assert page.select(".whole > .math") and all(len(formula) > 12 for formula in loose), loose


def test_a_column_of_words_is_not_one_word_wide(opened):
    page = opened("book/gpu.html", viewport={"width": 1280, "height": 900})
    cells = page.locator("#what-was-measured td.wordy")
    assert cells.count() > 10
    assert min(cell.bounding_box()["width"] for cell in cells.all()) >= 192


def test_a_formula_that_goes_on_fades_and_scrolls_by_keyboard(opened):
    page = opened(
        f"notebooks/{find('attention').name}.html", viewport={"width": 390, "height": 844}
    )
    page.evaluate(OPEN)
    all_of_them = "[...document.querySelectorAll('.katex-display')]"
    wide = f"{all_of_them}.filter((e) => e.scrollWidth > e.clientWidth + 1)"
    until(page, f"{wide}.length && {wide}.every((e) => e.tabIndex === 0)")
    page.evaluate(f"{wide}[0].dataset.wide = ''")
    expect(page.locator("[data-wide]")).to_have_css("animation-name", "more-beside")
    assert page.locator("[data-wide]").evaluate("(e) => getComputedStyle(e).maskImage") != "none"
