"""Sample paths of a forecast, and the totals that follow from them: over steps, and over groups of series."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from multiway.data.findings import list_some
from multiway.data.scaling import Floats
from multiway.errors import ConfigError
from multiway.tasks.answers import positions_of
from multiway.tasks.forecasting.bands import stretch
from multiway.tasks.forecasting.covariates import Covariates
from multiway.tasks.forecasting.forecasts import future_frame, look_ahead
from multiway.tasks.forecasting.panel import Columns, Panel
from multiway.tasks.options import check_percentages
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

OF_TOTALS = 2000
"""Paths that the bands of a total come from."""
MAX_CELLS = 5_000_000
"""Of sample paths that are drawn at once."""
ALL = "all"
"""The total of all series."""


OF_TABLE = ("levels", "layout", "quantiles", "paths", "total", "hierarchy")
"""Options of `predict` that say what the table has."""


def forecast_table(
    run: Run,
    panel: Panel,
    plan: Covariates | None,
    *,
    levels: Sequence[float] | None = None,
    layout: str = "long",
    quantiles: Sequence[float] = (),
    paths: int | None = None,
    total: bool = False,
    hierarchy: Sequence[str] = (),
) -> pd.DataFrame:
    """What `predict` answers after the last row of a panel: each step, sample paths, sums of steps, or sums of groups.

    Raises:
        ConfigError: More than one of the last four is asked for, or an option does not fit.
    """
    tables = {"quantiles": len(quantiles) > 0, "paths": paths is not None, "total": total, "hierarchy": bool(hierarchy)}
    chosen = [name for name, is_chosen in tables.items() if is_chosen]
    if len(chosen) > 1:
        raise ConfigError(f"predict: {list_some(chosen)} are tables of their own. Give one of them.")
    bands = run.config.levels if levels is None else levels
    if paths is not None:
        frame = path_frame(run, panel, paths, plan)
    elif total:
        frame = total_frame(run, panel, bands, plan)
    elif hierarchy:
        frame = hierarchy_frame(run, panel, hierarchy, bands, plan)
    else:
        frame = future_frame(run, panel, levels, layout, quantiles, plan)
    columns: Columns = run.state.columns
    return columns.rename(frame)


def draw_paths(run: Run, panel: Panel, count: int, plan: Covariates | None = None) -> tuple[Floats, Iterator[Floats]]:
    """The answer after the last row of a panel, `(horizon, targets)`, and sample paths in parts of some at a time.

    Each value has the distribution that the bands have. Steps of a path, and series, go together as the errors of one
    window out of time did. The seed is that of the run; all is in the units of the panel. A part is `(paths, horizon,
    targets)`.

    Raises:
        ConfigError: The answer is not the run's own, whose bands these are; or there is to be no path.
    """
    if count < 1:
        raise ConfigError(f"predict: paths are at least 1. Got {count}.")
    if run.answer.name != run.facts["selection"]["answer"]:
        raise ConfigError(f"predict: paths and totals are of the run's own answer. Leave out {run.answer.name}.")
    ahead = look_ahead(run, panel, plan=plan)
    size = max(1, MAX_CELLS // ahead.middle.size)
    sizes = [min(size, count - first) for first in range(0, count, size)]
    draws = (ahead.bands.draw(each, run.config.training.seed + part) for part, each in enumerate(sizes))
    paths = (ahead.written(ahead.middle + stretch(offsets, ahead.scale).numpy()) for offsets in draws)
    return ahead.written(ahead.middle), paths


def path_frame(run: Run, panel: Panel, count: int, plan: Covariates | None = None) -> pd.DataFrame:
    """Sample paths as rows: `unique_id, ds, path, multiway`."""
    (_, parts), times = draw_paths(run, panel, count, plan), panel.future_times(run.config.horizon)
    paths = np.concatenate([*parts])
    names, series = run.state.targets, len(run.state.targets)
    return pd.DataFrame(
        {
            "unique_id": np.repeat(np.array(names, object), count * len(times)),
            "ds": times.take(np.tile(np.arange(len(times)), series * count)),
            "path": np.tile(np.repeat(np.arange(count), len(times)), series),
            OURS: paths.transpose(2, 0, 1).ravel(),
        }
    )


def total_frame(run: Run, panel: Panel, levels: Sequence[float], plan: Covariates | None = None) -> pd.DataFrame:
    """The sum of the steps of each series, with bands: `unique_id, first, last, multiway, multiway-lo-80, …`."""
    (forecast, parts), times = draw_paths(run, panel, OF_TOTALS, plan), panel.future_times(run.config.horizon)
    columns = _add_bands(forecast.sum(0), np.concatenate([paths.sum(1) for paths in parts]), levels)
    return pd.DataFrame({"unique_id": list(run.state.targets), "first": times[0], "last": times[-1], **columns})


def hierarchy_frame(
    run: Run, panel: Panel, order: Sequence[str], levels: Sequence[float], plan: Covariates | None = None
) -> pd.DataFrame:
    """Sums of series by group at each step, with bands: `level, unique_id, ds, multiway, multiway-lo-80, …`.

    The forecast of a group is the sum of those of its series, so all levels add up exactly. The bands are quantiles of
    the sums of sample paths, in which series go together as they did out of time.

    Args:
        run: A fitted run.
        panel: The history.
        order: Columns that name the series, the coarsest first.
        levels: Of the bands in percent.
        plan: The next rows of what is known ahead.

    Raises:
        ConfigError: A column does not name the series, or as for `draw_paths`.
    """
    groups = group_series(run.state.targets, run.state.columns.ids, order)
    (forecast, parts), times = draw_paths(run, panel, OF_TOTALS, plan), panel.future_times(run.config.horizon)
    sums = [[paths[..., places].sum(-1) for places in groups.values()] for paths in parts]
    tables = []
    for ((level, name), places), totals in zip(groups.items(), zip(*sums, strict=True), strict=True):
        columns = _add_bands(forecast[:, places].sum(-1), np.concatenate(totals), levels)
        tables.append(pd.DataFrame({"level": level, "unique_id": name, "ds": times, **columns}))
    return pd.concat(tables, ignore_index=True)


def group_series(names: Sequence[str], ids: Sequence[str], order: Sequence[str]) -> dict[tuple[str, str], list[int]]:
    """Places of the series of every group by level and name, from all of them down.

    Args:
        names: Of series: what the id columns hold, joined by a slash.
        ids: Columns that name the series.
        order: Some of them, the coarsest first.
    """
    listed = ", ".join(ids) if ids else "none, as the table is wide"
    chosen = positions_of(order, ids, f"predict: columns that name the series are {listed}; none is")
    groups = {(ALL, ALL): list(range(len(names)))}
    for count in range(1, len(chosen) + 1):
        for place, name in enumerate(names):
            parts = name.split("/", len(ids) - 1)
            key = "/".join(parts[each] for each in chosen[:count])
            groups.setdefault(("/".join(order[:count]), key), []).append(place)
    return groups


def _add_bands(middle: Floats, totals: Floats, levels: Sequence[float]) -> dict[str, Floats]:
    """Sums with bands around them, by the quantiles of the sums of paths, which are the first axis."""
    check_percentages(levels)
    columns = {OURS: middle}
    for level in levels:
        low, high = np.quantile(totals, [(1 - level / 100) / 2, (1 + level / 100) / 2], axis=0)
        columns |= {f"{OURS}-lo-{level:g}": np.minimum(low, middle), f"{OURS}-hi-{level:g}": np.maximum(high, middle)}
    return columns
