"""The page that reads cards: each link of each example leads to a heading of the built site."""

from __future__ import annotations

import re

import pytest

from gpt2_site import card
from tests.site.waiting import wake

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_the_links_of_a_card_lead_to_what_explains_it(browser, site):
    page = browser.new_page()
    for name in card.EXAMPLES:
        page.goto(f"{site.as_uri()}/book/card.html?card={name}")
        assert wake(page) == 1
        links = page.locator(".card-view a").evaluate_all(
            "all => all.map((a) => a.getAttribute('href'))"
        )
        assert len(links) > 12
        for link in set(links):
            path, _, anchor = link.partition("#")
            text = (site / "book" / path).resolve().read_text(encoding="utf-8")
            assert not anchor or re.search(f'id="{re.escape(anchor)}"', text), link
    page.close()
