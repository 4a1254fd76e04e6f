"""The closed-form answer on public data: window counts of the protocol, and scores no worse than published here."""

import pytest

from multiway.data import datasets
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.fitting import fit
from multiway.tasks.forecasting.prepared import locate, prepare

CELLS = [
    ("ett_h1", 96, [8449, 2785, 2785], True, 0.3835, 0.3925),
    ("ett_h1", 336, [8209, 2545, 2545], True, 0.476, 0.443),
    ("exchange", 96, [5120, 665, 1422], True, 0.082, 0.197),
    ("exchange", 720, [4496, 41, 798], True, 0.815, 0.680),
]


@pytest.mark.parametrize(("name", "horizon", "counts", "shared", "mse", "mae"), CELLS)
def test_ridge_on_public_data(real_data, monkeypatch, name, horizon, counts, shared, mse, mae):
    monkeypatch.setenv("MULTIWAY_DATA", str(real_data))
    given = {"data": name, "horizon": horizon, "network": False}
    config = ForecastConfig.parse({**datasets.brought(name), **given})
    prepared = prepare(config, locate(name))
    assert [len(prepared.windows[split]) for split in ("train", "validation", "test")] == counts
    fitted = fit(prepared, config)
    score = {
        row["metric"]: row["value"]
        for row in fitted.scores
        if (row["split"], row["model"], row["scale"]) == ("test", "multiway", "scaled")
    }
    assert fitted.floor.shared == shared
    assert score["mse"] <= mse and score["mae"] <= mae
