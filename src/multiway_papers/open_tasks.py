"""Tasks of fev-bench and GIFT-Eval whose data lies on this machine, and their scores as both define them."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.datasets import dataset_path, search_folders
from multiway.errors import ConfigError, DataError, closest
from multiway.metrics.quantiles import TENTHS, pinball_errors
from multiway.tasks.run import digest_of

Floats = NDArray[np.float64]
Benchmark = Literal["fev", "gift"]
PUBLISHED = {"fev": "fev_bench.csv", "gift": "gift_eval_ett1.csv"}
METRICS = {"fev": ("MASE", "SQL", "WAPE", "WQL"), "gift": ("MASE", "WQL", "ND")}
"""Of the published files that are computed here."""
BASE = {"fev": "Seasonal Naive", "gift": "seasonal_naive"}
SHARE, MOST = 0.1, 20
"""Of the rows that GIFT-Eval's windows cover, and how many there are at most."""
QUANTILES = (0.025, *TENTHS, 0.975)
"""Of a forecast: the tenths that are scored, and the ends of the bands of 80 and 95 %."""
BANDS = {"coverage_80": (1, -2), "coverage_95": (0, -1)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class OpenTask:
    """One task of a benchmark.

    row: Its name in the published file.
    files: Data sets of the catalogue, or paths below a data folder; each holds the series of an item.
    horizon, windows: The last so many windows of so many steps, one after the other.
    season: Steps in a season, of MASE and the seasonal naive forecast.
    target: The column that is forecast, where the others are known for the window; all are forecast if not given.
    every: Rows whose mean is one row.
    context: Rows at most that the published seasonal naive forecast has its quantiles from; all if 0.
    """

    benchmark: Benchmark
    row: str
    files: tuple[str, ...]
    horizon: int
    windows: int
    season: int
    target: str | None = None
    every: int = 1
    context: int = 0

    def items(self) -> list["Item"]:
        """The series of every file."""
        return [Item.read(name, self) for name in self.files]

    def protocol(self) -> dict[str, object]:
        """All that its scores depend on besides the data."""
        return {**dataclasses.asdict(self), "quantiles": "0.1 to 0.9"}


@dataclasses.dataclass(frozen=True)
class Item:
    """Series that stand in one table: a column of times, then those that are forecast or known."""

    frame: pd.DataFrame
    targets: tuple[str, ...]

    @classmethod
    def read(cls, name: str, task: OpenTask) -> "Item":
        """Read a table; its first column is of times."""
        path = _path(name)
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        frame.columns = frame.columns.str.strip()  # those of the electricity prices begin with a space
        time = frame.columns[0]
        frame[time] = pd.to_datetime(frame[time])
        if task.every > 1:
            groups = np.arange(len(frame)) // task.every
            frame = frame.groupby(groups).agg({time: "first", **dict.fromkeys(frame.columns[1:], "mean")})
        return cls(frame, tuple(frame.columns[1:]) if task.target is None else (task.target,))

    @property
    def values(self) -> Floats:
        """Of what is forecast, `(rows, targets)`."""
        return self.frame[list(self.targets)].to_numpy(np.float64)

    def fingerprint(self) -> str:
        """Hash of names, times and values."""
        return digest_of([tuple(self.frame.columns), *(self.frame[name].to_numpy() for name in self.frame)])[:16]


def _path(name: str) -> Path:
    if "/" not in name:
        return dataset_path(name)
    found = next((folder / name for folder in search_folders() if (folder / name).is_file()), None)
    if found is None:
        raise DataError(f"{name} is not on this machine. Set MULTIWAY_DATA to the folder that holds it.")
    return found


def _electricity(name: str) -> OpenTask:
    return OpenTask(
        benchmark="fev",
        row=f"epf_{name.lower()}",
        files=(f"epf/{name}.csv.gz",),
        horizon=24,
        windows=20,
        season=24,
        target="OT",
        context=1000,
    )


def _gift(row: str, horizon: int, rows: int, season: int) -> OpenTask:
    windows = min(MOST, int(np.ceil(SHARE * rows / horizon)))
    return OpenTask(
        benchmark="gift",
        row=row,
        files=("ett_m1",),
        horizon=horizon,
        windows=windows,
        season=season,
        every=96 // season,
    )


HORIZONS = {"short": 48, "medium": 480, "long": 720}
TASKS = (
    *(_electricity(name) for name in ("NP", "PJM", "BE")),
    OpenTask(
        benchmark="fev", row="ETT_1H", files=("ett_h1", "ett_h2"), horizon=168, windows=20, season=24, context=1000
    ),
    OpenTask(
        benchmark="fev", row="jena_weather_10T", files=("weather",), horizon=144, windows=20, season=144, context=1000
    ),
    *(_gift(f"ett1/15T/{term}", steps, 69_680, 96) for term, steps in HORIZONS.items()),
    *(_gift(f"ett1/H/{term}", steps, 17_420, 24) for term, steps in HORIZONS.items()),
)


def tasks_of(benchmark: str, rows: list[str] | None = None) -> list[OpenTask]:
    """Those of a benchmark, or those of them that are named, whatever the letters' case.

    Raises:
        ConfigError: A name is none of them.
    """
    known = {task.row.lower(): task for task in TASKS if task.benchmark == benchmark}
    known |= {alias: known[row] for alias, row in {"jena_10t": "jena_weather_10t"}.items() if row in known}
    for name in rows or ():
        if name.lower() not in known:
            raise ConfigError(f"reproduce: {benchmark} has no task {name}{closest(name.lower(), known)}")
    return [*dict.fromkeys(known.values())] if rows is None else [known[name.lower()] for name in rows]


def published_results(benchmark: str) -> pd.DataFrame:
    """Rows of the published file: `model`, `row`, its metrics, and what else it says of a model."""
    frame = pd.read_csv(_path(f"published/{PUBLISHED[benchmark]}"))
    return frame.rename(columns={"model_name": "model", "dataset_config": "row", "dataset": "row"})


def windows_of(task: OpenTask, item: Item) -> Iterator[int]:
    """First row of every window, the earliest first."""
    for place in range(task.windows, 0, -1):
        yield len(item.frame) - place * task.horizon


@dataclasses.dataclass(frozen=True)
class Actual:
    """What stands in the windows of an item.

    actual: `(windows, horizon, targets)`; NaN where missing.
    scale: Mean absolute error of the seasonal naive forecast in all rows before each window, `(windows, targets)`.
    """

    actual: Floats
    scale: Floats

    @classmethod
    def of(cls, task: OpenTask, item: Item) -> "Actual":
        """Cut them from an item."""
        values, starts = item.values, [*windows_of(task, item)]
        moved = np.abs(values[task.season :] - values[: -task.season])
        scale = [np.nanmean(moved[: start - task.season], 0) for start in starts]
        return cls(np.stack([values[start : start + task.horizon] for start in starts]), np.stack(scale))


def naive_quantiles(task: OpenTask, item: Item) -> Floats:
    """Quantiles of every window, `(windows, horizon, targets, QUANTILES)`.

    Normal around the last season, with the deviation of the forecast's errors in the rows before, which grows by the
    root of the seasons ahead, as statsforecast has it.
    """
    values = item.values
    return np.stack([_naive(values[:start][-task.context :], task) for start in windows_of(task, item)])


def _naive(past: Floats, task: OpenTask) -> Floats:
    from scipy.special import ndtri  # takes longer to import than most of what is here

    steps = np.arange(task.horizon)
    errors = past[task.season :] - past[: -task.season]
    spread = np.sqrt(np.nanmean(errors**2, 0)) * np.sqrt(steps // task.season + 1)[:, None]
    levels: Floats = past[-task.season :][steps % task.season, :, None] + spread[..., None] * ndtri(QUANTILES)
    return levels


def scores_of(task: OpenTask, items: Sequence[Actual], levels: Sequence[Floats]) -> dict[str, float]:
    """MASE and the losses of quantiles, by the names of the published file, and shares of values within the bands.

    fev-bench takes WAPE and WQL of each window and target and averages them; GIFT-Eval divides sums over all windows.
    """
    errors = [np.abs(each.actual - own[..., 5]) for each, own in zip(items, levels, strict=True)]
    losses = [
        2 * pinball_errors(each.actual, own[..., 1:-1], TENTHS).mean(-1)
        for each, own in zip(items, levels, strict=True)
    ]
    sizes = [np.abs(each.actual) for each in items]
    if task.benchmark == "fev":
        scaled = {"MASE": _scaled(errors, items), "SQL": _scaled(losses, items)}
        shares = {"WAPE": _of_windows(errors, sizes), "WQL": _of_windows(losses, sizes)}
    else:
        scaled = {"MASE": _scaled(errors, items)}
        shares = {"WQL": _of_all(losses, sizes), "ND": _of_all(errors, sizes)}
    return {**scaled, **shares, **{name: _coverage(items, levels, *ends) for name, ends in BANDS.items()}}


def _scaled(errors: Sequence[Floats], items: Sequence[Actual]) -> float:
    parts = [np.nanmean(error, 1) / each.scale for error, each in zip(errors, items, strict=True)]
    return float(np.nanmean(np.concatenate(parts, 1)))


def _of_windows(errors: Sequence[Floats], sizes: Sequence[Floats]) -> float:
    """Of each window and target over all items; a target that is zero throughout a window counts nowhere."""
    sums, weights = (np.nansum(np.stack(parts), (0, 2)) for parts in (errors, sizes))
    return float(np.mean(sums[weights > 0] / weights[weights > 0]))


def _of_all(errors: Sequence[Floats], sizes: Sequence[Floats]) -> float:
    sums, weights = (sum(float(np.nansum(part)) for part in parts) for parts in (errors, sizes))
    return sums / weights


def _coverage(items: Sequence[Actual], levels: Sequence[Floats], low: int, high: int) -> float:
    """Share of values between two of the levels."""
    held = [
        ((own[..., low] <= each.actual) & (each.actual <= own[..., high]))[~np.isnan(each.actual)]
        for each, own in zip(items, levels, strict=True)
    ]
    return float(np.concatenate(held).mean())
