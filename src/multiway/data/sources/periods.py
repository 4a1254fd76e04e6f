"""Times that name a period: quarters such as 2003Q1 and weeks such as 2024-W05, each by its first day."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from multiway.data.sources.cells import by_text

QUARTERS = "quarters"
"""The form of dates such as 2003Q1, which are the first days of quarters."""
WEEKS = "weeks"
"""The form of dates such as 2024-W05, which are the Mondays of the weeks of ISO 8601."""


class Period(NamedTuple):
    """A way to write periods.

    pattern: What a whole cell looks like, in either case.
    first_days: Of the periods in a column of such cells; NaT where there is none.
    """

    pattern: str
    first_days: Callable[[pd.Series], pd.DatetimeIndex]


def _of_quarters(text: pd.Series) -> pd.DatetimeIndex:
    month = pd.to_numeric(text.str.extract(r"(?i)Q([1-4])", expand=False)) * 3 - 2
    return _days(_year(text) + "-" + month.astype("string"), "%Y-%m")


def _of_weeks(text: pd.Series) -> pd.DatetimeIndex:
    week = text.str.extract(r"(?i)W(\d{1,2})", expand=False).str.zfill(2)
    return _days(_year(text) + "-" + week + "-1", "%G-%V-%u")


def _year(text: pd.Series) -> pd.Series:
    return text.str.extract(r"(?<!\d)(\d{4})(?!\d)", expand=False)


def _days(text: pd.Series, form: str) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(pd.to_datetime(text, format=form, errors="coerce"))


PERIODS = {
    QUARTERS: Period(r"\d{4}[- ]?Q[1-4]|Q[1-4][- ]?\d{4}", _of_quarters),
    WEEKS: Period(r"\d{4}[- ]?W\d{1,2}|W\d{1,2}[- /]\d{4}", _of_weeks),
}
"""Kinds of periods by the names of their forms."""


def period_of(text: pd.Series) -> str | None:
    """The kind of period that most cells with text name; None where they are no periods."""
    present = text.dropna()
    return next((kind for kind in PERIODS if len(present) and _named(present, kind).mean() > 0.5), None)


def first_days(text: pd.Series, kind: str) -> pd.DatetimeIndex:
    """First days of periods of one kind; NaT for other cells."""
    return PERIODS[kind].first_days(text.where(_named(text, kind)))


def _named(text: pd.Series, kind: str) -> pd.Series:
    return by_text(text, lambda cells: cells.str.fullmatch(PERIODS[kind].pattern, case=False, na=False))
