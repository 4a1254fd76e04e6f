"""Every task's report in a real browser: the first screen holds the answer, nothing overflows, nothing complains."""

import itertools
import json

import pandas as pd
import pytest
from docs.build.gallery import write_report

from multiway.report import Page, PagePart, render
from multiway.report.forecasts import groups
from multiway.report.sections import Panels
from multiway.tasks.forecasting.headline import forecast_values
from report.filled import COLOURS, every_page, make_panels
from tasks.finished import finished
from tasks.tiny import TASKS

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


@pytest.mark.parametrize("name", [" ".join(f"word{place}" for place in range(60)), "column_name" * 20])
def test_long_names_wrap(name, browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(render(every_page(name)))
    for width, height in SCREENS.values():
        assert browser.open(page, width, height) == []
        browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate(WIDER) == []


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


TOPS = """Object.fromEntries(["nav", "[data-copy]", "[data-download]", "[data-search]", "[data-panel]"].map(
  one => [one, document.querySelector(one)?.getBoundingClientRect().top]))"""


def test_figures_and_other_parts_are_reached_from_the_first_screen_of_a_forecast(browser, tmp_path):
    page = tmp_path / "report.html"
    write_report("forecast", tmp_path, page)
    assert "--data store_sales.csv" in page.read_text() and str(tmp_path) not in page.read_text()
    assert_reached(browser, page)


def assert_reached(browser, page):
    """Navigation, search and buttons stand above the charts, whose first begins on the first screen."""
    for name, (width, height) in SCREENS.items():
        assert browser.open(page, width, height) == [], name
        tops = browser.evaluate(TOPS)
        charts = tops.pop("[data-panel]")
        assert 0 <= min(tops.values()) and max(tops.values()) < charts < 0.75 * height, (name, tops, charts)


def test_of_300_series_those_drawn_small_are_folded_until_a_search_finds_them(browser, tmp_path):
    names = [f"store {index:03d}" for index in range(300)]
    times, page = pd.date_range("2024-01-01", periods=70, freq="D"), tmp_path / "report.html"
    panels = [panel for panel in make_panels(names, times[:56], times[56:]) if panel.group == "Future"]
    content = [Panels(groups=groups(panels, COLOURS), values=forecast_values(panels, "stores.csv"))]
    part = PagePart(id="forecasts", title="Forecast", lead="Off by 9 a day.", content=content)
    page.write_text(render(Page(title="Stores", kicker="Forecast", parts=[part, part._replace(id="other")])))
    assert_reached(browser, page)
    seen = """(words => {
      const box = document.querySelector("[data-search]"); box.value = words; box.dispatchEvent(new Event("input"));
      const figures = [...document.querySelectorAll("#forecasts [data-panel]")];
      const fold = document.querySelector("[data-rest]");
      return [fold.innerText.split("\\n")[0], figures.filter(e => e.checkVisibility()).map(e => e.innerText.trim())];
    })"""
    fold, first = browser.evaluate(f"{seen}('')")
    assert fold == "show all 300 series" and [text[:9] for text in first] == names[:12]
    assert browser.evaluate(f"{seen}('store 287')")[1] == ["store 287"]
    (alone,) = browser.evaluate(f"{seen}('store 003')")[1]
    assert alone.startswith("store 003")
    assert len(browser.evaluate(f"{seen}('store')")[1]) == 300
    assert len(browser.evaluate(f"{seen}('')")[1]) == 12


CELLS = """(() => {
  const part = document.querySelector("section[data-answer]"), table = part.querySelector("table");
  const cells = [...table.querySelector("tbody tr").children], boxes = cells.map(e => e.getBoundingClientRect());
  return {
    lead: part.querySelector(".verdict").innerText,
    heads: table.innerText + cells.map(e => getComputedStyle(e, "::before").content).join(""),
    lefts: boxes.map(box => box.left), tops: boxes.map(box => box.top), width: Math.min(...boxes.map(box => box.width)),
    bottom: table.getBoundingClientRect().bottom,
    after: [...part.querySelectorAll(".content > p")].pop().getBoundingClientRect().top,
  };
})()"""


@pytest.mark.parametrize("task", ["language"])
def test_texts_continued_come_before_the_bits_and_stand_below_each_other_on_a_phone(
    task, browser, tmp_path_factory, tmp_path
):
    page = tmp_path / "report.html"
    page.write_text(finished(task, tmp_path_factory).page)
    for name, (width, height) in SCREENS.items():
        browser.open(page, width, height)
        seen = browser.evaluate(CELLS)
        assert seen["lead"] == "The model continues a text like this." and seen["bottom"] <= seen["after"], name
        assert seen["heads"].count("as the model goes on") == 1, name
        along = seen["tops" if name == "phone" else "lefts"]
        assert along == sorted({*along}), (name, along)
        assert (seen["width"] > 0.85 * width) == (name == "phone"), (name, seen["width"])
