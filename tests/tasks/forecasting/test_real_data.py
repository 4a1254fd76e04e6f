"""Ridge alone on public data: windows of the protocol, scores no worse than published here, intervals that hold."""

import pytest

from multiway.data import datasets
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.scores import score_of

CELLS = [
    ("ett_h1", 96, [8449, 2785, 2785], False, 0.383, 0.3895),
    ("ett_h1", 336, [8209, 2545, 2545], False, 0.477, 0.441),
    ("exchange", 96, [5120, 665, 1422], True, 0.082, 0.197),
    ("exchange", 720, [4496, 41, 798], True, 0.815, 0.680),
]


@pytest.mark.parametrize(("name", "horizon", "counts", "shared", "mse", "mae"), CELLS)
def test_ridge_on_public_data(real_data, monkeypatch, name, horizon, counts, shared, mse, mae):
    monkeypatch.setenv("MULTIWAY_DATA", str(real_data))
    config = TASK.configure({"data": name, "horizon": horizon, "network": False, "answer": "ridge", "refit": "none"})
    run = lifecycle.fit_in_memory(TASK, config, datasets.locate(name))
    assert [run.facts["splits"][split]["windows"] for split in ("train", "validation", "test")] == counts
    assert run.state.shared == shared
    assert score_of(run, "multiway", "mse")["value"] <= mse
    assert score_of(run, "multiway", "mae")["value"] <= mae
    held = {row["level"]: row["actual"] for row in run.facts["coverage"]}
    assert held[80] > 60 and held[95] > 90 and not TASK.cautions(run)  # they miss less than twice what they may
