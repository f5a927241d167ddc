"""A notebook in JupyterLab: its exhibits answer, its labs run Python, and it is saved small."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Locator, Page, TimeoutError

import gpt2_edu

pytestmark = pytest.mark.browser
SETUP = "from gpt2_edu import exhibits\nexhibits.setup()"
EXHIBIT = (
    "exhibits.Live('mlp', printed=exhibits.Matrix([[1.0]], caption='printed'), first='Try.',\n"
    "    text='In the marsh, the crane', at=3, block='1', chips=[])"
)
PICTURE = (
    "exhibits.Live('flow', printed=exhibits.Matrix([[1.0]]), first='Try.',\n"
    "    text='In the marsh, the crane', giver='In the marsh, the crane', tensors='open')"
)
LAB = (
    "from gpt2_edu import GPT2, labs, load_tokenizer\n"
    "labs.Sampling(GPT2.from_pretrained('crane'), load_tokenizer('crane'),\n"
    "    printed=exhibits.Matrix([[1.0]]), first='Try.')"
)
WAIT = 180_000  # milliseconds, on a busy machine
RUN_ALL = f"""async () => {{
  const notebook = jupyterapp.shell.currentWidget;
  await notebook.context.ready;
  await notebook.sessionContext.ready;
  await notebook.sessionContext.session.kernel.info;
  const late = new Promise((done, fail) => setTimeout(() => fail("it still runs"), {WAIT}));
  return Promise.race([jupyterapp.commands.execute("notebook:run-all-cells"), late]);
}}"""


def settings(folder: Path) -> None:
    """No news, no look for updates; the dark theme."""
    folder /= "@jupyterlab/apputils-extension"
    folder.mkdir(parents=True)
    quiet = {"checkForUpdates": False, "fetchNews": "false", "doNotDisturbMode": True}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    (folder / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')


@pytest.fixture
def lab(tmp_path) -> Iterator[tuple[str, Path]]:
    """A JupyterLab's address, and its folder with ``some.ipynb``. Nothing of the user's is read."""
    home, folder = tmp_path, tmp_path / "notebooks"
    folder.mkdir()
    far = "\n\n".join(["out of view"] * 90)
    cells = [new_code_cell(SETUP), new_markdown_cell(far), new_code_cell(EXHIBIT)]
    cells += [new_markdown_cell(far), new_code_cell(PICTURE)]
    cells += [new_markdown_cell(far), new_code_cell(LAB)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), folder / "some.ipynb")
    own = {
        f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = os.environ | own | {"IPYTHONDIR": str(home / "ipython")}
    environment |= {"PYTHONPATH": str(Path(gpt2_edu.__file__).parents[1])}
    environment.pop("GPT2_EDU_BOOK", None)
    settings(home / "config" / "lab" / "user-settings")
    log = home / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *("--expose-app-in-browser", "--port=0", "--IdentityProvider.token="),
                f"--notebook-dir={folder}",
            ],
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        yield started(home / "runtime", log), folder
    finally:
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def started(runtime: Path, log: Path) -> str:
    """The address of a server, once it answers."""
    end = time.monotonic() + WAIT / 1000
    while time.monotonic() < end:
        for found in runtime.glob("jpserver-*.json"):
            try:
                address = json.loads(found.read_text())["url"].rstrip("/")
                urllib.request.urlopen(f"{address}/api").close()
            except (OSError, json.JSONDecodeError):  # not up yet, or its file half written
                continue
            return address
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.mark.thorough
def test_exhibits_answer_and_labs_run_python(lab, browser):
    address, folder = lab
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/lab/tree/some.ipynb")
    page.wait_for_function("globalThis.jupyterapp?.shell.currentWidget?.content?.model?.cells")
    assert page.evaluate(RUN_ALL), "a cell raised an error"

    prompt = page.get_by_label("prompt")
    prompt.fill("By the river, the crane ate")
    prompt.press("Enter")
    written = page.locator(".widget-html-content p", has_text="By the river, the crane ate")
    written.nth(2).wait_for()  # three texts of this prompt

    live = page.locator("gpt2-mlp")
    look_for(page, live, cell=2)
    page.locator("gpt2-mlp[data-state=ready]").wait_for()
    sentence = live.locator(".sentence").inner_text()
    live.get_by_role("textbox").first.fill("In the city, the crane")
    page.wait_for_function(
        "before => document.querySelector('gpt2-mlp .sentence').innerText !== before", arg=sentence
    )
    seen = live.evaluate("e => [getComputedStyle(e).color, getComputedStyle(document.body).color]")
    ink, theme = (re.findall(r"\d+", colour)[:3] for colour in seen)
    assert ink == theme

    picture = page.locator("gpt2-flow")
    look_for(page, picture, cell=4)
    page.locator("gpt2-flow[data-state=ready]").wait_for()
    assert picture.locator(".next.machine").count() == 5  # of the text that was typed above
    ground = picture.evaluate("e => getComputedStyle(e.querySelector('.room')).fill")
    assert max(map(int, re.findall(r"\d+", ground)[:3])) < 64  # dark, as the lab is
    picture.get_by_role("button", name="␣crane after attention of block 1").click()
    picture.locator(".next.bird").nth(4).wait_for()
    picture.get_by_role("slider", name="how far the pass has come").fill("5")
    picture.get_by_text("B, H, T, D = (1, 4, 7, 32)").wait_for()

    page.evaluate("async () => { await jupyterapp.commands.execute('docmanager:save'); }")
    saved = (folder / "some.ipynb").read_text()
    assert "mlp" in saved and "gpt2Files" not in saved and len(saved) < 60_000
    assert errors == []

    page.goto(f"{address}/lab/tree/some.ipynb")
    page.wait_for_function("globalThis.jupyterapp?.shell.currentWidget?.content?.model?.cells")
    look_for(page, live, cell=2)
    assert live.get_by_text("printed").is_visible()
    page.close()


def look_for(page: Page, element: Locator, cell: int) -> None:
    """Scroll a notebook, which draws what is in view alone, to a cell with such an element."""
    end = time.monotonic() + WAIT / 1000
    while time.monotonic() < end:  # it may still be drawing, and scroll elsewhere
        page.evaluate("i => void jupyterapp.shell.currentWidget.content.scrollToItem(i)", cell)
        with contextlib.suppress(TimeoutError):
            element.wait_for(state="attached", timeout=1000)
            element.scroll_into_view_if_needed()
            return
    raise AssertionError("it is not in that cell")
