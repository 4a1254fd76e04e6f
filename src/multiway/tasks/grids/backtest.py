"""Errors of forecasts from past times of a grid."""

import numpy as np
import pandas as pd

from multiway.errors import DataError
from multiway.tasks.grids.encode import PreparedGrid
from multiway.tasks.grids.model import errors_after, module_of, multiply, shares_of
from multiway.tasks.grids.network import list_candidates
from multiway.tasks.options import hold_moments
from multiway.tasks.run import Run

MODEL = ["cutoff", "model"]


def backtest_frame(run: Run, grid: PreparedGrid, cutoffs: int = 10, step: int | None = None) -> pd.DataFrame:
    """Error of every model from some past times: `cutoff, lead, model, rmse`, by what was learnt before the test.

    Cutoffs inside the times of the training flatter its models. The last is a horizon before the end, the others are
    steps before it; a horizon if not given.

    Raises:
        DataError: No time has a whole context before it and a whole horizon after it.
    """
    horizon, context, count = run.config.horizon, run.config.context, len(grid.values)
    step = horizon if step is None else step
    hold_moments(cutoffs, step)
    if count < context + horizon:
        rule = f"a past forecast needs {context} times and {horizon} after them. Got {count}"
        raise DataError(f"{grid.source}: {rule}. Give more of the past.")
    origins = np.arange(count - horizon - 1, context - 2, -step)[:cutoffs][::-1]
    names, words, parts = list_candidates(run.config, run.state), grid.cube.times.words(), []
    module, shares = module_of(run), {run.answer.name: shares_of(run)}
    shares |= {name: np.tile(each, (horizon, 1)) for name, each in zip(names, np.eye(len(names)), strict=True)}
    for lead, errors in enumerate(errors_after(module, module.floors, grid, origins, (0, count)), start=1):
        products = multiply(errors, grid.weights)
        for name, weights in shares.items():
            own = weights[lead - 1]
            values = np.sqrt(np.einsum("i,nij,j->n", own, products, own).clip(0))
            cutoff = [words[origin] for origin in origins]
            parts.append(pd.DataFrame({"cutoff": cutoff, "lead": lead, "model": name, "rmse": values}))
    frame = pd.concat(parts, ignore_index=True)
    order = {word: place for place, word in enumerate(dict.fromkeys(frame["cutoff"]))}
    ranked = frame.assign(place=frame["cutoff"].map(order)).sort_values(["place", "lead"], kind="stable")
    return ranked.drop(columns="place").reset_index(drop=True)


def pool_leads(frame: pd.DataFrame) -> pd.DataFrame:
    """Error of each model from each cutoff over all leads."""
    squares = frame.assign(rmse=frame["rmse"] ** 2).groupby(MODEL, sort=False)["rmse"].mean()
    return squares.pow(0.5).reset_index()
