"""A row of results: the figure of a recipe beside its baselines."""

import statistics

import numpy as np
import pandas as pd
import pytest

from multiway import workflows
from multiway.recipes import load_recipe
from multiway.tasks.scores import cell_row, score_of


def test_a_row_holds_the_mean_over_seeds_beside_ridge_and_naive(tmp_path):
    values = np.random.default_rng(0).normal(size=(90, 2)).cumsum(0)
    days = pd.date_range("2024-01-01", periods=90)
    pd.DataFrame({"date": days, "a": values[:, 0], "b": values[:, 1]}).to_csv(tmp_path / "good.csv", index=False)
    given = {"data": str(tmp_path / "good.csv"), "horizon": 2, "lookback": 4, "network": False, "levels": [80]}
    runs = workflows.train(given, out=tmp_path / "run", seeds=2).runs
    row = cell_row("floor-etth1-96", load_recipe("floor-etth1-96"), runs, 2)
    for prefix, model in (("", "multiway"), ("ridge_", "ridge"), ("naive_", "naive")):
        for metric in ("mse", "mae"):
            values = [score_of(run, model, metric)["value"] for run in runs]
            assert row[prefix + metric] == pytest.approx(statistics.fmean(values))
    assert row["naive_mse"] != row["ridge_mse"]
