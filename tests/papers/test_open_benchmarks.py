"""Open benchmarks: our seasonal naive forecast is the published one, scores by hand, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fewer import few
from multiway.errors import ConfigError
from multiway.models.aligned import DrawnIn
from multiway_papers import reproduce
from multiway_papers.open_benchmarks import compare_open_benchmark, reproduce_open
from multiway_papers.open_floor import Outcome, Rows, Scale, aligned_forecast, choose_bands
from multiway_papers.open_tasks import (
    BASE,
    METRICS,
    QUANTILES,
    Actual,
    Item,
    OpenTask,
    naive_quantiles,
    published_results,
    scores_of,
)


@pytest.mark.parametrize(
    ("benchmark", "rows"), [("fev", ["epf_np", "epf_pjm", "epf_be", "ETT_1H"]), ("gift", None)], ids=["fev", "gift"]
)
def test_our_seasonal_naive_equals_the_published(benchmark, rows, real_data, monkeypatch):
    monkeypatch.setattr("multiway_papers.open_benchmarks.METHODS", naive_alone())
    published = published_results(benchmark).set_index(["model", "row"])
    ours = [*reproduce_open(benchmark, rows)]
    assert len(ours) == (4 if rows else 6)
    for row in ours:
        for metric in METRICS[benchmark]:
            assert row[metric] == pytest.approx(published.loc[(BASE[benchmark], row["row"]), metric], abs=5e-5)


def test_seasonal_naive_of_the_weather_equals_the_published_to_three_digits(real_data, monkeypatch):
    # Their file has its gap of 100 minutes filled in, ours has not.
    monkeypatch.setattr("multiway_papers.open_benchmarks.METHODS", naive_alone())
    [row] = reproduce_open("fev", ["jena_10t"])
    assert row["MASE"] == pytest.approx(0.7300, abs=3e-4)
    assert row["SQL"] == pytest.approx(0.6730, abs=3e-4)


def naive_alone():
    return {"seasonal_naive": naive_quantiles}


def test_scores_by_hand():
    task = OpenTask(benchmark="fev", row="x", files=(), horizon=2, windows=1, season=1)
    actual = np.array([[[1.0], [3.0]]])
    windows = [Actual(actual, np.array([[0.5]]))]
    levels = [np.broadcast_to(2.0, (1, 2, 1, len(QUANTILES)))]
    # Every quantile is 2: twice the pinball loss is 2 (1 - p) below and 2 p above, one on the average.
    expected = {"MASE": 2.0, "SQL": 2.0, "WAPE": 0.5, "WQL": 0.5, "coverage_80": 0.0, "coverage_95": 0.0}
    assert scores_of(task, windows, levels) == pytest.approx(expected)
    gift = OpenTask(benchmark="gift", row="x", files=(), horizon=2, windows=1, season=1)
    assert scores_of(gift, windows, levels)["WQL"] == pytest.approx(0.5)


def test_a_better_forecast_of_the_quantiles_scores_better():
    task = OpenTask(benchmark="gift", row="x", files=(), horizon=500, windows=1, season=1)
    drawn = np.random.default_rng(0).normal(size=(1, 500, 1)) + 5
    sharp, wide = (
        np.broadcast_to(5 + width * pd.Series(QUANTILES).map(_normal).to_numpy(), (1, 500, 1, 11)) for width in (1, 3)
    )
    windows = [Actual(drawn, np.ones((1, 1)))]
    true, blurred = (scores_of(task, windows, [levels]) for levels in (sharp, wide))
    assert true["WQL"] < 0.8 * blurred["WQL"]
    assert abs(true["coverage_80"] - 0.8) < 0.05 < blurred["coverage_80"] - 0.8


def _normal(share):
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def test_published_models_are_listed_with_ours_and_seconds(real_data):
    rows = [{"row": "epf_np", "model": "x", "MASE": 0.9, "SQL": 0.7, "WAPE": 0.1, "WQL": 0.1, "seconds": 3.0}]
    lines = compare_open_benchmark("fev", rows)
    [ours] = [line for line in lines if line["model"] == "multiway x"]
    assert len(lines) == 31
    assert ours["mean relative MASE"] == pytest.approx(0.9 / 1.761304, abs=1e-6)
    assert ours["seconds"] == 3.0
    [trained] = [line for line in lines if line["model"] == "PatchTST"]
    assert trained["seconds"] > 1000


def test_what_is_none_of_a_benchmark_is_refused():
    with pytest.raises(ConfigError, match="fev has no task epf_nq; did you mean epf_np"):
        [*reproduce("fev", rows=["epf_nq"])]
    with pytest.raises(ConfigError, match="gift is run as it was published"):
        [*reproduce("gift", forms=["paper"], seeds=3)]


def test_a_row_holds_protocol_and_fingerprint(real_data, tmp_path, monkeypatch):
    monkeypatch.setattr("multiway_papers.open_benchmarks.METHODS", naive_alone())
    out = tmp_path / "rows.jsonl"
    [shown] = reproduce_open("fev", ["epf_be"], Path(out))
    stored = json.loads(out.read_text())
    assert stored["benchmark_task"] == {
        "benchmark": "fev", "row": "epf_be", "files": ["epf/BE.csv.gz"], "horizon": 24, "windows": 20, "season": 24,
        "target": "OT", "every": 1, "context": 1000, "quantiles": "0.1 to 0.9",
    }  # fmt: skip
    assert stored["data"] == shown["data"] == "a7950df5f12f6744"


def made_item(rows=24 * 130):
    make = np.random.default_rng(3)
    known = np.repeat(make.normal(size=rows // 24), 24) + make.normal(size=rows) / 5
    values = 50 + 10 * np.sin(np.arange(rows) * 2 * np.pi / 24) + 5 * known + make.normal(size=rows)
    times = pd.date_range("2020-01-01", periods=rows, freq="h")
    return Item(pd.DataFrame({"time": times, "load": known, "price": values}), ("price",))


@pytest.mark.parametrize("horizon", few([24, 48], 24))
def test_no_forecast_sees_what_comes_after_its_window_begins(horizon, monkeypatch):
    monkeypatch.setattr("multiway.models.aligned.EXAMPLES", 101)
    monkeypatch.setattr("multiway_papers.open_floor.WEIGHTS", (0.5,))
    task = OpenTask(benchmark="fev", row="x", files=(), horizon=horizon, windows=3, season=24, target="price")
    item = made_item()
    later = item.frame.copy()
    later.loc[len(later) - horizon :, "price"] += 1000
    one, other = (aligned_forecast(task, each) for each in (item, Item(later, item.targets)))
    np.testing.assert_array_equal(one, other)
    assert np.abs(one[..., 5] - item.values[-3 * horizon :].reshape(3, horizon, 1)).mean() < 3


def test_bands_of_half_a_day_have_the_errors_of_that_half(monkeypatch):
    monkeypatch.setattr("multiway.models.aligned.EXAMPLES", 101)
    monkeypatch.setattr("multiway_papers.open_floor.WEIGHTS", (0.5,))
    task = OpenTask(benchmark="fev", row="x", files=(), horizon=12, windows=6, season=24, target="price")
    item = made_item()
    frame, is_late = item.frame.copy(), np.arange(len(item.frame)) % 24 >= 12
    frame["price"] += is_late * np.random.default_rng(7).normal(scale=20, size=len(frame))
    levels = aligned_forecast(task, Item(frame, item.targets))
    widths = (levels[..., -2] - levels[..., 1]).mean((1, 2))
    assert (widths[1::2] > 4 * widths[::2]).all()


def errors_of_one_size_in(units):
    """Forecasts between 1 and 1000 whose errors are of one size drawn in (`drawn`) or in the file (`file`)."""
    make = np.random.default_rng(5)
    forecast, noise = np.exp(make.uniform(0, 7, size=(211, 24, 1))), make.normal(size=(211, 24, 1))
    drawn = DrawnIn(1)
    future = np.sinh(np.arcsinh(forecast) + noise / 5) if units == "drawn" else forecast + 20 * noise
    return drawn, Outcome(*(drawn.into(torch.from_numpy(each)) for each in (forecast, future)))


@pytest.mark.parametrize("units", ["drawn", "file"])
def test_bands_have_their_errors_in_the_units_of_least_loss(units):
    drawn, outcome = errors_of_one_size_in(units)
    item = made_item()
    task = OpenTask(benchmark="fev", row="x", files=(), horizon=24, windows=3, season=24, target="price")
    scale, _ = choose_bands(outcome, drawn, Rows.of(task, item), 24 * 127)
    assert scale.is_drawn == (units == "drawn")


@pytest.mark.parametrize("is_drawn", [True, False])
def test_levels_are_forecasts_and_errors_in_one_scale(is_drawn):
    units = DrawnIn(2)
    units.set_units(torch.tensor([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]]))
    outcome = Outcome(*torch.randn(2, 3, 5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    scale = Scale(units, is_drawn=is_drawn)
    levels = scale.levels(outcome.forecast, scale.errors(outcome)[None])
    np.testing.assert_allclose(levels[..., 0], units.back(outcome.future), rtol=1e-12)
    moves = torch.tensor([0.5, 0.7], dtype=torch.float64)
    one = scale.levels(outcome.forecast, moves[None, None].numpy())
    by_hand = torch.sinh(outcome.forecast + moves * is_drawn) * units.spread + units.centre + moves * (not is_drawn)
    np.testing.assert_allclose(one[..., 0], by_hand, rtol=1e-12)
