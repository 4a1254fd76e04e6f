"""The trading day after another: by the calendar of an exchange where that is known, else the next weekday."""

import functools

import numpy as np

from multiway.errors import ConfigError, closest
from multiway.lazy import is_installed, load_extra

LIBRARY = "exchange_calendars"
OF_ZONES = {
    "America/New_York": "XNYS", "America/Sao_Paulo": "BVMF", "America/Toronto": "XTSE", "Asia/Hong_Kong": "XHKG",
    "Asia/Kolkata": "XBOM", "Asia/Seoul": "XKRX", "Asia/Shanghai": "XSHG", "Asia/Tokyo": "XTKS",
    "Australia/Sydney": "XASX", "Europe/Berlin": "XETR", "Europe/London": "XLON", "Europe/Paris": "XPAR",
    "Europe/Zurich": "XSWX",
}  # fmt: skip
"""The best known exchange of each zone."""
REACH = np.timedelta64(40, "D")
"""No exchange is closed for longer."""


def has_calendar(exchange: str | None) -> bool:
    """Whether the holidays of an exchange are known on this machine."""
    return exchange is not None and is_installed(LIBRARY)


@functools.cache
def session_after(day: np.datetime64, exchange: str | None) -> np.datetime64:
    """The first trading day after a day; a weekday where the calendar of the exchange is not known."""
    later = day.astype("datetime64[D]") + np.timedelta64(1, "D")
    if exchange is None or not is_installed(LIBRARY):
        weekday: np.datetime64 = np.busday_offset(later, 0, roll="forward")
        return weekday
    calendars = load_extra(LIBRARY, "a calendar of trading days", "sessions")
    if exchange not in calendars.get_calendar_names():
        near = closest(exchange, calendars.get_calendar_names())
        raise ConfigError(f"read.exchange: no calendar is called {exchange!r}{near}")
    known = calendars.get_calendar(exchange, start=str(later - REACH), end=str(later + REACH))
    return np.datetime64(known.date_to_session(str(later), direction="next"), "D")
