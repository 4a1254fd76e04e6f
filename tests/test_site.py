"""The built site, where there is one: the reference says what the code says. `bin/docs` builds it and runs this."""

import inspect
import re
from html import unescape

import pytest
from benchmarks.site import SITE

import multiway as mw
from multiway.tasks.estimator import Estimator

ESTIMATORS = [name for name in mw.__all__ if inspect.isclass(made := getattr(mw, name)) and issubclass(made, Estimator)]
ROW = re.compile(r'<tr class="doc-section-item">(.*?)</tr>', re.DOTALL)
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
