"""The default forecast on small files as people have them, against ridge and against three classical models.

Each of `classical_sets.SETS` is trained on by the default, and scored on its last fifth of rows. Beside it stand
AutoETS, AutoTheta and AutoARIMA of statsforecast, fitted on all rows before the test rows and run on to every window;
the best of the three is chosen with the test rows in hand. `--earlier` cuts the last fifth of the rows off first: rules
are decided there.

    python -m benchmarks.classical --out results/classical.jsonl
"""

import argparse
import platform
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from benchmarks.classical_sets import SETS, ClassicalSet
from benchmarks.rows import commit, keep
from multiway.errors import MultiwayWarning
from multiway.lazy import load_extra
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.forecasts import all_forecasts
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.scores import measure as measure_windows
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

CLASSICAL = ("AutoETS", "AutoTheta", "AutoARIMA")
MOST_SERIES, MOST_ROWS, MOST_WINDOWS = 3, 240, 30
"""Of a set that the classical models are fitted on: they take seconds a series."""
BARS = {
    "mse over ridge": 0.97,
    "worst mse over ridge": 1.10,
    "mase over the best classical": 1.03,
    "mse of the refit over none": 0.97,
}
Values = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classical", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sets", nargs="*", default=[each.name for each in SETS], help="names of the sets; all if none"
    )
    parser.add_argument("--earlier", action="store_true", help="cut the last fifth of the rows off")
    parser.add_argument("--without-classical", action="store_true", help="do not fit the three classical models")
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", MultiwayWarning)
    rows = []
    for each in SETS:
        if each.name in arguments.sets:
            rows.append(measure(each, earlier=arguments.earlier, classical=not arguments.without_classical))
            keep(rows[-1], arguments.out, **facts(earlier=arguments.earlier))
    keep(summary(rows), arguments.out, **facts(earlier=arguments.earlier))


def facts(*, earlier: bool) -> dict[str, Any]:
    """Where and on what a row was measured."""
    return {
        "commit": commit(),
        "seed": 0,
        "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rows": "earlier" if earlier else "all",
    }


def measure(each: ClassicalSet, *, earlier: bool, classical: bool) -> dict[str, Any]:
    """Train the default on a set; its scores, and those of the classical models."""
    frame = each.read()
    frame = frame.iloc[: int(0.8 * len(frame))] if earlier else frame
    clock, run = time.process_time(), fitted(each, frame)
    seconds = time.process_time() - clock
    scores = {(row["model"], row["metric"], row["scale"]): row["value"] for row in run.scores if row["split"] == "test"}
    mse = {name: value for (name, metric, scale), value in scores.items() if (metric, scale) == ("mse", "scaled")}
    rivals = best_classical(run) if classical else {}
    return {
        "set": each.name,
        "rows read": len(frame),
        "series": frame.shape[1] - 1,
        "lookback": each.lookback,
        "horizon": each.horizon,
        "answer": run.facts["selection"]["sentence"],
        "cpu seconds": round(seconds, 2),
        "mse over ridge": mse[OURS] / mse["ridge"],
        "best candidate": min(mse, key=lambda name: mse[name]),
        "mse over the best candidate": mse[OURS] / min(value for name, value in mse.items() if name != OURS),
        "coverage_80": scores[OURS, "coverage_80", "original"],
        "coverage_95": scores[OURS, "coverage_95", "original"],
        "mse of the refit over none": mse[OURS] / error_of(run, model_of(run)),
        **rivals,
    }


def error_of(run: Run, fitted: WeighedForecasts) -> float:
    """Test MSE of the answer by some fits of its candidates."""
    windows = run.prepared.windows["test"]
    errors = measure_windows(windows, partial(all_forecasts, run, fitted=fitted), run.state.target_scaler)[OURS]
    return float(errors.squared.sum() / errors.count.sum())


def fitted(each: ClassicalSet, frame: pd.DataFrame) -> Run:
    """A run of the default; where a tenth of the rows is too short for validation, it has one horizon."""
    settings: dict[str, Any] = {"lookback": each.lookback, "horizon": each.horizon}
    rows, test = len(frame), int(0.2 * len(frame))
    if rows - int(0.7 * rows) - test < each.horizon:
        settings["split"] = {"train": (rows - test - each.horizon + 0.5) / rows}
    return lifecycle.fit_in_memory(TASK, ForecastConfig.parse(settings), frame)


def best_classical(run: Run) -> dict[str, Any]:
    """MASE of the default and of each classical model on the same test windows of the first few series."""
    panel, borders, config = run.prepared.panel, run.prepared.borders, run.config
    windows = run.prepared.windows["test"]
    chosen = np.unique(np.linspace(0, len(windows) - 1, MOST_WINDOWS).astype(int))
    batch = windows.gather(torch.from_numpy(chosen))
    with torch.no_grad():
        scaled = all_forecasts(run, batch["past"], batch.get("past_observed"))[OURS].double().numpy()
    series = range(min(panel.num_variates, MOST_SERIES))
    ours = run.state.scaler.inverse(scaled)
    origins = windows.start_rows()[chosen] + config.lookback
    scale = run.state.mase_scale * run.state.scaler.std
    actual = np.stack([panel.values[row : row + config.horizon] for row in origins])
    usable = [index for index in series if scale[index] > 0]

    def mase(forecasts: Values) -> float:
        errors = np.abs(forecasts - actual[..., usable]).mean((0, 1)) / scale[usable]
        return float(np.mean(errors))

    found = {name: mase(_forecasts(name, panel.values[:, usable], borders.test[0], origins, run)) for name in CLASSICAL}
    best = min(found, key=lambda name: found[name])
    own = mase(ours[..., usable])
    return {"mase": own, **found, "best classical": best, "mase over the best classical": own / found[best]}


def _forecasts(name: str, values: Values, start: int, origins: Sequence[int], run: Run) -> Values:
    """Of one model, fitted on the rows before the test rows and run on to every origin."""
    models = load_extra("statsforecast.models", "the benchmark", "arima")
    out = np.empty((len(origins), run.config.horizon, values.shape[1]))
    for index, series in enumerate(values.T):
        first = max(start - MOST_ROWS, 0)
        model = getattr(models, name)(season_length=run.state.season).fit(np.ascontiguousarray(series[first:start]))
        for place, row in enumerate(origins):
            out[place, :, index] = model.forward(np.ascontiguousarray(series[first:row]), h=run.config.horizon)["mean"]
    return out


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means and worst ratios against their bars, and how many bands hold what they claim."""
    ridge = [row["mse over ridge"] for row in rows]
    ratios = [row["mase over the best classical"] for row in rows if "mase over the best classical" in row]
    held = sum(0.72 <= row["coverage_80"] <= 0.88 for row in rows)
    measured = {"mse over ridge": _geometric(ridge), "worst mse over ridge": max(ridge)}
    measured |= {"mase over the best classical": _geometric(ratios)} if ratios else {}
    measured |= {"mse of the refit over none": _geometric([row["mse of the refit over none"] for row in rows])}
    for level in (80, 95):
        measured[f"mean coverage of {level} %"] = 100 * float(np.mean([row[f"coverage_{level}"] for row in rows]))
    return {
        "set": "all",
        "sets": len(rows),
        **measured,
        "bands of 72 to 88 %": held,
        "of exact bands": round(sum(map(chance, rows)), 1),
        "bars": BARS,
    }


def chance(row: dict[str, Any], draws: int = 200) -> float:
    """How often bands that are exactly right hold 72 to 88 % of the test values of series that are random walks."""
    rng, steps = np.random.default_rng(0), row["horizon"]
    rows = max(int(0.2 * row["rows read"]), steps)
    width = NormalDist().inv_cdf(0.9) * np.sqrt(np.arange(1, steps + 1))
    walks = np.cumsum(rng.standard_normal((draws, rows + 1, row["series"])), 1)
    windows = np.lib.stride_tricks.sliding_window_view(walks, steps + 1, axis=1)
    held = (np.abs(windows[..., 1:] - windows[..., :1]) < width).mean((1, 2, 3))
    return float(((held >= 0.72) & (held <= 0.88)).mean())


def _geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    main()
