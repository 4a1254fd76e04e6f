"""Every task's report in a real browser: the first screen holds the answer, nothing overflows, nothing complains."""

import json

import pytest

from multiway.tasks.registry import TASKS
from tasks.finished import finished

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
