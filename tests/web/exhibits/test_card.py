"""Cards in the page: chosen, typed, dropped; two side by side; and whatever cannot be read."""

from __future__ import annotations

import json

import pytest

from gpt2_edu import GPT2Config, flops
from gpt2_site import card

pytestmark = pytest.mark.browser
GPT2_XL = GPT2Config.preset("gpt2-xl")
# Drop files with these texts on the first element that matches.
DROP = """([selector, texts]) => {
  const transfer = new DataTransfer();
  for (const text of texts) transfer.items.add(new File([text], "config.json"));
  const event = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
  document.querySelector(selector).dispatchEvent(event);
}"""
BAD = {
    "": "is empty",
    "{'n_layer': 12}": "is not JSON",
    "[1, 2]": "is a list",
    '{"model_type": "mixtral"}': "mixture of experts",
    card.text("gpt2").replace('"n_head": 12', '"n_head": 13'): "not divisible by n_head = 13",
    card.text("gpt2").replace('"n_head": 12,', ""): "n_head is missing",
}


@pytest.fixture
def cards(exhibit):
    def show(**query):
        return exhibit("card", query=query, **card.settings())

    return show


def write(shown, text: str, side: str = "text of the card") -> None:
    """Type a card in place of the one that is there."""
    group = shown.element.get_by_role("group", name="second card" if "second" in side else "card")
    group = group.filter(has=shown.page.get_by_label(side, exact=True)).first
    if group.locator("details").get_attribute("open") is None:
        group.locator("summary").click()
    shown.element.get_by_label(side, exact=True).fill(text)
    shown.ready()


def heads(shown) -> list[str]:
    return shown.element.locator(".card-table >> nth=0").locator("th[scope=col]").all_inner_texts()


def test_the_numbers_of_an_example_are_those_of_the_package(cards):
    table = cards(card="gpt2-xl").table()
    assert table["parameters"] == [f"{flops.num_parameters(GPT2_XL):,}"]
    assert table["of MLP"] == [f"{flops.parameters_by_part(GPT2_XL)['mlp']:,}"]
    assert table["bytes of cache, a token"] == [
        f"{flops.cache_bytes_per_token(GPT2_XL, 'bfloat16'):,}"
    ]
    assert table["FLOPs a token"] == [f"{flops.flops_per_token(GPT2_XL, 1024, training=False):,}"]


@pytest.mark.thorough
def test_the_first_frame_is_what_the_page_shows_when_it_is_awake(cards):
    views = cards().element.locator(".card-view")
    live = "".join(views.evaluate_all("all => all.map((e) => e.innerHTML)"))
    printed = (card.FOLDER / "printed.txt").read_text(encoding="utf-8").replace("\n", "")
    plain = {"&quot;": '"', "&nbsp;": "\u00a0", ' open=""': " open"}
    for written, meant in plain.items():
        live, printed = live.replace(written, meant), printed.replace(written, meant)
    assert live == printed


def test_a_line_that_is_typed_counts(cards):
    shown = cards()
    write(shown, card.text("gpt2").replace('"n_layer": 12', '"n_layer": 24'))
    assert shown.sentence.startswith("Your card has 209,494,272 parameters in 24 blocks")
    assert heads(shown) == ["your card"]
    assert "card=own" in shown.query
    shown.element.get_by_role("button", name="reset").click()
    assert shown.sentence.startswith("GPT-2 124M has 124,439,808 parameters in 12 blocks")


@pytest.mark.thorough
def test_a_link_to_a_card_that_was_typed_shows_the_first_example(cards):
    shown = cards(card="own", beside="own")
    assert shown.sentence.startswith("GPT-2 124M has") and shown.query == ""


def test_a_bad_card_is_refused_and_nothing_of_it_is_shown(cards):
    shown = cards()
    write(shown, "{")
    for text, said in BAD.items():
        write(shown, text)
        assert said in shown.sentence and said in shown.element.inner_text()
        assert not shown.element.locator(".card-view, .card-table").first.is_visible()
        assert list(shown.table()) == [] or set(map(len, shown.table().values())) == {0}
        shown.stands()
    write(shown, card.text("gpt2"))
    assert shown.element.locator(".card-view").first.is_visible()


def test_markup_in_a_card_stays_text(cards):
    nasty = {"<img src=x onerror=alert(1)>": "<b>&amp;</b>", "__proto__": {"n_layer": 1}}
    shown = cards()
    write(shown, json.dumps(json.loads(card.text("gpt2")) | nasty))
    shown.stands()
    unknown = shown.element.locator(".card-unknown li").all_inner_texts()
    assert len(unknown) == 2 and "<img src=x onerror=alert(1)>" in unknown[0]
    assert "Unknown here" in unknown[1] and "12 blocks" in shown.sentence


def test_two_cards_stand_side_by_side_line_for_line(cards):
    shown = cards(card="gpt2", beside="llama-3-8b")
    assert heads(shown) == ["GPT-2 124M", "Llama 3 8B"]
    rows = shown.element.locator(".card-lines >> nth=0").locator("li").all_inner_texts()
    pairs = {"n_layer": "num_hidden_layers", "n_embd": "hidden_size", "n_inner": "intermediate"}
    for ours, theirs in pairs.items():
        assert len([row for row in rows if ours in row and theirs in row]) == 1
    assert [
        row for row in rows if "rope_theta" in row and "No such line. Positions are rows" in row
    ]
    assert shown.sentence.startswith("Llama 3 8B has 64.5 times as many parameters as GPT-2 124M")
    assert shown.table()["bytes of cache, a token"] == ["36,864", "131,072"]
    write(shown, "[]", "text of the second card")
    assert "is a list" in shown.sentence and heads(shown) == ["GPT-2 124M"]


def test_cards_are_dropped_one_or_two_at_once(cards):
    shown = cards()
    shown.page.evaluate(DROP, ["gpt2-card", [card.text("qwen3-0.6b")]])
    shown.page.get_by_text("Your card has 596,049,920 parameters").first.wait_for()
    shown.page.evaluate(DROP, ["gpt2-card", [card.text("gpt2"), card.text("gpt2-xl")]])
    shown.page.get_by_text("Your other card has 12.5 times as many parameters").first.wait_for()
    shown.page.evaluate(DROP, [".card-side:nth-of-type(2)", ["x" * 5_000_000]])
    shown.page.get_by_text("This file has 5,000,000 bytes").first.wait_for()
    assert heads(shown) == ["your card"]


@pytest.mark.thorough
def test_a_file_is_opened_by_the_button(cards):
    shown = cards()
    with shown.page.expect_file_chooser() as chooser:
        shown.element.get_by_role("button", name="open a file").first.click()
    file = {"name": "config.json", "mimeType": "application/json"}
    chooser.value.set_files({**file, "buffer": card.text("smollm2-135m").encode()})
    shown.page.get_by_text("Your card has 134,515,008 parameters").first.wait_for()


@pytest.mark.thorough
def test_the_length_of_the_text_ends_at_the_window(cards):
    shown = cards(card="llama-3-8b", beside="gpt2")
    slider = shown.element.get_by_role("slider")
    slider.focus()
    shown.press("End")
    assert slider.get_attribute("aria-valuetext") == "8,192 tokens"
    assert shown.table()["bytes of cache, all tokens"] == [
        f"{131_072 * 8192:,}",
        f"{36_864 * 1024:,}",
    ]
    assert "GPT-2 124M sees 1,024 tokens at most" in shown.element.inner_text()
    slider.focus()
    shown.press("Home")
    assert slider.get_attribute("aria-valuetext") == "1 token" and "tokens=1" in shown.query


def test_everything_is_reached_by_keyboard_and_fits_a_phone(exhibit):
    phone = {"viewport": {"width": 390, "height": 844}}
    shown = exhibit("card", context=phone, query={"beside": "gpt2-xl"}, **card.settings())
    shown.tab_to("select")
    shown.press("ArrowDown")
    assert shown.element.get_by_role("combobox").first.input_value() == "gpt2-xl"
    shown.tab_to(".card-side summary")
    shown.press("Enter")
    shown.tab_to("textarea")
    shown.tab_to("input[type=range]")
    shown.stands()
