import numpy as np
import pytest
import torch

from multiway.data import Scaler
from multiway.metrics.quantiles import TENTHS, crps, pinball, sql, wql
from multiway.ops import naive
from multiway.tasks.forecasting.scores import Around, Units, forecast_rows, measure
from tasks.forecasting.panels import make_windows
from tolerances import COARSE32, LONG32, SUMS32

SCALER = Scaler(np.array([3.0, -20.0]), np.array([0.5, 7.0]))
MASE_SCALE = np.array([0.4, 0.9])
UNITS = Units(SCALER.std, MASE_SCALE)


def wrong_forecast(past, observed):
    """Twice the last value plus the step, so that no metric is trivial."""
    return {"twice": 2 * past[:, -1:] + torch.arange(5.0)[None, :, None]}


def cells(windows):
    """Forecast, target and mask of every cell as NumPy, one batch."""
    batch = windows.gather(torch.arange(len(windows)))
    keep = batch.get("future_observed", torch.ones_like(batch["future"], dtype=torch.bool))
    forecast = wrong_forecast(batch["past"], None)["twice"]
    return forecast.double().numpy(), batch["future"].double().numpy(), keep.numpy()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_scores_agree_with_numpy(missing, monkeypatch):
    windows = make_windows(90, 2, 6, 5, missing=missing)
    monkeypatch.setattr("multiway.tasks.forecasting.windows.BATCH_CELLS", 130)  # several unequal batches
    rows = forecast_rows(measure(windows, wrong_forecast, SCALER), "test", UNITS)
    got = {(row["scale"], row["metric"]): row["value"] for row in rows}
    forecast, target, keep = cells(windows)
    error = np.where(keep, forecast - target, np.nan)
    assert got["scaled", "mse"] == pytest.approx(np.nanmean(error**2), rel=SUMS32)
    assert got["scaled", "mae"] == pytest.approx(np.nanmean(np.abs(error)), rel=SUMS32)
    assert got["scaled", "mase"] == pytest.approx(np.mean(np.nanmean(np.abs(error), (0, 1)) / MASE_SCALE), rel=SUMS32)
    f, y = (np.where(keep, SCALER.inverse(part), np.nan) for part in (forecast, target))
    assert got["original", "mse"] == pytest.approx(np.nanmean((f - y) ** 2), rel=SUMS32)
    assert got["original", "mae"] == pytest.approx(np.nanmean(np.abs(f - y)), rel=SUMS32)
    assert got["original", "rmse"] == pytest.approx(np.nanmean((f - y) ** 2) ** 0.5, rel=SUMS32)
    assert got["original", "wape"] == pytest.approx(np.nansum(np.abs(f - y)) / np.nansum(np.abs(y)), rel=SUMS32)
    smape = np.nanmean(2 * np.abs(f - y) / (np.abs(f) + np.abs(y)))
    assert got["original", "smape"] == pytest.approx(smape, rel=LONG32)
    assert len(got) == len(rows) == 8


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_quantiles_of_every_model_are_scored_and_the_bands_of_ours(missing):
    windows, generator = make_windows(90, 2, 6, 5, missing=missing), torch.Generator().manual_seed(4)
    tenths = torch.randn(9, 5, 2, generator=generator).sort(0).values
    edges = torch.rand(2, 2, 5, 2, generator=generator) * torch.tensor([-1.0, 2.0])[None, :, None, None]
    around = {"multiway": Around(tenths, edges), "naive": Around(tenths / 2, edges[:0])}
    errors = measure(windows, lambda past, _: {name: naive(past, 5) for name in around}, SCALER, around)
    rows = forecast_rows(errors, "test", UNITS._replace(levels=(80.0, 95.0)))
    batch = windows.gather(torch.arange(len(windows)))
    keep = cells(windows)[2]
    forecast, target = (part.double().numpy() for part in (naive(batch["past"], 5), batch["future"]))
    truth = SCALER.inverse(np.where(keep, target, np.nan))
    for name, half in (("multiway", 1.0), ("naive", 0.5)):
        got = {row["metric"]: row["value"] for row in rows if row["model"] == name}
        said = np.stack([SCALER.inverse(forecast + half * offset) for offset in tenths.double().numpy()], -1)
        expected = {score.__name__: score(truth, said, TENTHS) for score in (pinball, crps, wql)}
        scales = np.broadcast_to(SCALER.std * MASE_SCALE, truth.shape)
        each = [sql(truth[..., place], said[..., place, :], TENTHS, scales[..., place]) for place in range(2)]
        for metric, value in {**expected, "sql": np.mean(each)}.items():
            assert got[metric] == pytest.approx(value, rel=SUMS32)
    own = {row["metric"]: row["value"] for row in rows if row["model"] == "multiway"}
    low, high = edges[0].double().numpy()
    inside = (target - forecast >= low) & (target - forecast <= high) & keep
    assert own["coverage_80"] == pytest.approx(np.mean(inside.sum((0, 2)) / keep.sum((0, 2))))
    assert "coverage_80" not in {row["metric"] for row in rows if row["model"] == "naive"}


def test_scores_that_depend_on_the_level_follow_it():
    """A series that is lifted by a level has smaller relative errors, and the same scaled ones."""
    low, high = (Scaler(np.full(2, mean), np.ones(2)) for mean in (10.0, 1000.0))
    windows = make_windows(90, 2, 6, 5)
    near, far = (
        {row["metric"]: row["value"] for row in forecast_rows(measure(windows, wrong_forecast, each), "test", UNITS)}
        for each in (low, high)
    )
    assert far["wape"] < near["wape"] / 50 and far["smape"] < near["smape"] / 50 and far["mase"] == near["mase"]


def test_a_panel_of_zeros_has_no_percentage_of_its_size():
    windows = make_windows(90, 2, 6, 5)
    windows.rows.zero_()
    flat = Scaler(np.zeros(2), np.ones(2))
    rows = forecast_rows(measure(windows, lambda past, _: {"naive": naive(past, 5) + 1}, flat), "test", UNITS)
    assert next(row["value"] for row in rows if row["metric"] == "wape") is None


def test_errors_are_kept_by_step_and_variate():
    windows = make_windows(90, 2, 6, 5, missing=0.3)
    errors = measure(windows, wrong_forecast, SCALER)["twice"]
    forecast, target, keep = cells(windows)
    expected = np.nanmean(np.where(keep, (forecast - target) ** 2, np.nan), 0)
    np.testing.assert_allclose((errors.squared / errors.count).numpy(), expected, rtol=SUMS32)
    np.testing.assert_array_equal(errors.count.numpy(), keep.sum(0))


def test_no_window_is_dropped():
    windows = make_windows(90, 2, 6, 5)
    seen = torch.cat([batch["start"] for batch in windows.batches()])
    assert seen.tolist() == list(range(90 - 6 - 5 + 1))
    assert measure(windows, wrong_forecast, SCALER)["twice"].count.unique().tolist() == [80.0]


def test_one_forecast_under_two_names_scores_alike():
    def twins(past, observed):
        forecast = naive(past, 5)
        return {"a": forecast, "b": forecast, "c": forecast.clone()}

    errors = measure(make_windows(90, 2, 6, 5), twins, SCALER)
    assert torch.equal(errors["a"].squared, errors["c"].squared) and torch.equal(errors["b"].count, errors["c"].count)


def test_a_perfect_forecast_of_zero_has_no_percentage_error():
    windows = make_windows(90, 2, 6, 5)
    windows.rows.zero_()
    errors = measure(windows, lambda past, observed: {"naive": naive(past, 5)}, SCALER)["naive"]
    assert errors.symmetric.abs().max() == 0


def test_enormous_errors_stay_finite():
    errors = measure(make_windows(30, 2, 6, 5), lambda past, _: {"far": naive(past, 5) * 0 + 1e30}, SCALER)["far"]
    assert float(errors.squared[0, 0] / errors.count[0, 0]) == pytest.approx(1e60, rel=COARSE32)
