"""Every task's report in a real browser: the first screen holds the answer, nothing overflows, nothing complains."""

import itertools
import json

import pytest
from benchmarks.browser import PROGRAM, Browser

from multiway.tasks.registry import TASKS
from tasks.finished import finished

COLOURED = ("images", "segment", "text", "volumes")
"""Tasks whose first part has colours that are explained."""
SCREENS = {"desk": (1200, 800), "phone": (390, 844)}
WIDER = """[...document.querySelectorAll("body *")].filter(e => {
  if (e.closest(".scroll, svg, .film, .plot, .hrows, .hcols, .xs, .ys, .unseen")) return false;
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1;
}).map(e => e.tagName + "." + e.className)"""
ANSWER = """(() => {
  const part = document.querySelector("main > section[data-answer]"), place = e => e?.getBoundingClientRect();
  const next = [...part.querySelectorAll(".content > :not(p):not(h3)")].find(e => place(e).height > 0);
  return { lead: place(part.querySelector(".verdict"))?.bottom, first: place(next)?.top, words: part.innerText.length };
})()"""


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if PROGRAM is None:
        pytest.skip("no headless Chromium: apt-get install chromium-headless-shell")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("task", TASKS)
def test_the_first_screen_holds_the_answer(task, browser, tmp_path_factory, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    for name, (width, height) in SCREENS.items():
        assert browser.open(page, width, height) == [], name
        answer = browser.evaluate(ANSWER)
        assert 0 < answer["lead"] < height / 2, (name, answer)
        assert answer["first"] < 0.75 * height, (name, answer)
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, name
        assert browser.evaluate(WIDER) == [], name


@pytest.mark.parametrize("task", TASKS)
def test_a_phone_shows_heading_answer_and_colours_above_the_content_and_notes_below(
    task, browser, tmp_path_factory, tmp_path
):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    browser.open(page, *SCREENS["phone"])
    script = """(() => {
      const part = document.querySelector("main > section[data-answer]");
      const ends = query => [...part.querySelectorAll(query)].map(e => e.getBoundingClientRect())
        .filter(box => box.height > 0).map(box => [box.top, box.bottom]);
      return ["h2", ".verdict, .lead", ".colours", ".content > :not(.lead)", ".side > p:not(.colours)"].map(ends);
    })()"""
    heading, lead, colours, content, notes = browser.evaluate(script)
    assert heading and lead and content and notes and bool(colours) == (task in COLOURED)
    shown = [group for group in (heading, lead, colours, content, notes) if group]
    for above, below in itertools.pairwise(shown):
        assert max(bottom for _, bottom in above) <= min(top for top, _ in below) + 1


@pytest.mark.parametrize("task", ["segment"])
def test_outlines_lie_on_their_slice_at_every_width(task, browser, tmp_path_factory, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    script = """[...document.querySelectorAll(".layers")].map(e => {
      const [image, svg] = [e.querySelector("img"), e.querySelector("svg")], box = svg.viewBox.baseVal;
      const [place, drawn] = [image, svg].map(one => one.getBoundingClientRect());
      return [place.left - drawn.left, place.top - drawn.top, place.width - drawn.width, place.height - drawn.height,
              image.naturalWidth - box.width, image.naturalHeight - box.height];
    })"""
    for width, height in SCREENS.values():
        browser.open(page, width, height)
        apart = browser.evaluate(script)
        assert apart and all(abs(value) < 0.1 for each in apart for value in each), width


@pytest.mark.parametrize("task", ["images"])
def test_nothing_covers_a_misclassified_image(task, browser, tmp_path_factory, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    script = """[...document.querySelectorAll(".pair")].map(e => {
      const [image, spoke] = [...e.querySelectorAll(".layers")].map(one => one.getBoundingClientRect());
      const on = document.elementFromPoint(image.x + image.width / 2, image.y + image.height / 2);
      return [image.width - spoke.width, image.top - spoke.top, spoke.left < image.right,
              on === null || on === e.querySelector("img")];
    })"""
    for width, height in SCREENS.values():
        browser.open(page, width, height)
        shown = browser.evaluate(script)
        assert shown and all(abs(size) < 1 and abs(top) < 1 for size, top, *_ in shown), width
        assert not any(over for *_, over, _ in shown) and all(seen for *_, seen in shown), width


@pytest.mark.parametrize("task", ["volumes"])
def test_a_volume_is_seen_bare_and_under_what_is_pressed(task, browser, tmp_path_factory, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    browser.open(page, *SCREENS["desk"])
    script = """[...new Set([...document.querySelectorAll(".case:has(fieldset) .over")]
      .filter(e => getComputedStyle(e).display !== "none").map(e => e.className))].sort()"""
    assert browser.evaluate("document.querySelectorAll('.over').length") > 0
    assert browser.evaluate(script) == []
    browser.evaluate("document.querySelectorAll('input[value=gradients]').forEach(one => one.click())")
    assert browser.evaluate(script) == ["over gradients"]


@pytest.mark.parametrize("task", ["forecast"])
def test_the_figures_of_a_forecast_are_downloaded_and_searched(task, browser, tmp_path_factory, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    browser.open(page, *SCREENS["desk"])
    script = """(() => {
      let written = ""; URL.createObjectURL = blob => { written = blob; return "data:,"; };
      document.querySelector("[data-download]").click();
      return written.text();
    })()"""
    head, *rows = browser.evaluate(script).splitlines()
    assert head == 'unique_id,time,forecast,"low, 80 %","high, 80 %","low, 95 %","high, 95 %"'
    assert len(rows) == 3 * 4 and all(len(row.split(",")) == 7 for row in rows)
    name = rows[-1].split(",")[0]
    words = json.dumps(name)
    shown = f"""(() => {{
      const box = document.querySelector("[data-search]"); box.value = {words};
      box.dispatchEvent(new Event("input"));
      const shown = document.querySelectorAll("[data-group]:not([hidden]) [data-panel]:not([hidden])");
      return [...shown].map(e => e.innerText);
    }})()"""
    assert [text.splitlines()[0] for text in browser.evaluate(shown)] == [name]
