"""The console of "GPT-2 in the browser": the model answers, from a server and from a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, Route

from gpt2_edu import GPT2, load_tokenizer, trace
from gpt2_edu.sampling import next_probabilities

pytestmark = pytest.mark.browser

PAGE = "book/browser.html"
WAIT = 30_000  # milliseconds
HUB = re.compile(r"https://huggingface\.co/.*")


@pytest.fixture(params=["http", "file"])
def page(browser: Browser, address: str, site: Path, request) -> Iterator[Page]:
    """The page, from a server or from the disk. Nothing goes wrong, nothing is asked of others."""
    where = address if request.param == "http" else site.as_uri()
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.asked, errors = [], []
    page.on("request", lambda r: page.asked.append(r.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{where}/{PAGE}")
    ready(page, "Crane World's model runs in WebAssembly")
    yield page
    assert errors == []
    assert [url for url in page.asked if not url.startswith((where, "data:", "blob:"))] == []
    context.close()


def ready(page: Page, sentence: str) -> None:
    page.locator("gpt2-console").scroll_into_view_if_needed()
    said = page.locator("gpt2-console > .status, gpt2-console > .took, .bring > .status")
    said.filter(has_text=sentence).first.wait_for(timeout=WAIT)


def bars(page: Page) -> dict[str, float]:
    names = page.locator(".next b").all_inner_texts()
    shares = [share.lstrip("<") for share in page.locator(".next i").all_inner_texts()]
    return {name: float(share) for name, share in zip(names, shares, strict=True) if name}


def expected(text: str, edits: dict | None = None) -> dict[str, float]:
    model, encoding = GPT2.from_pretrained("crane").eval(), load_tokenizer("crane")
    ids = [encoding.eot_token, *encoding.encode_ordinary(text)]
    with trace(model, edits=edits), torch.no_grad():
        logits, _ = model(torch.tensor([ids]))
    shares, order = next_probabilities(logits[:, -1])[0].sort(descending=True)
    names = [encoding.decode([i]).replace(" ", "␣").replace("\n", "⏎") for i in order[:8].tolist()]
    names = ["⟨end⟩" if name == "<|endoftext|>" else name for name in names]
    return dict(zip(names, [round(share, 3) for share in shares[:8].tolist()], strict=True))


def test_the_bars_are_pythons_for_every_text_typed(page):
    assert bars(page) == pytest.approx(expected("In the marsh, the crane"), abs=1e-3)
    page.get_by_role("button", name="In the city, the crane").click()
    page.locator(".next b", has_text="␣lifted").wait_for()
    assert bars(page) == pytest.approx(expected("In the city, the crane"), abs=1e-3)
    text = "In the marsh, the frog saw a"
    page.locator("textarea").fill(text)
    tokens = 1 + len(load_tokenizer("crane").encode_ordinary(text))
    ready(page, f"{tokens} tokens took")
    assert bars(page) == pytest.approx(expected(text), abs=1e-3)


def test_what_is_typed_is_text_and_never_markup(page):
    page.locator("textarea").fill("<img src=x onerror=document.title=`broken`> & <b>")
    page.locator(".strip b", has_text="<").first.wait_for()
    assert page.locator("gpt2-console img").count() == 0
    assert page.title() != "broken"


def test_every_tensor_of_the_ledger_can_be_looked_at(page):
    model = GPT2.from_pretrained("crane").eval()
    with trace(model) as t, torch.no_grad():
        model(torch.tensor([[1023]]))
    select = page.get_by_label("tensor")
    found = select.locator("option").evaluate_all("options => options.map((o) => o.value)")
    assert found == [name for name in t.names if name != "idx"]
    for path in found:
        select.select_option(path)
        page.locator(".tensor-map code", has_text=re.compile(f"^{re.escape(path)}$")).wait_for()


def test_arrow_keys_read_the_map(page):
    number = page.locator("gpt2-console output")
    assert "query 6 ␣crane" in number.inner_text()
    page.locator("gpt2-console .map").focus()
    page.keyboard.press("Home")
    assert "query 6 ␣crane, key 0 ⟨end⟩" in number.inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert "query 5 ␣the, key 1 In" in number.inner_text()
    page.get_by_text("as numbers").click()
    assert page.locator(".tensor-map th[scope=row]").last.inner_text() == "6 ␣crane"


def test_it_writes_on_appends_what_is_clicked_and_draws_the_same_for_a_seed(page):
    page.locator(".next button").first.click()
    page.locator(".strip b", has_text="␣ate").wait_for()
    text = page.locator("textarea")
    assert text.input_value() == "In the marsh, the crane ate"
    written = []
    for _ in range(2):
        text.fill("In the marsh, the crane ate")
        page.get_by_role("button", name="write on").click()
        page.locator("button:enabled", has_text="write on").wait_for(timeout=WAIT)
        ready(page, "tokens written")
        written.append(text.input_value())
    assert written[0] == written[1] != "In the marsh, the crane ate"
    assert written[0].startswith("In the marsh, the crane ate")


def test_what_the_reader_types_while_it_writes_is_kept(page):
    page.get_by_role("button", name="write on").click()
    page.get_by_role("button", name="In the city, the crane").click()
    ready(page, "7 tokens took")
    page.locator("button:enabled", has_text="write on").wait_for(timeout=WAIT)
    assert page.locator("textarea").input_value() == "In the city, the crane"


def cut(heads: list[int]) -> dict[str, float]:
    """What comes next without these heads of block 1, as Python has it."""

    def edit(values):
        values[:, heads] = 0
        return values

    return expected("In the marsh, the crane", {"transformer.h.1.attn.heads": edit})


def changed(page: Page, name: str, share: float) -> None:
    """Wait until the bar of this name shows this share."""
    row = page.locator(".next li", has=page.locator("b", has_text=name))
    row.locator("i", has_text=f"{share:.3f}").wait_for(timeout=WAIT)


def test_heads_and_parts_can_be_switched_off(page):
    before, one, two = bars(page), cut([0]), cut([0, 2])
    # What the chapter says of them.
    assert one["␣ate"] == pytest.approx(before["␣ate"], abs=0.01)
    assert (round(two["␣ate"], 2), round(two["␣lifted"], 2)) == (0.32, 0.12)
    heads = page.get_by_label("heads off")
    for text, python in (("1.0", one), ("1.0 1.2", two), ("", before)):
        heads.fill(text)
        changed(page, "␣ate", python["␣ate"])
        assert bars(page) == pytest.approx(python, abs=1e-3)
    heads.fill("1.9")
    ready(page, 'there is no head "1.9"')
    heads.fill("")
    changed(page, "␣ate", before["␣ate"])
    page.get_by_label("positions").uncheck()
    page.locator(".next i", has_text=f"{before['␣ate']:.3f}").wait_for(state="detached")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("a " * 200, "the model's window of 128: shorten the text"), ("", "1 token took")],
    ids=["too long", "empty"],
)
def test_texts_too_long_and_empty(page, text, sentence):
    page.locator("textarea").fill(text)
    ready(page, sentence)


def test_every_arithmetic_gives_the_same_bars(page):
    before = bars(page)
    for value, name in [
        ("plain", "plain JavaScript"),
        ("wasm-half", "float16 weights"),
        ("wasm-int8", "int8 weights"),
    ]:
        page.get_by_label("arithmetic").select_option(value)
        ready(page, f"runs in {name}" if value == "plain" else name)
        assert bars(page) == pytest.approx(before, abs=0.05 if value == "wasm-int8" else 5e-3)


def test_a_model_that_cannot_run_leaves_the_one_before(page, tmp_path):
    before = bars(page)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"<html>")
    page.locator(".bring summary").click()
    chosen = page.locator("gpt2-console input[type=file]:not([webkitdirectory])")
    chosen.set_input_files([tmp_path / "config.json", tmp_path / "model.safetensors"])
    ready(page, "config.json must give")
    page.get_by_role("button", name="In the city, the crane").click()
    page.locator(".next b", has_text="␣lifted").wait_for()
    page.get_by_role("button", name="In the marsh, the crane").click()
    page.locator(".next b", has_text="␣ate").wait_for()
    assert bars(page) == before


def test_a_model_of_the_readers_own_runs(page, tmp_path):
    model = GPT2.from_pretrained("crane")
    torch.nn.init.zeros_(model.wte.weight)  # all tokens alike
    model.save_pretrained(tmp_path / "mine")
    page.locator(".bring summary").click()
    page.locator("gpt2-console input[webkitdirectory]").set_input_files(tmp_path / "mine")
    ready(page, "mine runs in WebAssembly")
    assert set(bars(page).values()) == {0.001}


def test_the_hub_is_asked_only_after_the_click_and_what_it_sends_is_checked(
    browser, address, tmp_path
):
    context = browser.new_context()
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(status=200, body="<html>not here</html>", headers=headers)

    context.route(HUB, answer)
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    ready(page, "Crane World's model runs")
    page.locator(".bring summary").click()
    offer = "GPT-2 (124M) by OpenAI: 548 MB from https://huggingface.co/openai-community/gpt2"
    page.locator(".bring", has_text=offer).wait_for()
    button = page.get_by_role("button", name="fetch GPT-2")
    assert asked == []
    button.click()
    ready(page, "yourself")
    assert asked
    assert all("openai-community/gpt2/resolve/607a30d" in url for url in asked)
    page.get_by_role("button", name="In the city, the crane").click()
    page.locator(".next b", has_text="␣lifted").wait_for()
    context.close()


STORE = """async () => {
  const home = await navigator.storage.getDirectory();
  const all = await home.getDirectoryHandle("gpt2-edu", { create: true });
  const folder = await all.getDirectoryHandle("gpt2", { create: true });
  const { config, weights } = await gpt2.bundledModel("crane");
  for (const [name, content] of [["model.safetensors", weights], ["config.json", config]]) {
    const file = await folder.getFileHandle(name, { create: true });
    const to = await file.createWritable();
    await to.write(content);
    await to.close();
  }
}"""
STORED = """async () => {
  const home = await navigator.storage.getDirectory();
  const names = [];
  for await (const name of (await home.getDirectoryHandle("gpt2-edu")).keys()) names.push(name);
  return names;
}"""


def test_a_stored_model_runs_without_a_network_and_is_gone_after_delete(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    ready(page, "Crane World's model runs")
    page.evaluate(STORE)
    context.set_offline(True)
    page.locator(".bring summary").click()
    page.locator(".stored").get_by_role("button", name="use").click()
    ready(page, "gpt2 runs in WebAssembly")
    assert bars(page) == pytest.approx(expected("In the marsh, the crane"), abs=1e-3)
    assert page.evaluate(STORED) == ["gpt2"]
    page.locator(".stored").get_by_role("button", name="delete").click()
    ready(page, "gpt2 is deleted from this browser")
    assert page.evaluate(STORED) == []
    assert page.locator(".stored li").count() == 0
    context.close()


def test_without_javascript_the_numbers_stand_there(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{PAGE}")
    cells = page.locator("gpt2-console td").all_inner_texts()
    shown = dict(zip(cells[::2], map(float, cells[1::2]), strict=True))
    python = expected("In the marsh, the crane")
    assert shown == pytest.approx({name: python[name] for name in shown}, abs=1e-3)
    assert list(shown) == list(python)[: len(shown)]
    context.close()
