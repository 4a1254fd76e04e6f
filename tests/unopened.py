"""Which tests open a page in a browser, and were left out where there is none."""

from collections.abc import Iterable, Iterator

import pytest

NO_BROWSER = "no headless Chromium: apt-get install chromium-headless-shell"


def told(skipped: Iterable[pytest.TestReport]) -> Iterator[str]:
    """One line with their number, if there are any."""
    count = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if count:
        yield f"{count} tests that open a page were left out: {NO_BROWSER}"
