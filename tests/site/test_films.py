"""The films for slides: one of two pictures plays, and the table fits the site and its page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser

from benchmarks.chromium import served
from gpt2_site import make_films

pytestmark = pytest.mark.browser
PLAYED = """async (name) => {
  const src = URL.createObjectURL(await (await fetch(name)).blob()); // in which one can seek
  const video = Object.assign(document.createElement("video"), { muted: true, src });
  await new Promise((done, failed) => {
    video.oncanplaythrough = done;
    video.onerror = () => failed(new Error(video.error.message));
  });
  const shown = document.createElement("canvas").getContext("2d");
  const reds = [0];
  for (const time of [0.02, 0.06]) {
    await new Promise((done) => Object.assign(video, { currentTime: time, onseeked: done }));
    let red = reds.at(-1);
    for (let tries = 0; red === reds.at(-1) && tries < 300; tries++) { // it may be drawn later
      await new Promise(requestAnimationFrame);
      shown.drawImage(video, 0, 0, 300, 150);
      red = [...shown.getImageData(0, 0, 300, 150).data].reduce((sum, one) => sum + one, 0);
    }
    reds.push(red);
  }
  reds.shift();
  return [video.duration, video.videoWidth, video.videoHeight, ...reds];
}"""


@pytest.mark.thorough
def test_a_film_of_two_pictures_plays(browser: Browser, address: str, tmp_path):
    film = make_films.FILMED["to-scale"]._replace(acts=[(0.04, {"zoom": 1})])
    page, element = make_films.opened(browser, address, film)
    taken = make_films.pictures(page, element, film, 2)
    assert taken[0] != taken[1]
    make_films.encode(taken, tmp_path / "film.mp4")
    (tmp_path / "index.html").write_text("<!doctype html>", encoding="utf-8")
    assert make_films.strip(taken).size == (2560, 720)
    page.close()
    with served(tmp_path) as folder:
        page = browser.new_page()
        page.goto(folder)
        duration, *size, first, second = page.evaluate(PLAYED, "film.mp4")
        page.close()
    assert (duration, tuple(size)) == (2 / make_films.RATE, film.size)
    assert 0 < first != second > 0


def test_every_film_is_of_something_that_is_there_and_is_listed(site, soup):
    assert len(make_films.FILMED) == 12
    for film in make_films.FILMED.values():
        page, element = film.where.split()
        assert soup(page).find(id=element)
        assert 6 <= film.seconds <= 10
        for at, _, *within in film.acts:
            assert at + sum(within) < film.seconds
    page = (make_films.ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \|", page.split("## Films")[1], re.M)
    assert listed == list(make_films.FILMED)
