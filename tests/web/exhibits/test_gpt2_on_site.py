"""GPT-2 in 4 bits from the pages' own site, as `make gpt2` puts it there.

Here it is the crane model, and where only its size is asked for, a manifest alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from gpt2_edu.hub import PUBLISHED
from gpt2_edu.web import ASSETS
from gpt2_site import make_gpt2, one_pass
from tests.node import node

CRANE = ASSETS / "crane"
TEXT = "In the city, the crane"
SETTINGS = one_pass.settings()
WAIT = 30_000  # milliseconds


Made = tuple[dict[str, bytes], dict[str, Any]]


@pytest.fixture(scope="module")
def made() -> Made:
    """Three parts, and what a page is told of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_gpt2, "PART", 200_000)
        return make_gpt2.parts_and_manifest(CRANE, PUBLISHED["gpt2"])


def tell(page: Page, manifest: dict[str, Any]) -> None:
    """As the script says it to which `make gpt2` has added it."""
    page.evaluate("told => ((globalThis.gpt2Files ??= {}).gpt2_int4 = told)", manifest)


def test_the_manifest_says_what_the_parts_are(made):
    parts, said = made
    assert {name: len(part) for name, part in parts.items()} == said["parts"]
    assert [*said["parts"].values()] == [200_000, 200_000, said["bytes"] - 400_000]
    weights = b"".join(parts.values())
    assert said["sha256"] == {"wasm-int4.safetensors": hashlib.sha256(weights).hexdigest()}
    assert said["config"] == (CRANE / "config.json").read_text()
    assert said["commit"] == PUBLISHED["gpt2"].commit and said["licence"].startswith("MIT")


def test_make_gpt2_writes_into_the_built_site(made, tmp_path, monkeypatch):
    (tmp_path / "_static" / "files").mkdir(parents=True)
    script = tmp_path / "_static" / "base.js"
    script.write_text('globalThis.built = "é";\n', "utf-8")
    monkeypatch.setattr(make_gpt2, "SITE", tmp_path)
    monkeypatch.setattr(make_gpt2, "fetch", {"gpt2": CRANE}.__getitem__)
    assert make_gpt2.main() == make_gpt2.main() == 0  # a second time changes nothing
    (part,) = (tmp_path / "_static" / "files").iterdir()
    assert part.read_bytes() == b"".join(made[0].values())
    shows = "; console.log(JSON.stringify([built, gpt2Files.gpt2_int4]))"
    program = [node(), "--eval", script.read_text("utf-8") + shows]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == ["é", made[1] | {"parts": {part.name: part.stat().st_size}}]
    assert script.read_text("utf-8").count("gpt2_int4") == 1


# The logits that a whole model gives, rounded in the page, beside those of what was fetched.
BOTH = """async () => {
  const [{ startEngine, bundledModel }, { storedGpt2 }] = await Promise.all(
    ["page", "exhibits/published"].map((name) => import(`/web/${name}.mjs`)));
  const engine = startEngine();
  const small = await storedGpt2();
  const backend = small.rounded;
  await engine.load("small", { ...small, backend });
  await engine.load("whole", { ...(await bundledModel("crane")), backend });
  const ids = [1023, 5, 77, 300, 12];
  const runs = await Promise.all(["whole", "small"].map((name) => engine.run(name, { ids })));
  engine.port.terminate();
  return runs.map(({ logits }) => [...logits]);
}"""


@pytest.mark.browser
@pytest.mark.thorough
def test_it_comes_from_the_site_and_gives_the_logits_of_the_whole(exhibit, made):
    shown = exhibit("heads", text=TEXT)
    spoilt = True

    def answer(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[-1]
        content = made[0][name]
        if spoilt and name.endswith("-1.bin"):
            content = content[:-1] + bytes([content[-1] ^ 1])
        route.fulfill(body=content)

    tell(shown.page, made[1])
    shown.page.context.route(re.compile(r"/files/gpt2-\w{8}-\d\.bin$"), answer)
    shown.element.get_by_role("button", name="use GPT-2").click()
    question = shown.element.get_by_role("group", name="GPT-2", exact=True)
    said = question.locator("span").inner_text(timeout=WAIT)
    assert said.startswith("GPT-2 (124M) by OpenAI, in 4 bits: 1 MB from this site, kept in ")
    assert said.endswith("(chapter 21). Fetch it?")
    assert question.get_by_role("link").get_attribute("href") == "notebooks/21_bits.html"
    whole = question.get_by_role("button", name="fetch all 548 MB from huggingface.co")
    question.get_by_role("button", name="fetch it").click()
    question.get_by_text("(its SHA-256 differs); it was deleted: try again, or").wait_for()
    assert whole.evaluate("button => button === document.activeElement")

    spoilt = False
    question.get_by_role("button", name="fetch it").click()
    shown.element.locator(".status", has_text="GPT-2 answers now").wait_for(timeout=WAIT)
    expected, found = shown.page.evaluate(BOTH)
    assert found == expected and len(found) == 5 * 1024

    shown.page.context.unroute_all()
    shown.page.reload()
    shown.page.wait_for_selector("gpt2-heads[data-state=ready]", timeout=WAIT)
    assert shown.element.get_by_role("button", name="the book's model").is_visible()

    shown = exhibit("flow", text=TEXT, tensors="folded")
    shown.element.locator("summary", has_text="Model and arithmetic").click()
    panel = shown.element.locator(".engine", has_text="GPT-2 runs in WebAssembly, int4 weights; ")
    panel.get_by_text("gpt2-int4: 0.5 MB as int4 in this browser").wait_for(timeout=WAIT)
    possible = "all => all.filter((one) => !one.disabled).map((one) => one.value)"
    assert panel.locator("option").evaluate_all(possible) == ["auto", "wasm-int4"]
    panel.get_by_role("button", name="delete gpt2-int4").click()
    panel.locator("li").wait_for(state="detached")


@pytest.mark.thorough
@pytest.mark.browser
def test_the_picture_offers_it_with_its_size(still, made):
    shown = still("flow", **SETTINGS)
    field = shown.element.locator(".flow-field input")
    manifest = made[1] | {"bytes": 80_932_108}
    tell(shown.page, manifest)
    field.fill("The capital of France is")
    shown.element.get_by_role("button", name="use GPT-2 (81 MB)").click(timeout=WAIT)
    question = shown.element.get_by_role("group", name="GPT-2", exact=True)
    assert ", in 4 bits: 81 MB from this site" in question.locator("span").inner_text(timeout=WAIT)
    question.get_by_role("button", name="no").click()
    shown = still("flow", **SETTINGS, query={"run": "3"})
    tell(shown.page, manifest)
    shown.element.locator(".flow-field input").fill("As the spaceship was approaching the moon")
    shown.element.get_by_role("button", name="use all of GPT-2 (81 MB)").wait_for(timeout=WAIT)


@pytest.mark.thorough
@pytest.mark.browser
def test_a_site_without_it_is_not_asked_for_it(still):
    shown = still("flow", **SETTINGS)
    asked = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.element.locator(".flow-field input").fill("The capital of France is")
    shown.element.get_by_role("button", name="use GPT-2 (548 MB)").wait_for(timeout=WAIT)
    assert not [url for url in asked if "int4" in url]
