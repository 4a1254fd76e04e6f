"""The regret of an answer, by hand."""

import types

import pytest
from benchmarks.answers import row_of, summary
from benchmarks.bars import panel

from multiway.tasks.choice import choice_of_settings


def run_of(answer, values, classes=("a", "b"), metric="acc"):
    rows = [
        {"model": name, "split": "test", "metric": metric, "value": value, "low": value - 0.05, "high": value + 0.05}
        for name, value in values.items()
    ]
    return types.SimpleNamespace(
        task=types.SimpleNamespace(name="tabular"), state=types.SimpleNamespace(classes=classes),
        models=[name for name in values if name != "blend"], answer=choice_of_settings(answer), scores=rows,
    )  # fmt: skip


def test_regret_is_the_share_of_the_way_from_the_best_to_the_median():
    values = {"network": 0.9, "logistic": 0.87, "trees": 0.8, "majority": 0.5}
    row = row_of(run_of("logistic", values))
    assert row["best"] == "network" and row["within"] and row["regret"] == pytest.approx(0.03 / 0.065, abs=1e-3)
    far = row_of(run_of("majority", values))
    assert not far["within"] and far["regret"] == 2.0
    assert summary([row, far]) == {
        "sets": 2,
        "within": 1,
        "network_within": 2,
        "mean_regret": pytest.approx(1.231, abs=1e-3),
    }


def test_of_errors_the_lowest_is_best_and_a_blend_may_be_ahead_of_it():
    row = row_of(run_of("blend", {"network": 2.0, "ridge": 1.0, "mean": 4.0, "blend": 0.9}, None, "mse"))
    assert (row["best"], row["regret"], row["within"]) == ("ridge", 0.0, True)


def test_the_bar_of_a_panel_is_measured():
    found = panel(series=3, steps=160)
    assert found["cpu_seconds"] > 0 and found["bytes"] > 1e7 and found["mse_over_ridge"] > 0
