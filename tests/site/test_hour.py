"""GPT-2 in an hour: twelve short cards, whose numbers are the model's, and the picture they set."""

from __future__ import annotations

import re
from functools import cache

import pytest
import torch
from playwright.sync_api import Page

from gpt2_edu import flops, load_tokenizer, trace
from gpt2_edu.config import PRESETS
from gpt2_edu.exercises.crane_run import crane
from gpt2_site.chapters import ROOT
from gpt2_site.front_facts import beginning, ids, names, shares, tape
from gpt2_site.one_pass import LIT, learned
from tests.site.waiting import until
from tests.test_contents import GUESS

MARSH, CITY = map(beginning, ("marsh", "city"))
PLACE, CRANE = 3, 6  # tokens: ␣marsh or ␣city, and ␣crane
NUMBER = re.compile(r"(?<![\w.,#=-])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
EARLY, LATER = 500, 1000  # steps of training
MOST = 90  # words of a card before an answer is opened
WIDE = {"width": 1280, "height": 900}
WAIT = 60_000  # milliseconds, on a busy machine
READ = "link => link.parentElement.matches('.now')"


@cache
def cards() -> dict[str, str]:
    """Their text by their titles."""
    source = (ROOT / "book" / "hour.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (\d+\. .*)$", source.partition("## Now explain it")[0], flags=re.M)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def visible(card: str) -> str:
    """What is read before an answer is opened, without the links."""
    card = re.sub(r"```.*?```|^\[The whole story.*", "", card, flags=re.S | re.M)
    card = re.sub(r"</summary>.*?</details>", "", card, flags=re.S)
    return re.sub(r"<[^>]+>|\*\*Predict before you look\.\*\*", "", card)


def share(text: str, word: str) -> float:
    return shares(text)[load_tokenizer("crane").encode(f" {word}")[0]].item()


def without(*heads: int) -> float:
    """The probability of ate when heads of block 1 are cut."""

    def cut(values: torch.Tensor) -> torch.Tensor:
        values = values.clone()
        values[:, list(heads)] = 0
        return values

    with trace(crane(), edits={"transformer.h.1.attn.heads": cut}), torch.no_grad():
        logits, _ = crane()(torch.tensor([ids(MARSH)]))
    return logits[0, -1].softmax(-1)[load_tokenizer("crane").encode(" ate")[0]].item()


def said() -> dict[str, set[str]]:
    """The numbers of each card, from the model."""
    config = crane().config
    marsh, weights = tape(MARSH), "transformer.h.1.attn.weights"
    stream = marsh["transformer.h.0.resid_post"][0, CRANE]
    mlp = crane().transformer.h[1].mlp
    in_mlp = sum(p.numel() for p in mlp.parameters())
    in_block = sum(p.numel() for p in crane().transformer.h[1].parameters())
    assert in_mlp / in_block == pytest.approx(2 / 3, abs=0.005)  # "two thirds"
    last = learned()["shots"][-1]
    good = {shot["step"]: shot["good"] for shot in learned()["shots"]}
    assert good[EARLY] == 0  # "none yet"
    width = str(config.n_embd)
    vocabulary = f"{config.vocab_size:,}"
    return {
        "1": {f"{share(MARSH, 'ate'):.2f}", f"{share(CITY, 'lifted'):.2f}"},
        "2": {
            vocabulary,
            f"{PRESETS['gpt2'].vocab_size:,}",
            str(ids(MARSH)[CRANE]),
            str(ids(MARSH)[2]),
        },
        "3": {
            f"{flops.num_parameters(config):,}",
            f"{last['step']:,}",
            f"{100 * last['good']:.0f}",
            *(str(step) for step in (EARLY, f"{LATER:,}")),
            f"{100 * good[LATER]:.0f}",
        },
        "4": {width},
        "5": set(),
        "6": {f"{marsh[weights][0, 0, CRANE, PLACE]:.2f}", str(config.head_size)},
        "7": set(),
        "8": {str(config.head_size), f"{without(0):.2f}", f"{without(0, 2):.2f}"},
        "9": {
            width,
            str(4 * config.n_embd),
            str((marsh["transformer.h.1.mlp.act"][0, CRANE] > LIT).sum().item()),
            str(LIT),
        },
        "10": {width, f"{stream.std(correction=0):.2f}"},
        "11": {vocabulary, f"{100 * share(MARSH, 'ate'):.0f}", "100"},
        "12": {f"{flops.num_parameters(PRESETS['gpt2']) / 1e6:.0f}", "175", "0.99"},
    }


def test_the_cards_are_twelve_and_short():
    counts = {title: len(visible(card).split()) for title, card in cards().items()}
    assert [title.split(".")[0] for title in counts] == [str(n) for n in range(1, 13)]
    assert max(counts.values()) <= MOST and sum(counts.values()) <= 1100, counts


def test_a_card_says_the_models_numbers_and_no_others():
    expected = said()
    for title, card in cards().items():
        text = re.sub(r"```.*?```|^\[The whole story[^\n]*|card \d+", "", card, flags=re.S | re.M)
        found = {number for number in NUMBER.findall(text) if "." in number or len(number) > 1}
        assert found == expected[title.split(".")[0]], title


def test_what_the_cards_say_without_numbers_is_so():
    marsh = tape(MARSH)
    assert share(MARSH, "lifted") < 0.001  # next to nothing
    assert ids(MARSH)[2] == ids(MARSH)[5] and names(ids(MARSH))[2] == "␣the"
    embd, tok_emb = marsh["embd"][0], marsh["tok_emb"][0]
    assert torch.equal(tok_emb[2], tok_emb[5]) and not torch.allclose(embd[2], embd[5])
    after, later = (
        (crane().transformer.ln_f(marsh[path][0, CRANE]) @ crane().transformer.wte.weight.T)
        for path in ("transformer.h.0.resid_post", "transformer.h.1.resid_mid")
    )
    assert names([after.argmax().item(), later.argmax().item()]) == ["␣lifted", "␣ate"]
    spelled = load_tokenizer("crane").encode("crane")
    assert [load_tokenizer("crane").decode([i]) for i in spelled] == ["c", "r", "ane"]
    table = torch.nn.functional.normalize(crane().transformer.wte.weight, dim=1)
    like = {names([i])[0]: names((table @ table[i]).topk(2).indices.tolist()) for i in ids(MARSH)}
    assert like["␣crane"][1] == "␣bank" and like["␣marsh"][1] == "␣meadow"
    assert marsh["transformer.h.1.attn.weights"][0, 0, 0].tolist() == [1, 0, 0, 0, 0, 0, 0]
    whole = marsh["transformer.h.1.attn.scores"][0, 0, CRANE] * crane().config.head_size ** 0.5
    assert whole.softmax(-1)[PLACE] > 0.9999  # nearly everything
    stream, exchanged = "transformer.h.2.resid_post", tape(MARSH.removesuffix("crane") + "bat")
    assert torch.allclose(marsh[stream][0, :CRANE], exchanged[stream][0, :CRANE], atol=1e-5)
    before, norm = marsh["transformer.h.0.resid_post"][0], crane().transformer.h[1].ln_1
    assert torch.allclose(norm(2 * before), norm(before), atol=1e-4)
    for head in (0, 2):
        assert marsh["transformer.h.1.attn.weights"][0, head, CRANE].argmax() == PLACE
    assert len(load_tokenizer("crane").encode(" flamingo")) > 1
    (card,) = (card for title, card in cards().items() if title.startswith("12."))
    text = re.search(r":see: text=(\S+)", card)[1].replace("+", " ")
    best = shares(text).topk(1)
    assert names(best.indices.tolist()) == ["␣the"] and best.values.item() > 0.99


def test_a_card_has_its_place_a_guess_something_to_do_and_its_chapter(soup):
    sections = soup("book/hour").select("section:has(> a.look)")
    assert len(sections) == len(cards())
    for section, (title, source) in zip(sections, cards().items(), strict=True):
        assert section.h2.find(string=True, recursive=False).strip() == title
        assert section.select_one("a.look")["href"].endswith("#gpt2-flow")
        assert len(GUESS.findall(source)) == len(section.select("details.guess")) >= 2
        assert len(section.select("details.right")) == 1, title
        assert "**Try it.** " in source
        *_, links = section.select("p")
        for link in links.select("a"):
            number = re.search(r"\d+", link.text)[0]
            assert re.match(rf"\.\./notebooks/{number:0>2}_", link["href"])


@pytest.fixture
def wide(opened) -> Page:
    page = opened("book/hour.html", viewport=WIDE, clock=True)
    page.locator("gpt2-flow[data-state=ready]").wait_for(timeout=WAIT)
    return page


@pytest.mark.thorough
@pytest.mark.browser
def test_the_picture_stands_in_the_window_beside_the_card(opened, address):
    """When the page opens, and when a later card is read."""
    page = opened("robots.txt")
    for width, height in ((1120, 800), (1280, 720), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{address}/book/hour.html")
        page.locator("gpt2-flow[data-state=ready]").wait_for(timeout=WAIT)
        for nth in (0, 4):
            card = page.locator("section:has(> a.look)").nth(nth)
            if nth:
                card.evaluate("card => card.scrollIntoView()")
            picture, beside = page.locator(".flow-picture").bounding_box(), card.bounding_box()
            assert 0 < picture["y"] and picture["y"] + picture["height"] <= height
            assert beside["y"] < height and picture["x"] + picture["width"] <= beside["x"]
            assert picture["width"] > width / 2


@pytest.mark.browser
@pytest.mark.thorough
def test_each_card_that_is_read_sets_the_picture_beside_it(wide):
    """By scrolling, and again by its strip after the reader has changed the picture."""
    links = wide.locator("a.look")
    asked = """link => [...new URL(link.href).searchParams].every(([name, text]) =>
      String(document.querySelector("gpt2-flow").state.get(name)) === text)"""
    for n in range(links.count()):
        link = links.nth(n)
        link.evaluate("link => link.parentElement.scrollIntoView()")
        until(wide, READ, arg=link.element_handle(), timeout=WAIT, hurry=100)
        until(wide, asked, arg=link.element_handle(), timeout=WAIT, hurry=100)
        until(
            wide,
            "document.querySelector('gpt2-flow').dataset.state === 'ready'",
            timeout=WAIT,
            hurry=100,
        )
    mlp = links.nth(8)
    mlp.evaluate("link => link.parentElement.scrollIntoView()")
    until(wide, READ, arg=mlp.element_handle(), timeout=WAIT, hurry=100)
    mlp.click()
    crumb = wide.locator(".flow-crumbs [aria-current]")
    until(
        wide,
        "document.querySelector('.flow-crumbs [aria-current]')?.textContent === 'MLP'",
        hurry=100,
    )
    wide.locator(".flow-crumbs a, .flow-crumbs button").first.click()
    crumb.filter(has_text="MLP").wait_for(state="detached")
    mlp.press("Enter")
    until(
        wide,
        "document.querySelector('.flow-crumbs [aria-current]')?.textContent === 'MLP'",
        hurry=100,
    )
    assert wide.url.partition("?")[0].endswith("book/hour.html")


@pytest.mark.thorough
@pytest.mark.browser
def test_without_room_beside_the_cards_their_strips_lead_to_the_model(opened):
    page = opened("book/hour.html", viewport={"width": 390, "height": 844})
    assert page.locator("gpt2-flow").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("a.look").nth(5).click()
    page.wait_for_url("**/book/model.html?place=1.0**")
    page.locator("gpt2-flow[data-state=ready]").wait_for(timeout=WAIT)
    assert page.locator(".flow-crumbs [aria-current]").text_content() == "head 1.0"
    page.go_back()
    until(page, "document.querySelectorAll('a.look')[5].getBoundingClientRect().top > 0")
    page.locator("a.look").nth(10).click()
    page.wait_for_url("**/book/model.html?station=54**")
    bars = page.locator(".flow-picture .next").last
    bars.wait_for(timeout=WAIT)
    until(page, "document.querySelector('.flow-picture .next').getBoundingClientRect().top > 0")
    assert 0 < bars.bounding_box()["y"] < 844
