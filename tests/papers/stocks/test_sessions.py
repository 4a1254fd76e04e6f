"""The trading day after another is no holiday where the exchange's calendar is known, else the next weekday."""

import sys
import types

import numpy as np
import pandas as pd
import pytest

from multiway.errors import ConfigError
from multiway_papers.stocks import options as sessions

HOLIDAYS = pd.DatetimeIndex(["2024-07-04"])


class FakeCalendar:
    """Weekdays but one, as the library's calendars answer."""

    def __init__(self, start, end):
        self.start, self.end = pd.Timestamp(start), pd.Timestamp(end)

    def date_to_session(self, date, direction):
        assert direction == "next" and self.start <= pd.Timestamp(date) <= self.end
        days = pd.bdate_range(date, self.end)
        return days[~days.isin(HOLIDAYS)][0]


@pytest.fixture(autouse=True)
def forget():
    sessions.session_after.cache_clear()
    yield
    sessions.session_after.cache_clear()


@pytest.fixture
def calendars(monkeypatch):
    fake = types.ModuleType(sessions.LIBRARY)
    fake.get_calendar_names = lambda: ["XNYS", "XLON"]
    fake.get_calendar = lambda name, start, end: FakeCalendar(start, end)
    monkeypatch.setitem(sys.modules, sessions.LIBRARY, fake)
    monkeypatch.setattr(sessions, "is_installed", lambda name: name == sessions.LIBRARY)


def test_a_holiday_of_the_exchange_is_passed_over(calendars):
    assert sessions.session_after(np.datetime64("2024-07-03"), "XNYS") == np.datetime64("2024-07-05")
    assert sessions.session_after(np.datetime64("2024-07-05"), "XNYS") == np.datetime64("2024-07-08")
    assert sessions.has_calendar("XNYS") and not sessions.has_calendar(None)


def test_without_a_calendar_the_next_weekday_is_taken(calendars, monkeypatch):
    assert sessions.session_after(np.datetime64("2024-07-03"), None) == np.datetime64("2024-07-04")
    monkeypatch.setattr(sessions, "is_installed", lambda name: False)
    sessions.session_after.cache_clear()
    assert sessions.session_after(np.datetime64("2024-07-05"), "XNYS") == np.datetime64("2024-07-08")
    assert not sessions.has_calendar("XNYS")


def test_an_unknown_exchange_is_refused_with_the_nearest(calendars):
    with pytest.raises(ConfigError, match=r"read\.exchange: no calendar is called 'XNYX'; did you mean XNYS\?"):
        sessions.session_after(np.datetime64("2024-07-03"), "XNYX")


def test_the_real_library_knows_independence_day_and_good_friday():
    pytest.importorskip(sessions.LIBRARY, reason="exchange-calendars is an extra")
    for day, following in (("2024-07-03", "2024-07-05"), ("2024-03-28", "2024-04-01"), ("2030-12-24", "2030-12-26")):
        assert sessions.session_after(np.datetime64(day), "XNYS") == np.datetime64(following)
