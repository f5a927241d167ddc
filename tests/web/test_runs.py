"""Training runs in a page: what happens to them when the page, its workers or its storage fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from benchmarks.chromium import served
from gpt2_edu.web import files_script
from gpt2_site.theme import POLICY
from tests.site.waiting import until
from tests.web.conftest import ROOT

pytestmark = pytest.mark.browser
WAIT = 30_000  # milliseconds, for what takes long only on a busy machine
SCRIPT = ROOT / "gpt2_edu" / "exhibits" / "static" / "runs.js"
PLAN = {
    "version": 1,
    "name": "a small model",
    "seed": 5,
    "model": {"nLayer": 1, "nHead": 2, "nEmbd": 32, "T": 40},
    "batch": 4,
    "std": 0.1,
    "settings": {
        "steps": 100_000,
        "lr": 0.005,
        "minLr": 0.0001,
        "warmupSteps": 10,
        "weightDecay": 0.01,
        "beta1": 0.9,
        "beta2": 0.98,
        "gradClip": 1,
    },
    "switches": {},
    "workers": 1,
    "data": {"kind": "crane"},
}
# The policy of the site's pages, in which only their own default policy may make scripts.
PAGE = f"""<!doctype html><meta charset="utf-8"><title>Runs</title>
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<script src="runs.js"></script><script src="grammar.js"></script><script src="page.js"></script>
"""
OWN = """
trustedTypes.createPolicy("default", { createScriptURL: (url) => url });
globalThis.heard = { said: [], state: [], report: [], mark: [], look: [], diverged: [], done: [] };
globalThis.begin = async (plan, slot, saved) => {
  const on = Object.fromEntries(
    Object.entries(heard).map(([name, all]) => [name, (what) => all.push(what)]),
  );
  const grammar = gpt2Files.crane_grammar;
  globalThis.run = await gpt2Runs.start(plan, slot, on, { saved, grammar });
};
// A sum of the bits of numbers, each by its place.
globalThis.checksum = ({ buffer, length }) =>
  new Uint32Array(buffer, 0, length).reduce((sum, n, i) => (sum + n * (1 + (i % 1000))) % 2 ** 40);
"""
FILES = {
    "page.html": PAGE,
    "page.js": OWN,
    "grammar.js": files_script("crane_grammar"),
    "runs.js": SCRIPT.read_text(encoding="utf-8"),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(ROOT, {f"/{name}": text for name, text in FILES.items()}) as address:
        yield f"{address}/page.html"


@pytest.fixture
def context(browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def show(context: BrowserContext, address: str) -> Callable[..., Page]:
    def show(at: str = address) -> Page:
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(at)
        return page

    return show


def begin(page: Page, slot: int | None = 0, workers: int = 1, **settings: Any) -> None:
    plan = PLAN | {"workers": workers, "settings": PLAN["settings"] | settings}
    page.evaluate("([plan, slot]) => begin(plan, slot)", [plan, slot])


def go_on(page: Page) -> int:
    """Continue the stored run; the step from which it does."""
    return page.evaluate(
        "gpt2Runs.stored(0).then((saved) => begin(saved.plan, 0, saved).then(() => saved.step))"
    )


def train(page: Page, step: int = 1) -> None:
    """Go, until some step has been reported."""
    page.evaluate("run.go()")
    until(page, f"heard.report.at(-1)?.step >= {step}")


def finish(page: Page) -> int:
    """The checksum of the weights at the end."""
    page.evaluate("run.go()")
    until(page, "heard.done.length")
    return page.evaluate("run.weights().then(({ weights }) => checksum(weights))")


def steps(page: Page) -> int:
    """The step that is stored."""
    return page.evaluate("gpt2Runs.stored(0).then((saved) => saved.step)")


def see(page: Page, hidden: bool) -> None:
    page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


# Go, and save at the first report only, also where the run ends before the page does.
SAVE = """async () => {
  const past = async (step) => {
    while (!(heard.report.at(-1)?.step > step)) await new Promise((done) => setTimeout(done));
  };
  await run.go();
  await past(0);
  const { step } = await run.save();
  run.save = async () => {};
  await past(step);
  return step;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2])
def test_after_a_reload_a_run_has_the_bits_of_one_that_was_left_alone(show, workers):
    page = show()
    begin(page, slot=None, workers=workers, steps=200)
    expected = finish(page)
    page.reload()
    begin(page, workers=workers, steps=200)
    saved = page.evaluate(SAVE)
    page.reload()
    assert go_on(page) == saved < 200
    assert finish(page) == expected


@pytest.mark.thorough
def test_what_is_heard_of_a_run(show):
    page = show()
    begin(page)
    assert page.evaluate("run.opened.vocabSize") == 1024
    train(page)
    until(page, "heard.mark.length && heard.look.length")
    mark, look = page.evaluate("[heard.mark[0], heard.look[0].layers]")
    assert 0 <= mark["read"] <= 1 and mark["held"] > 0
    assert [layer["name"] for layer in look] == ["wte", "wpe", "h.0", "ln_f"]
    assert page.evaluate("run.judge20()")["of"] == 20
    assert page.evaluate("run.write('In the marsh,', 1)")["text"].startswith("In the marsh,")
    page.evaluate("run.stop()")
    assert page.evaluate("heard.state") == ["running", "paused", "stopped"]
    assert page.evaluate("run.weights().then(({ step }) => step)") == steps(page)
    assert page.evaluate("run.judge20().catch(({ message }) => message)").startswith("this run has")


@pytest.mark.thorough
def test_a_hidden_page_pauses_and_stores_and_continues_when_it_is_seen(show):
    page = show()
    begin(page)
    train(page)
    see(page, hidden=True)
    until(page, "run.status === 'paused' && run.storedStep > 0")
    at = steps(page)
    page.wait_for_timeout(300)
    assert page.evaluate("run.save().then(({ step }) => step)") == at
    see(page, hidden=False)
    until(page, f"heard.report.at(-1).step > {at}")
    page.evaluate("run.pause()")
    see(page, hidden=True)
    see(page, hidden=False)
    page.wait_for_timeout(100)
    assert page.evaluate("run.status") == "paused", "a reader's own pause is no page's"


@pytest.mark.thorough
def test_a_page_that_the_browser_freezes_trains_on_afterwards(show):
    page = show()
    begin(page)
    train(page)
    client = page.context.new_cdp_session(page)
    client.send("Page.setWebLifecycleState", {"state": "frozen"})
    page.wait_for_timeout(1000)
    client.send("Page.setWebLifecycleState", {"state": "active"})
    at = page.evaluate("heard.report.at(-1).step")
    until(page, f"heard.report.at(-1).step > {at}")
    assert page.evaluate("heard.said") == []


def test_a_computer_that_slept_is_told_of(show, context):
    context.clock.install()
    page = show()
    begin(page)
    train(page)
    context.clock.fast_forward(120_000)
    until(page, "heard.said.length")
    assert page.evaluate("heard.said[0]").startswith("The computer slept for 2 minutes")


@pytest.mark.thorough
def test_a_run_belongs_to_one_tab(show):
    one, two = show(), show()
    begin(one)
    refused = "([plan, slot]) => begin(plan, slot).catch(({ message }) => message)"
    assert "in another tab" in two.evaluate(refused, [PLAN, 0])
    begin(two, slot=1)
    two.evaluate("run.stop()")
    one.close()
    begin(two)
    train(two)


@pytest.mark.thorough
def test_two_runs_of_a_page_are_stored_apart(show):
    page = show()
    begin(page, slot=0)
    train(page)
    page.evaluate("globalThis.other = run")
    begin(page, slot=1, lr=0.001)
    page.evaluate("heard.report.length = 0")
    train(page)
    page.evaluate("Promise.all([run.stop(), other.stop()])")
    rates = (
        "Promise.all([0, 1].map((slot) => gpt2Runs.stored(slot).then((s) => s.state.settings.lr)))"
    )
    assert page.evaluate(rates) == [0.005, 0.001]


@pytest.mark.thorough
@pytest.mark.parametrize(("workers", "dying"), [(1, 0), (2, 0), (2, 1)])
def test_a_worker_that_dies_is_replaced_once_until_the_next_save(show, workers, dying):
    page = show()
    begin(page, workers=workers)
    train(page)
    saved = page.evaluate("run.save().then(({ step }) => step)")
    page.workers[dying].evaluate("void setTimeout(() => { throw new Error('a defect'); })")
    until(page, "heard.said.length")
    said = page.evaluate("heard.said[0]")
    assert "a defect" in said and f"from step {saved}" in said
    until(page, f"heard.report.at(-1).step > {saved}")
    page.workers[dying].evaluate("void setTimeout(() => { throw new Error('a defect'); })")
    until(page, "run.status === 'failed'")
    assert page.evaluate("run.workers.ended")


@pytest.mark.thorough
def test_a_worker_that_does_not_answer_is_replaced(show, context):
    context.clock.install()
    page = show()
    begin(page)
    train(page)
    page.workers[0].evaluate("void setTimeout(() => { for (;;); })")
    context.clock.run_for(61_000)
    until(page, "heard.said.length")
    assert "does not answer" in page.evaluate("heard.said[0]")
    page.evaluate("heard.report.length = 0")
    until(page, "heard.report.length")


@pytest.mark.thorough
def test_a_worker_that_does_not_answer_can_be_stopped(show):
    page = show()
    begin(page)
    train(page)
    page.workers[0].evaluate("void setTimeout(() => { for (;;); })")
    page.evaluate("run.stop()")
    assert page.evaluate("run.status") == "stopped"
    begin(page)  # the slot is free


def test_without_storage_it_trains_and_says_so(show):
    page = show()
    assert page.evaluate("gpt2Runs.available()") == ""
    for call in ("IDBObjectStore.prototype.put", "IDBFactory.prototype.open"):
        page.evaluate(f"void ({call} = () => {{ throw new Error('denied'); }})")
        assert "does not store" in page.evaluate("gpt2Runs.available()")
    begin(page)
    train(page)
    page.evaluate("run.pause().then(() => run.save())")
    assert len(page.evaluate("heard.said")) == 1
    assert "if you close the page, the model is gone" in page.evaluate("heard.said[0]")
    assert page.evaluate("gpt2Runs.stored(0)") is None


def test_with_a_full_storage_the_older_state_stays(show):
    page = show()
    client = page.context.new_cdp_session(page)
    room = {"origin": page.evaluate("location.origin")}
    client.send("Storage.overrideQuotaForOrigin", room | {"quotaSize": 2_000_000})  # bytes
    begin(page)
    train(page)
    first = page.evaluate("run.save().then(({ step }) => step)")
    assert page.evaluate("heard.said") == []
    client.send("Storage.overrideQuotaForOrigin", room | {"quotaSize": 700_000})  # one state
    # Chromium asks for the room anew only when it has spent what it was told last.
    until(page, "run.save().then(() => heard.said.length)")
    saved = steps(page)
    assert saved >= first
    assert f"would return to step {saved:,}." in page.evaluate("heard.said[0]")
    client.send("Storage.overrideQuotaForOrigin", room)
    page.evaluate("run.pause()")
    assert steps(page) > saved


def test_a_run_of_another_version_stays_stored_and_is_refused(show):
    page = show()
    begin(page)
    train(page)
    page.evaluate("run.stop()")
    page.evaluate(
        """async () => {
          const opening = indexedDB.open("gpt2-edu-runs");
          await new Promise((done) => (opening.onsuccess = done));
          const store = opening.result.transaction("runs", "readwrite").objectStore("runs");
          store.put({ version: 2 }, 0);
          await new Promise((done) => (store.transaction.oncomplete = done));
          opening.result.close();
        }"""
    )
    other = "gpt2Runs.stored(0).catch(({ message }) => message)"
    assert "another version" in page.evaluate(other)
    assert "another version" in page.evaluate(other)
    page.evaluate("gpt2Runs.drop(0)")
    assert page.evaluate(other) is None


@pytest.mark.thorough
def test_a_run_that_diverges_is_not_stored_and_returns(show):
    page = show()
    begin(page)
    train(page, 60)
    page.evaluate("run.set({ lr: 30 })")
    until(page, "heard.diverged.length")
    event = page.evaluate("heard.diverged[0]")
    assert "with a learning rate of 30" in event["says"]
    page.evaluate("run.stop()")
    assert steps(page) == event["good"]
    page.reload()
    go_on(page)
    train(page, event["good"] + 1)


@pytest.mark.thorough
def test_after_going_back_the_history_ends_there(show):
    page = show()
    begin(page)
    train(page, 30)
    saved = page.evaluate("run.save().then(({ step }) => step)")
    until(page, f"heard.report.at(-1).step > {saved + 30}")
    page.evaluate("run.save()")
    page.evaluate("run.set({ lr: 30 })")
    until(page, "heard.diverged.length")
    good = page.evaluate("heard.diverged[0].good")
    assert saved <= good < page.evaluate("run.history.reports.at(-1).step")
    back = page.evaluate("run.back()")
    assert (back["step"], back["settings"]["lr"]) == (good, PLAN["settings"]["lr"])
    assert page.evaluate("run.history.reports.at(-1).step") <= good
    train(page, good + 1)


def test_a_plan_that_cannot_be_run_is_refused_before_anything_starts(show):
    page = show()
    plan = PLAN | {"model": {"nLayer": 48, "nHead": 25, "nEmbd": 1600, "T": 1024}}
    said = page.evaluate("(plan) => begin(plan, 0).catch(({ message }) => message)", plan)
    assert said.startswith("This model has 1,4") and "choose fewer blocks" in said
    assert page.workers == []
    begin(page)


def test_a_page_from_a_disk_trains(show, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    page = show((tmp_path / "page.html").as_uri())
    begin(page, workers=2)
    train(page)
    page.evaluate("run.pause()")
    stored = page.evaluate("gpt2Runs.stored(0)") is not None
    assert stored == (page.evaluate("gpt2Runs.available()") == "")
    assert stored == (page.evaluate("heard.said") == [])
