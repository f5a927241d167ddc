"""Published weights in the page: from a stand-in for the hub into the browser's storage."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch

from gpt2_edu import GPT2, GPT2Config
from gpt2_edu.hub import CONFIG, PUBLISHED, WEIGHTS
from tests.stand_in_hub import StandInHub
from tests.thorough import thorough

pytestmark = pytest.mark.browser

REPO, COMMIT = "someone/tiny", "0123456789abcdef0123456789abcdef01234567"
PIECE = 1 << 20  # bytes that the page writes at a time
IDS = [9, 8, 7, 6000]

ROOT = Path(__file__).resolve().parents[2]
SETUP = """
async () => {
  const { Engine } = await import("/web/client.mjs");
  const start = () => new Engine(new Worker("/web/worker.mjs", { type: "module" }));
  window.engine = start();
  window.store = start();
  window.storage = await import("/web/storage.mjs");
  const get = (name) => fetch(`/gpt2_edu/assets/crane/${name}`);
  const config = await (await get("config.json")).text();
  const weights = await (await get("model.safetensors")).blob();
  await engine.load("crane", { config, weights });
}
"""

BEGIN = """
({ published, pauses }) => {
  window.bytes = 0;
  window.outcome = null;
  window.running = store.download("tiny", (n) => (window.bytes = n), { published, pauses });
  running.answer.then(() => "done", (error) => error.message).then((said) => (outcome = said));
}
"""

LOGITS = """
async (ids) => {
  await engine.load("tiny", await storage.open("tiny"));
  return [...(await engine.run("tiny", { ids })).logits];
}
"""


class Reader:
    """Somebody in front of a page, with an engine that answers and one that downloads."""

    def __init__(self, context, address: str, entry: dict | None = None) -> None:
        self.context, self.address, self.entry = context, address, entry
        self.page = context.new_page()
        self.page.goto(f"{address}/web/config.mjs")
        self.page.evaluate(SETUP)

    def another_page(self) -> Reader:
        return Reader(self.context, self.address, self.entry)

    def begin(self, pauses=(1, 1)) -> None:
        """Click, with pauses of some milliseconds between tries."""
        self.page.evaluate(BEGIN, {"published": self.entry, "pauses": list(pauses)})

    def outcome(self) -> str:
        return self.page.wait_for_function("outcome").json_value()

    def download(self, **settings) -> str:
        self.begin(**settings)
        return self.outcome()

    def refused(self, *parts: str, said: str | None = None) -> None:
        """The download fails with a sentence, and another model still answers."""
        said = said or self.download()
        for part in parts:
            assert part in said
        self.check_crane()

    def check_crane(self) -> None:
        run = "engine.run('crane', { ids: [1, 2], lastOnly: true }).then((r) => r.logits.length)"
        assert self.page.evaluate(run) == 1024

    def stored(self) -> list[dict]:
        return self.page.evaluate("storage.list()")

    def wait_for(self, bytes_: int) -> None:
        self.page.wait_for_function("(n) => window.bytes >= n", arg=bytes_)

    def check_logits(self, model: GPT2) -> None:
        with torch.no_grad():
            expected, _ = model(torch.tensor([IDS]))
        got = torch.tensor(self.page.evaluate(LOGITS, IDS)).view(expected.shape)
        torch.testing.assert_close(got, expected, atol=5e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def model() -> GPT2:
    torch.manual_seed(5)
    config = GPT2Config(vocab_size=10007, block_size=13, n_layer=2, n_head=3, n_embd=63)
    return GPT2(config).eval()


@pytest.fixture(scope="module")
def checkpoint(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "saved"
    model.save_pretrained(path)
    return path


@pytest.fixture
def hub(checkpoint):
    with StandInHub() as hub:
        hub.publish(REPO, COMMIT, checkpoint)
        yield hub


@pytest.fixture
def entry(hub, checkpoint) -> dict:
    """What the page knows of the published model."""
    files = {name: (checkpoint / name).read_bytes() for name in (CONFIG, WEIGHTS)}
    return {
        "title": "A tiny GPT-2",
        "repo": REPO,
        "commit": COMMIT,
        "bytes": len(files[WEIGHTS]),
        "endpoint": hub.url,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }


@pytest.fixture(scope="module")
def only_reader(browser, address):
    context = browser.new_context()
    yield Reader(context, address)
    context.close()


@pytest.fixture
def reader(only_reader, entry) -> Reader:
    """The same one in all tests, with nothing stored."""
    only_reader.entry = entry
    only_reader.page.evaluate("storage.removeAll()")
    return only_reader


def unfinished(n: int) -> list[dict]:
    """What is stored when so many bytes of the only model have come."""
    return [{"name": "tiny", "bytes": n, "complete": False, "rounded": {}}]


def half(entry: dict) -> int:
    return entry["bytes"] // 2


def begin_and_break(reader: Reader, hub: StandInHub, **settings) -> None:
    """Begin a download that breaks off when the page has exactly half of the file."""
    hub.cut, hub.pause = 1, 60
    reader.begin(**settings)
    reader.wait_for(half(reader.entry))
    hub.go_on.set()


def ranges(hub: StandInHub) -> list[str | None]:
    """What the downloads asked for; each asks the hub and then the host that it is sent to."""
    asked = hub.asked("GET")
    assert asked[::2] == asked[1::2]
    return asked[::2]


def test_the_page_and_python_mean_the_same_files(reader):
    ours = reader.page.evaluate("import('/web/hub.mjs').then((hub) => hub.PUBLISHED)")
    assert list(ours) == ["gpt2"]
    for name, entry in ours.items():
        published = PUBLISHED[name]
        assert (entry["repo"], entry["commit"]) == (published.repo, published.commit)
        assert entry["sha256"] == published.sha256
    assert ours["gpt2"]["bytes"] == 548_105_171
    said = reader.page.evaluate("import('/web/hub.mjs').then((h) => h.describe(h.PUBLISHED.gpt2))")
    assert said == (
        "GPT-2 (124M) by OpenAI: 548 MB from https://huggingface.co/openai-community/gpt2, "
        "kept in this browser until you delete it"
    )


def test_downloaded_model_answers_as_in_python(reader, hub, entry, model):
    assert reader.stored() == hub.requests == [], "before the click nothing is requested"
    assert reader.download() == "done"
    assert reader.page.evaluate("bytes") == entry["bytes"]
    (stored,) = reader.stored()
    assert (stored["name"], stored["complete"]) == ("tiny", True)
    assert stored["bytes"] > entry["bytes"]
    reader.check_logits(model)
    assert ranges(hub) == [None]
    assert hub.asked("GET", CONFIG) == [None]


@pytest.mark.thorough
def test_later_it_loads_without_the_hub(reader, hub, model):
    assert reader.download() == "done"
    hub.requests.clear()
    later = reader.another_page()
    reader.context.set_offline(True)
    later.check_logits(model)
    assert later.download() == "done", "what is there needs no request"
    assert hub.requests == []
    reader.context.set_offline(False)
    later.page.close()


def test_a_connection_that_breaks_off_is_taken_up_where_it_was(reader, hub, entry, model):
    begin_and_break(reader, hub)
    assert reader.outcome() == "done"
    assert ranges(hub) == [None, f"bytes={half(entry)}-"]
    reader.check_logits(model)


@pytest.mark.thorough
def test_without_patience_the_next_click_goes_on(reader, hub, entry, model):
    begin_and_break(reader, hub, pauses=[])
    reader.refused("broke off in model.safetensors", said=reader.outcome())
    assert reader.stored() == unfinished(half(entry))
    assert "is not stored" in reader.page.evaluate("storage.open('tiny').catch((e) => e.message)")
    assert reader.download() == "done"
    assert ranges(hub) == [None, f"bytes={half(entry)}-"]
    reader.check_logits(model)


@pytest.mark.thorough
def test_a_page_that_is_closed_half_way_leaves_what_it_has_written(reader, hub, entry, model):
    closed = reader.another_page()
    hub.pause = 60
    closed.begin()
    closed.wait_for(half(entry))
    closed.page.close()
    hub.go_on.set()
    assert reader.stored() == unfinished(PIECE)
    for _ in range(100):  # the browser lets go of a closed page's file a little later
        if "by another page" not in (outcome := reader.download()):
            break
        reader.page.wait_for_timeout(50)
    assert outcome == "done"
    assert ranges(hub) == [None, f"bytes={PIECE}-"]
    reader.check_logits(model)


def test_cancelling_keeps_what_has_come(reader, hub, entry, model):
    hub.pause = 60
    reader.begin()
    reader.wait_for(half(entry))
    reader.check_crane()  # the engine is not kept waiting
    reader.page.evaluate("running.cancel()")
    assert reader.outcome() == "cancelled"
    assert reader.stored() == unfinished(half(entry))
    hub.go_on.set()
    assert reader.download() == "done"
    assert ranges(hub) == [None, f"bytes={half(entry)}-"]
    reader.check_logits(model)


@pytest.mark.thorough
def test_a_pause_between_tries_can_be_cancelled(reader, hub):
    hub.failures = 1
    reader.begin(pauses=[600_000])
    while not hub.requests:
        reader.page.wait_for_timeout(10)
    reader.page.evaluate("running.cancel()")
    assert reader.outcome() == "cancelled"


def test_errors_of_the_server_are_waited_out(reader, hub, model):
    hub.failures = 2
    assert reader.download() == "done"
    reader.check_logits(model)


@pytest.mark.thorough
def test_only_one_page_downloads_a_model(reader, hub, entry, model):
    hub.pause = 60
    reader.begin()
    reader.wait_for(half(entry))
    other = reader.another_page()
    other.refused("is being downloaded by another page")
    removed = other.page.evaluate("storage.removeAll().catch((error) => error.message)")
    assert "is being downloaded by another page" in removed
    hub.go_on.set()
    assert reader.outcome() == "done"
    other.check_logits(model)
    other.page.close()


# ---- A hub that refuses, or sends something else -------------------------------------------------


def change(hub: StandInHub, reader: Reader, how: str) -> None:
    """Make the hub, or the way to it, fail in one way."""
    weights, config = (f"/{REPO}/resolve/{COMMIT}/{name}" for name in (WEIGHTS, CONFIG))
    if how == "a wrong byte":
        hub.spoil = 1
    elif how == "another config":
        hub.files[config] = (b"{}", COMMIT)
    elif how == "a page to sign in":
        hub.signed_in = False
    elif how == "no weights":
        del hub.files[weights]
    elif how == "too many requests":
        hub.failures, hub.status = 3, 429
    elif how == "no server":
        hub.server.shutdown()
        hub.server.server_close()
    elif how == "offline":
        reader.context.set_offline(True)
    elif how == "other sites only":
        hub.cors = "https://elsewhere.example"


UNREACHED = "could not be reached from this page: check the connection"


@pytest.mark.parametrize(
    ("how", "said", "asked"),
    [
        ("a wrong byte", "SHA-256 differs", 1),
        thorough("another config", "SHA-256 differs", 0),
        ("a page to sign in", "sent a web page in place of config.json", 0),
        thorough("no weights", "answered HTTP 404 for model.safetensors", 1),
        ("too many requests", "answered HTTP 429 for config.json: try again later", 0),
        ("no server", UNREACHED, 0),
        thorough("offline", UNREACHED, 0),
        thorough("other sites only", UNREACHED, 0),
    ],
)
def test_failure_is_told_and_leaves_nothing(reader, hub, how, said, asked):
    change(hub, reader, how)
    reader.refused(said, f"tree/{COMMIT} and drop them here")
    reader.context.set_offline(False)
    assert reader.stored() == []
    assert len(hub.asked("GET")) in (asked, 2 * asked), "weights, by the hub and its other host"


@pytest.mark.thorough
def test_what_is_stored_is_hashed_again(reader, hub, entry):
    begin_and_break(reader, hub, pauses=[])
    reader.outcome()
    spoil = """
    async () => {
      const root = await navigator.storage.getDirectory();
      const folder = await (await root.getDirectoryHandle("gpt2-edu")).getDirectoryHandle("tiny");
      const file = await folder.getFileHandle("model.safetensors");
      const stream = await file.createWritable({ keepExistingData: true });
      await stream.write({ type: "write", position: 1000, data: "x" });
      await stream.close();
    }
    """
    reader.page.evaluate(spoil)
    reader.refused("SHA-256 differs")
    assert ranges(hub) == [None, f"bytes={half(entry)}-"]
    assert reader.stored() == []


@pytest.mark.thorough
def test_a_page_to_sign_in_spoils_no_file(reader, hub, entry):
    begin_and_break(reader, hub, pauses=[])
    reader.outcome()
    hub.signed_in = False
    reader.refused("sent a web page")
    assert reader.stored()[0]["bytes"] == half(entry)


@pytest.mark.thorough
def test_a_hub_that_ignores_range_sends_what_is_there_already(reader, hub, entry, model):
    hub.whole = True
    begin_and_break(reader, hub)
    assert reader.outcome() == "done"
    assert ranges(hub) == [None, f"bytes={half(entry)}-"]
    reader.check_logits(model)


def test_a_file_that_is_too_short_is_never_complete(reader, hub, entry):
    hub.missing_bytes = 7
    short = entry["bytes"] - 7
    said = f"sent only {short} of {entry['bytes']} bytes"
    reader.refused(said, said=reader.download(pauses=[]))
    reader.refused("answered HTTP 416 for model.safetensors")
    assert reader.stored() == unfinished(short)


@pytest.mark.thorough
def test_of_a_file_that_is_too_long_the_rest_is_left_out(reader, hub, model):
    path = f"/{REPO}/resolve/{COMMIT}/{WEIGHTS}"
    hub.files[path] = (hub.files[path][0] + b"more" * 10, COMMIT)
    assert reader.download() == "done"
    reader.check_logits(model)


# ---- Storage -----------------------------------------------------------------------------------


def test_full_storage_keeps_what_fits(reader, hub, entry, model):
    devtools = reader.context.new_cdp_session(reader.page)
    room = {"origin": reader.address, "quotaSize": PIECE + PIECE // 4}
    devtools.send("Storage.overrideQuotaForOrigin", room)
    reader.refused("the browser's storage is full")
    (stored,) = reader.stored()
    assert PIECE <= stored["bytes"] < 2 * PIECE
    assert not stored["complete"]
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": reader.address})
    assert reader.download() == "done"
    reader.check_logits(model)


def test_deleting_leaves_nothing(reader, hub):
    assert reader.download() == "done"
    reader.page.evaluate("storage.remove('tiny')")
    assert reader.stored() == []
    missing = reader.page.evaluate("storage.remove('tiny').catch((error) => error.message)")
    assert "is not stored" in missing
    begin_and_break(reader, hub, pauses=[])
    reader.outcome()
    reader.page.evaluate("storage.removeAll()")
    assert reader.stored() == []


@pytest.mark.thorough
def test_a_model_that_is_deleted_before_it_is_read_says_so(reader, hub):
    assert reader.download() == "done"
    opened = "storage.open('tiny').then(async (files) => { await storage.remove('tiny');"
    load = "return engine.load('tiny', files).catch((error) => error.message); })"
    reader.refused("is not there any more", said=reader.page.evaluate(opened + load))


@pytest.mark.thorough
def test_a_page_from_the_disk_says_that_it_has_no_storage(browser, tmp_path):
    source = (ROOT / "web" / "storage.mjs").read_text()
    say = "list().catch(({ message }) => (document.title = message));"
    page = tmp_path / "page.html"
    page.write_text(f'<script type="module">{source}{say}</script>')
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_function("document.title")
    assert "this page cannot store files" in tab.title()
    tab.close()
