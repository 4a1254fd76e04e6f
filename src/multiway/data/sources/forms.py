"""Forms that times are written in: what a text looks like, before any is read."""

import itertools
import re
import warnings
from collections.abc import Iterable

import pandas as pd
from pandas.tseries.api import guess_datetime_format

MONTHS = (
    "%b %Y",
    "%B %Y",
    "%b-%Y",
    "%B-%Y",
    "%b-%y",
    "%Y %b",
    "%Y-%b",
    "%YM%m",
    "%Y-M%m",
    "%m/%Y",
    "%m-%Y",
    "%m.%Y",
    "%d-%b-%y",
    "%d %b %y",
)
"""Ways to write months, and days with the name of a month, that pandas does not guess."""
NUMERIC = re.compile(r"(\d+)([/.-]|:(?=\d\d?:\d{4}))\d{1,2}\2(\d+)( \d{1,2}:\d\d(:\d\d)?( ?[AP]M)?)?", re.IGNORECASE)
"""Dates of numbers; pandas does not guess those between colons, with years of two digits or with AM and PM."""
SHORT_YEARS = ["%d %m %y", "%m %d %y", "%y %m %d"]
QUARTERS = "quarters"
"""The form of dates such as 2003Q1, which are the first days of quarters."""
WEEKS = "weeks"
"""The form of dates such as 2024-W05, which are the Mondays of the weeks of ISO 8601."""
POINTED_MONTH = r"^(0[1-9]|1[0-2])\.(19|20)\d\d$"
"""A month such as 01.2024, which is no number: none begins with a zero that its fraction does not need."""
PERIODS = {
    QUARTERS: r"\d{4}[- ]?Q[1-4]|Q[1-4][- ]?\d{4}",
    WEEKS: r"\d{4}[- ]?W\d{1,2}|W\d{1,2}[- /]\d{4}",
}
"""What whole cells look like, in either case, by the names of the forms."""


INTERVAL = r"\s*(\S.*?\d.*?)\s*(?:\s[-–—]\s|\s(?:to|bis)\s|(?<=[\dZ])/(?=\d{4}-\d\d-\d\dT))\s*(.*\d.*)"
"""Two times between which something holds: the first, what stands in between, and the second."""


def looks_like_time(cells: Iterable[object]) -> bool:
    """Whether the first text that is there reads as a date, or as an interval that begins with one."""
    first = next((text for text in map(str, cells) if text.strip()), "")
    ends = re.fullmatch(INTERVAL, first)
    first = first if ends is None else ends[1]
    if len(first) < 6:
        return False
    is_period = any(re.fullmatch(form, first.strip(), re.IGNORECASE) for form in PERIODS.values())
    return is_period or bool(forms_of([first], None))


def forms_of(sample: list[str], day_first: bool | None) -> list[str]:
    """Forms that some of the texts may have."""
    orders = (True, False) if day_first is None else (day_first,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a guess that turns day and month around is checked on every row here
        guesses = [guess_datetime_format(text, dayfirst=order) for text, order in itertools.product(sample, orders)]
    others = [(sample[0].strip(), form) for form in MONTHS]
    others += [(text, form) for text in map(str.strip, sample) for form in _numeric_forms(text, day_first)]
    fitting = (form for text, form in others if not pd.isna(pd.to_datetime(text, format=form, errors="coerce")))
    return list(dict.fromkeys([*(guess for guess in guesses if guess is not None), *fitting]))


def _numeric_forms(text: str, day_first: bool | None) -> list[str]:
    """Forms of a date of numbers; a year of two digits may stand first where nothing is said of days."""
    found = NUMERIC.fullmatch(text)
    if found is None:
        return []
    first, mark, last, clock, seconds, half = found.groups()
    orders = ["%Y %m %d"] if len(first) == 4 else ["%d %m %Y", "%m %d %Y"] if len(last) == 4 else SHORT_YEARS
    if day_first is not None and len(first) < 4:
        orders = [order for order in orders if order.startswith("%d" if day_first else "%m")]
    time = ""
    if clock is not None:
        time = f" {'%I' if half else '%H'}:%M{':%S' if seconds else ''}{(half or '')[:-2]}{'%p' if half else ''}"
    return [order.replace(" ", mark) + time for order in orders]
