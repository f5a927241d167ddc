"""The search: what a reader types leads to where it is explained, by keyboard, from a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from gpt2_site.chapters import find
from tests.site.test_browser import barriers, overflowing
from tests.site.waiting import until

pytestmark = pytest.mark.browser


def chapter(slug: str, anchor: str, practice: bool = False) -> str:
    return f"notebooks/{'practice/' * practice}{find(slug).name}.html#{anchor}"


# What somebody types, and a place that must be among the first three.
WANTED = {
    "attention": "book/glossary.html#attention",  # a term
    "Attention": "book/glossary.html#attention",
    "causal mask": chapter("mask", "the-causal-mask"),
    "softmax": "book/glossary.html#softmax",
    "perplexity": "book/glossary.html#perplexity",
    "weight tying": "book/glossary.html#weight-tying",
    "bpe": "book/glossary.html#byte-pair-encoding",  # its short name
    "byte pair": chapter("tokens", "byte-pair-encoding-by-hand"),
    "√d": chapter("attention", "why-divide-by-d"),  # a sign
    "sqrt": None,  # nobody has to know LaTeX, but nothing breaks
    "q·k": "book/notation.html#names-of-tensors",
    "masked_scores": "book/notation.html#names-of-tensors",  # a tensor
    "attn.q": "book/notation.html#names-of-tensors",
    "<|endoftext|>": chapter("tokens", "the-special-token"),
    "merge_heads": chapter("heads", "and-back-together", practice=True),  # a function
    "choose": chapter("generation", "now-write-it"),
    "LayerNorm": chapter("layernorm", "layernorm"),
    "kv cache": chapter("cache", "the-kv-cache"),
    "temperature": chapter("generation", "temperature"),
    "top k": chapter("generation", "top-k"),
    "top-p": chapter("generation", "top-p"),
    "view transpose": chapter("heads", "view-then-transpose"),
    "residual stream": "book/glossary.html#residual-stream",
    "\uff53\uff4f\uff46\uff54\uff4d\uff41\uff58": "book/glossary.html#softmax",  # full width
    "logit lens": chapter("inside", "the-logit-lens"),
    "gelu": chapter("mlp", "gelu"),
    "dropout": chapter("embeddings", "deeper-dropout"),  # in a fold
    "rmsnorm": chapter("llama", "rmsnorm"),
    "wx or xw": chapter("attention", "deeper-wx-or-xw"),
    "why minus infinity": chapter("mask", "why-minus-infinity"),
    "is_causal": chapter("cache", "why-is-causal-is-wrong-here"),
    "gradient clipping": "book/glossary.html#gradient-clipping",
    "memory of kv cache": chapter("cache", "memory"),  # a small word that is not there
    "train on my own text": chapter("training_well", "your-own-text"),
    "generate": chapter("gpt2", "gpt-2-all-of-it"),
    "norm by hand": chapter("layernorm", "layernorm-by-hand", practice=True),  # an exercise
    "does c_attn need a bias": chapter("attention", "questions-people-ask"),  # a question
    "crane": chapter("crane", "the-crane"),
    "emb": chapter("embeddings", "embeddings"),  # a beginning
    "chatgpt": "book/chatgpt.html#from-gpt-2-to-chatgpt",
    "instruction tuning": "book/glossary.html#instruction-tuning",
    "lora": "book/glossary.html#lora",
    "fine-tuning": "book/glossary.html#fine-tuning",
    "rlhf": "book/chatgpt.html#preferences",
    "assistant": "book/chatgpt.html#instruction-tuning",
    "DPO": "book/glossary.html#dpo",
    "reasoning model": "book/chatgpt.html#verifiable-reward-reasoning-models",
    "Llama": chapter("llama", "from-gpt-2-to-llama"),
    "quantization": "book/glossary.html#quantisation",  # in the other spelling
    "scaling laws": "book/glossary.html#scaling-law",
    "atention": "book/glossary.html#attention",  # a slip
    "embeding": "book/glossary.html#embedding",
}


@pytest.fixture(scope="module")
def answers(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(f"{address}/search.html?q=mask")
    page.locator("#search-results a").first.wait_for()
    yield page
    page.close()


def ask(page: Page, query: str) -> list[str]:
    page.locator("main input").fill(query)
    until(page, "(q) => document.querySelector('#search-results').dataset.query === q", arg=query)
    return page.locator("#search-results a").evaluate_all("all => all.map((a) => a.href)")


@pytest.mark.parametrize("query", WANTED)
def test_what_is_typed_leads_to_where_it_is_told(answers, address, query):
    first = [link.removeprefix(f"{address}/") for link in ask(answers, query)[:3]]
    if WANTED[query]:
        assert WANTED[query] in first


def test_every_place_that_can_be_found_exists(answers, site):
    found = answers.evaluate(
        "gpt2Find.places.map(([page, anchor]) => [gpt2Find.pages[page][0], anchor])"
    )
    assert len(found) > 1000
    texts = {page: (site / f"{page}.html").read_text("utf-8") for page, _ in found}
    ids = {page: set(re.findall(r'\sid="([^"]+)"', text)) for page, text in texts.items()}
    assert [f"{page}#{anchor}" for page, anchor in found if anchor not in ids[page]] == []


def test_kinds_are_all_there_and_named(answers):
    kinds = answers.evaluate("[...new Set(gpt2Find.places.map((p) => gpt2Find.kinds[p[2]]))]")
    assert set(kinds) == {"section", "deeper", "term", "tensor", "code", "question", "exercise"}
    ask(answers, "logit lens")
    shown = answers.locator("#search-results small").all_inner_texts()
    assert {"term", "section", "exercise"} <= set(shown)


@pytest.mark.parametrize("query", ["zzzz", "<img src=x onerror=alert(1)>", "🦩", "%%%"])
def test_what_is_not_there_is_said_kindly(answers, query):
    assert ask(answers, query) == [] or query.startswith("<img")
    said = answers.locator("#search-progress").inner_text()
    assert said.startswith(("Nothing in the book has", "No place has all", "Did you mean"))
    assert answers.locator("#search-results img").count() == 0


def test_the_address_says_what_is_looked_for(answers):
    ask(answers, "attention")
    assert "The best 60 are here." in answers.locator("#search-progress").inner_text()
    answers.wait_for_url("**/search.html?q=attention")
    answers.locator("main input[name=q]").fill("x" * 500)
    expect(answers.locator("#search-progress")).to_contain_text("…”")
    assert overflowing(answers) == []


def test_what_is_shown_of_a_place_ends_with_a_word(answers, site):
    ask(answers, "attention")
    shown = answers.locator("#search-results span").all_inner_texts()
    cut = [text.removesuffix("…").removeprefix("… ") for text in shown if text.endswith(" …")]
    index = (site / "_static" / "find-index.js").read_text("utf-8").replace('\\"', '"')
    assert len(cut) > 20 and [text for text in cut if text not in index] == []


@pytest.mark.thorough
def test_by_keyboard_from_any_page(opened):
    page = opened(f"notebooks/{find('heads').name}.html")
    page.keyboard.press("/")
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.type("logit lens")
    options = page.get_by_role("option")
    options.first.wait_for()
    assert re.search(r"\d+ places", page.locator(".found .said").inner_text())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.locator("[role=option][aria-selected=true]")
    assert chosen.get_attribute("id") == field.get_attribute("aria-activedescendant")
    page.keyboard.press("Escape")
    assert options.count() == 0 or not options.first.is_visible()
    page.keyboard.type(" ")
    options.first.wait_for()
    page.keyboard.press("ArrowDown")
    goal = page.locator("[role=option][aria-selected=true]").get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(goal)
    page.keyboard.press("/")
    page.keyboard.type("crane")
    options.first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=crane")
    page.locator("#search-results a").first.wait_for()


@pytest.mark.thorough
def test_a_place_in_a_fold_opens_it(opened):
    page = opened("search.html?q=rmsnorm without the mean")
    page.locator("#search-results a[href*=without-the-mean]").first.click()
    page.wait_for_url("**#deeper-rmsnorm-without-the-mean")
    until(page, "document.querySelector('#deeper-rmsnorm-without-the-mean > details').open")


@pytest.mark.thorough
def test_from_a_disk(opened, site):
    page = opened("robots.txt")
    page.goto((site / "book" / "glossary.html").as_uri())
    page.locator(".find input").fill("softmax")
    page.get_by_role("option").first.wait_for()
    page.goto(f"{(site / 'search.html').as_uri()}?q=softmax")
    page.locator("#search-results a").first.wait_for()


@pytest.mark.thorough
def test_the_list_is_asked_for_once_and_only_by_who_searches(opened, address):
    page = opened("robots.txt")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"{address}/book/glossary.html", wait_until="networkidle")
    assert not any(name.startswith("find") for name in asked)
    page.locator(".find input").fill("softmax")
    page.get_by_role("option").first.wait_for()
    page.locator(".find input").fill("softmax mask")
    page.wait_for_timeout(200)
    assert asked.count("find-index.js") == 1


@pytest.mark.thorough
def test_a_list_that_does_not_load_is_told_and_asked_for_again(opened):
    page = opened("search.html")
    page.route("**/find-index.js", lambda route: route.abort())
    page.locator("main input").fill("mask")
    expect(page.locator("#search-progress")).to_contain_text("did not load")
    page.unroute("**/find-index.js")
    page.locator("main input").fill("mask ")
    page.locator("#search-results a").first.wait_for()


def test_without_javascript_the_page_says_where_to_look(opened):
    page = opened("search.html", java_script_enabled=False)
    assert page.locator("noscript a, main a").count() >= 3
    page.get_by_role("link", name="list of all sections").click()
    page.wait_for_url("**/book/contents.html")


@pytest.mark.thorough
@pytest.mark.parametrize("start", ["search.html?q=mask", "book/start.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_fit_and_keep_nobody_out(opened, scheme, start):
    page = opened(start, color_scheme=scheme)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator("main input" if "search" in start else ".find input").fill("causal mask")
        page.locator("#search-results a, [role=option]").first.wait_for()
        assert barriers(page) == [] and overflowing(page) == []
