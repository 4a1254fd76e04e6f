import numpy as np
import pytest
import torch

from multiway.data import Scaler
from multiway.ops import naive
from multiway.tasks.forecasting.evaluation import measure, score_rows
from tasks.forecasting.panels import make_windows
from tolerances import COARSE32, LONG32, SUMS32

SCALER = Scaler(np.array([3.0, -20.0]), np.array([0.5, 7.0]))
MASE_SCALE = np.array([0.4, 0.9])


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
    monkeypatch.setattr("multiway.data.series.windows.BATCH_CELLS", 130)  # several unequal batches
    rows = score_rows(measure(windows, wrong_forecast, SCALER), "test", SCALER, MASE_SCALE)
    got = {(row["scale"], row["metric"]): row["value"] for row in rows}
    forecast, target, keep = cells(windows)
    for scale in ("scaled", "original"):
        f, y = (forecast, target) if scale == "scaled" else (SCALER.inverse(forecast), SCALER.inverse(target))
        error = np.where(keep, f - y, np.nan)
        assert got[scale, "mse"] == pytest.approx(np.nanmean(error**2), rel=SUMS32)
        assert got[scale, "mae"] == pytest.approx(np.nanmean(np.abs(error)), rel=SUMS32)
        assert got[scale, "smape"] == pytest.approx(np.nanmean(2 * np.abs(error) / (np.abs(f) + np.abs(y))), rel=LONG32)
        mase = np.mean(np.nanmean(np.abs(np.where(keep, forecast - target, np.nan)), (0, 1)) / MASE_SCALE)
        assert got[scale, "mase"] == pytest.approx(mase, rel=SUMS32)


def test_errors_are_kept_by_step_and_variate():
    windows = make_windows(90, 2, 6, 5, missing=0.3)
    errors = measure(windows, wrong_forecast, SCALER)["twice"]
    forecast, target, keep = cells(windows)
    expected = np.nanmean(np.where(keep, (forecast - target) ** 2, np.nan), 0)
    np.testing.assert_allclose((errors.squared / errors.count).numpy(), expected, rtol=SUMS32)
    np.testing.assert_array_equal(errors.count.numpy(), keep.sum(0))


def test_no_window_is_dropped():
    windows = make_windows(90, 2, 6, 5)
    seen = torch.cat([index for index, _ in windows.batches()])
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
    windows._rows.zero_()
    errors = measure(windows, lambda past, observed: {"naive": naive(past, 5)}, SCALER)["naive"]
    assert errors.symmetric_scaled.abs().max() == 0 and errors.symmetric.abs().max() == 0


def test_enormous_errors_stay_finite():
    errors = measure(make_windows(30, 2, 6, 5), lambda past, _: {"far": naive(past, 5) * 0 + 1e30}, SCALER)["far"]
    assert float(errors.squared[0, 0] / errors.count[0, 0]) == pytest.approx(1e60, rel=COARSE32)
