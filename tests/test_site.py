"""The built site, where there is one: the reference says what the code says, pages fit their screens.

`bin/docs` builds the site and runs this.
"""

import inspect
import re
from html import unescape

import pytest
from docs.build.site import SITE

import multiway as mw
from multiway.tasks.estimator import Estimator

ESTIMATORS = [name for name in dir(mw) if inspect.isclass(made := getattr(mw, name)) and issubclass(made, Estimator)]
ROW = re.compile(r'<tr class="doc-section-item">(.*?)</tr>', re.DOTALL)
PAGES = ("index", "guides/layers", "reference/multiway")
SCREENS = ((1280, 900), (390, 844))
BROKEN_NAMES = """[...document.querySelectorAll("td code")].filter(
  e => /^[\\w.]+$/.test(e.innerText) && e.getClientRects().length > 1
).map(e => e.innerText)"""
CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="no site is built: bin/docs builds it")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_reference_tells_the_type_and_the_default_of_every_argument_of_an_estimator(name):
    estimator = getattr(mw, name)
    page = (SITE / "reference" / "multiway.html").read_text()
    entry = page.partition(f'id="{estimator.__module__}.{name}"')[2].partition("</table>")[0]
    rows = [[told(cell) for cell in CELL.findall(row)] for row in ROW.findall(entry)]
    known = inspect.signature(estimator).parameters.values()
    assert {argument: default for argument, _, _, default in rows} == {each.name: repr(each.default) for each in known}
    assert [argument for argument, kind, *_ in rows if not re.match(r"\w", kind)] == []


def told(cell: str) -> str:
    """The words of a cell of a table."""
    return " ".join(unescape(re.sub(r"<[^>]+>", "", cell)).split())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_a_page_fits_its_screen_and_nothing_complains(screen, page, browser):
    assert browser.open(SITE / f"{page}.html", *screen) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= screen[0]
    assert browser.evaluate("document.querySelectorAll('td code').length") and browser.evaluate(BROKEN_NAMES) == []


def test_a_site_that_is_opened_from_disk_can_be_searched(browser):
    browser.open(SITE / "index.html", *SCREENS[0])
    names = "__index.items.filter(item => item.text.includes('NdLinear')).map(item => item.location)"
    assert "guides/layers.html" in {place.split("/site/")[1] for place in browser.evaluate(names)}


@pytest.mark.parametrize("name", ["SECURITY", "LICENSE"])
def test_the_first_page_leads_to(name):
    assert f'href="{name}.html"' in (SITE / "index.html").read_text() and (SITE / f"{name}.html").is_file()


def test_no_link_is_named_after_a_file():
    named = {
        (page.name, link)
        for page in SITE.rglob("*.html")
        for link in re.findall(r"<a [^>]*>(?:<code>)?([\w/.-]+\.(?:md|yaml))<", page.read_text())
    }
    assert named == set()
