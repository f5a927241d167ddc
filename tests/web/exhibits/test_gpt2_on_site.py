"""GPT-2 in 4 bits from the pages' own site, as `make gpt2` puts it there.

Here it is the crane model, and where only its size is asked for, a manifest alone.
"""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from playwright.sync_api import Route

from gpt2_edu.hub import PUBLISHED
from gpt2_edu.web import ASSETS
from gpt2_site import make_gpt2, one_pass

CRANE = ASSETS / "crane"
TEXT = "In the city, the crane"
SETTINGS = one_pass.settings()
WAIT = 30_000  # milliseconds


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """The files of the site, in three parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_gpt2, "PART", 200_000)
        return dict(make_gpt2.files(CRANE, PUBLISHED["gpt2"]))


def test_the_manifest_says_what_the_parts_are(made):
    said = json.loads(made[make_gpt2.MANIFEST])
    parts = {name: content for name, content in made.items() if name.endswith(".bin")}
    assert {name: len(part) for name, part in parts.items()} == said["parts"]
    assert [*said["parts"].values()] == [200_000, 200_000, said["bytes"] - 400_000]
    weights = b"".join(parts.values())
    assert said["sha256"] == {"wasm-int4.safetensors": hashlib.sha256(weights).hexdigest()}
    assert said["config"] == (CRANE / "config.json").read_text()
    assert said["commit"] == PUBLISHED["gpt2"].commit and said["licence"].startswith("MIT")


def test_make_gpt2_writes_into_the_built_site(made, tmp_path, monkeypatch):
    place = tmp_path / "_static" / "files"
    place.mkdir(parents=True)
    monkeypatch.setattr(make_gpt2, "SITE", tmp_path)
    monkeypatch.setattr(make_gpt2, "fetch", {"gpt2": CRANE}.__getitem__)
    assert make_gpt2.main() == 0
    part, manifest = sorted(place.iterdir(), key=lambda path: path.suffix)
    assert part.read_bytes() == b"".join(c for name, c in made.items() if name.endswith(".bin"))
    assert json.loads(manifest.read_text())["parts"] == {part.name: part.stat().st_size}


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
def test_it_comes_from_the_site_and_gives_the_logits_of_the_whole(exhibit, made):
    shown = exhibit("heads", text=TEXT)
    spoilt = True

    def answer(route: Route) -> None:
        name = route.request.url.rsplit("/", 1)[-1]
        content = made[name]
        if spoilt and name.endswith("-1.bin"):
            content = content[:-1] + bytes([content[-1] ^ 1])
        route.fulfill(body=content)

    shown.page.route("**/files/gpt2_int4.json", answer)
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


@pytest.mark.browser
def test_the_picture_offers_it_with_its_size(exhibit, made):
    shown = exhibit("flow", **SETTINGS)
    field = shown.element.locator(".flow-field input")
    manifest = json.dumps(json.loads(made[make_gpt2.MANIFEST]) | {"bytes": 80_932_108})
    shown.page.route("**/files/gpt2_int4.json", lambda route: route.fulfill(body=manifest))
    field.fill("The capital of France is")
    shown.element.get_by_role("button", name="use GPT-2 (81 MB)").click(timeout=WAIT)
    question = shown.element.get_by_role("group", name="GPT-2", exact=True)
    assert ", in 4 bits: 81 MB from this site" in question.locator("span").inner_text(timeout=WAIT)
    question.get_by_role("button", name="no").click()
    shown = exhibit("flow", **SETTINGS, query={"run": "3"})
    shown.element.locator(".flow-field input").fill("As the spaceship was approaching the moon")
    shown.element.get_by_role("button", name="use all of GPT-2 (81 MB)").wait_for(timeout=WAIT)
