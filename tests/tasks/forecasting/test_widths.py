"""Bands as wide as a network's quantiles or covariates say, where validation gains by it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from interruption import stop_after
from multiway.data import Scaler
from multiway.models.regression import Regressors
from multiway.models.weighed_forecasts import InGroups, MeanOfNetworks, answers_of
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.bands import SLOPES, Bands
from multiway.tasks.forecasting.forecasts import backtest_frame, forecast_columns
from multiway.tasks.forecasting.held_out import Stretch
from multiway.tasks.forecasting.intervals import bands_of_errors, fit_bands
from multiway.tasks.forecasting.networks import WindowLoss, model_of
from multiway.tasks.forecasting.scores import Around, Following, measure
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows, inputs_of
from multiway.training import Interrupted
from tasks.forecasting.panels import HORIZON, LOOKBACK, QUICK, TINY, fitted, forecast, make_config, make_frame
from tolerances import ROUNDING32, SUMS32

SHARES = [0.1, 0.5, 0.9]
WIDE = 6.0
"""What a flag multiplies noise by."""


def flagged(rows, seed, share=0.1):
    """Windows of noise of two series, the first of which is wider where a flag, which is known ahead, is on."""
    generator = torch.Generator().manual_seed(seed)
    flag = (torch.rand(rows, 1, generator=generator) < share).float()
    noise = torch.randn(rows, 2, generator=generator)
    noise[:, 0] *= 1 + (WIDE - 1) * flag[:, 0]
    windows = Windows(noise, None, start=0, stop=rows, lookback=LOOKBACK, horizon=HORIZON)
    empty = torch.zeros(rows, 1, 0)
    return windows.with_covariates(Regressors(flag[:, None], empty, torch.zeros(rows, dtype=torch.int64)))


def test_one_window_says_nothing_of_what_widens_bands():
    errors = np.random.default_rng(5).standard_normal((3, 2, 1))
    bands = bands_of_errors(errors, [80.0], 3, known=torch.ones(1, 3, 2, 1))
    assert bands.slopes is None
    torch.testing.assert_close(bands.offsets, bands_of_errors(errors, [80.0], 3).offsets, rtol=0, atol=0)


def zero(past, *_):
    return {"multiway": torch.zeros(len(past), HORIZON, 2)}


def by_flag(past, observed, covariates):
    """A network that knows how wide the first series is above the forecast; of the other it says anything."""
    flag = covariates.known[:, -HORIZON:, :, 0]
    widths = torch.cat([1 + (WIDE - 1) * flag, past[:, -HORIZON:, 1:].abs()], -1)
    return torch.stack([widths, widths])


def held(bands, windows, spread=None):
    """Share within 80 % bands where the flag is on and off, `(flag, series)`, by the scores' own scales."""
    batch = windows.gather(torch.arange(len(windows)))
    widths = bands.widths(spread, *inputs_of(batch))
    low, high = bands.edges((80.0,))[0][:, None] * widths
    inside = ((low <= batch["future"]) & (batch["future"] <= high)).double()
    on = batch["known"][:, -HORIZON:, :, 0].expand_as(inside) > 0
    return torch.stack([(inside * each).sum((0, 1)) / each.sum((0, 1)) for each in (on, ~on)])


def test_covariates_make_bands_hold_on_flagged_days_what_they_should():
    bands = fit_bands([Stretch(flagged(3000, 1), zero)], (80.0,))["multiway"]
    assert bands.causes["by_covariates"].tolist() == [True, False] and not bands.causes["by_network"].any()
    alone = fit_bands([Stretch(flagged(3000, 1).replace(covariates=None), zero)], (80.0,))["multiway"]
    on, off = held(bands, flagged(3000, 2))
    assert held(alone, flagged(3000, 2))[0, 0] < 0.35
    assert abs(on[0] - 0.8) < 0.06 and abs(off[0] - 0.8) < 0.03


def test_a_network_s_quantiles_make_bands_hold_where_they_say_how_wide_errors_are():
    windows = flagged(3000, 1)
    bands = fit_bands([Stretch(windows, zero, by_flag)], (80.0,))["multiway"]
    assert bands.causes["by_network"].tolist() == [True, False]
    assert not bands.causes["by_covariates"].any()  # nothing is left for them
    on, off = held(bands, flagged(3000, 2), by_flag)
    assert abs(on[0] - 0.8) < 0.05 and abs(off[0] - 0.8) < 0.03


def test_few_windows_and_a_flag_that_says_nothing_leave_bands_as_they_are():
    for windows in (flagged(40, 1), flagged(1000, 1, share=0.0)):
        assert not fit_bands([Stretch(windows, zero)], (80.0,))["multiway"].vary


def test_scores_are_of_the_bands_of_each_window():
    bands, later = fit_bands([Stretch(flagged(3000, 1), zero)], (80.0,))["multiway"], flagged(300, 2)
    tenths = bands.at([share / 10 for share in range(1, 10)])
    following = Following(bands, later)
    around = {"multiway": Around(tenths, bands.edges((80.0,)), following)}
    found = measure(later, zero, Scaler(np.zeros(2), np.ones(2)), around)["multiway"]
    batch = later.gather(torch.arange(len(later)))
    widths = bands.widths(None, *inputs_of(batch))[0]
    low, high = (edge * widths for edge in bands.edges((80.0,))[0])
    assert torch.equal(found.inside[0], ((low <= batch["future"]) & (batch["future"] <= high)).double().sum(0))
    apart = (batch["future"] - tenths[0] * widths).double()
    np.testing.assert_allclose(found.lost[0], torch.maximum(0.1 * apart, -0.9 * apart).sum(0), rtol=SUMS32)
    np.testing.assert_allclose(following.mean[0], widths.mean(0), rtol=SUMS32)


def noisy_days(rows=1500, seed=4):
    """Two series of noise, ten times as large where `event` is on."""
    rng = np.random.default_rng(seed)
    event = rng.random(rows) < 0.1
    values = rng.normal(size=(rows, 2)) * np.where(event, 10, 1)[:, None] + 50
    times = pd.date_range("2020-01-01", periods=rows, freq="D")
    return pd.DataFrame({"date": times, "a": values[:, 0], "b": values[:, 1], "event": event})


@pytest.fixture(scope="module")
def run():
    changes = {"network": False, "answer": "auto", "future": ("event",), "calendar": False, "season": 1}
    return fitted(noisy_days(), **changes)


def test_forecasts_and_backtests_are_wide_where_the_plan_says_so(run):
    frame, panel = noisy_days(), run.prepared.panel
    assert Bands.read(run.calibration).causes["by_covariates"].all()
    assert any(note.startswith("The bands widen and narrow with what is known ahead.") for note in run.facts["notes"])
    table = backtest_frame(run, panel, cutoffs=40, step=3, levels=(80.0,))
    width = table["multiway-hi-80"] - table["multiway-lo-80"]
    on = table["ds"].isin(frame["date"][frame["event"]])
    assert width[on].min() > 3 * width[~on].max()
    inside = (table["multiway-lo-80"] <= table["y"]) & (table["y"] <= table["multiway-hi-80"])
    assert inside[on].mean() > 0.6
    row = panel.num_rows - HORIZON - 1
    last = table[table["cutoff"] == panel.times[row]]
    plan = panel.slice(row + 1, panel.num_rows).covariates
    columns = forecast_columns(run, panel.slice(0, row + 1), (80.0,), (0.1,), use="test", plan=plan)
    for place, name in enumerate(("a", "b")):
        own = last[last["unique_id"] == name]
        np.testing.assert_allclose(columns["multiway-lo-80"][:, place], own["multiway-lo-80"], rtol=ROUNDING32)
        np.testing.assert_allclose(columns["multiway-q-10"][:, place], own["multiway-lo-80"], rtol=ROUNDING32)


def test_a_run_of_before_has_bands_that_know_nothing(run):
    older = dataclasses.replace(run, calibration={k: v for k, v in run.calibration.items() if k != SLOPES})
    assert not Bands.read(older.calibration).causes["by_covariates"].any()
    TASK.check_stored(older)


def quantile_config(**changes):
    return make_config(**{"model": {**TINY, "quantiles": SHARES}, "answer": "network", **changes})


def test_a_network_of_quantiles_is_stored_and_goes_on_to_the_same_bits(data_file, tmp_path, monkeypatch):
    config = quantile_config(data=str(data_file), training={**QUICK, "epochs": 2, "checkpoint_seconds": 0})
    whole = lifecycle.start(TASK, config, tmp_path / "whole")
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_after(patch, 3)
        lifecycle.start(TASK, config, tmp_path / "run")
    resumed = lifecycle.continue_run(tmp_path / "run")
    assert resumed.scores == whole.scores
    loaded, past = lifecycle.load(tmp_path / "whole"), whole.prepared.windows["test"].spread(5)["past"]
    for other in (resumed, loaded):
        assert torch.equal(model_of(other).spread(past), model_of(whole).spread(past))
        pd.testing.assert_frame_equal(forecast(other, str(data_file)), forecast(whole, str(data_file)))


def test_the_network_is_trained_and_validated_by_the_pinball_of_all_its_quantiles():
    run = fitted(make_frame(), model={**TINY, "quantiles": SHARES}, answer="network", partner="auto")
    network = model_of(run).network
    assert answers_of(network) == [*SHARES, None]  # and the partner
    validation = run.prepared.windows["validation"]
    batch = validation.gather(torch.arange(len(validation)))
    with torch.no_grad():
        first, second = network.networks
        levels, partner = first.forward_with_quantiles(batch["past"]), second(batch["past"])
        total, count = WindowLoss("mse", (), answers_of(network))(network, batch)
    truth, shares = batch["future"][..., None] - levels, torch.tensor(SHARES)
    pinball = 2 * torch.maximum(shares * truth, (shares - 1) * truth).mean()
    expected = (3 * pinball + (batch["future"] - partner).square().mean()) / 4
    torch.testing.assert_close(total / count, expected)


def test_several_networks_and_groups_have_the_mean_spread_and_that_of_each_group():
    run = fitted(make_frame(), model={**TINY, "quantiles": SHARES}, answer="network", partner="auto", members=2)
    network, past = model_of(run).network.eval(), run.prepared.windows["test"].spread(4)["past"]
    with torch.no_grad():
        each = torch.stack([member.spread(past) for member in network.networks[:2]])
        torch.testing.assert_close(network.spread(past), each.mean(0))
        groups, wide = InGroups(MeanOfNetworks(list(network.networks[:2])), 3), torch.cat([past, 2 * past], 2)
        torch.testing.assert_close(groups.spread(wide), torch.cat([each.mean(0), network.spread(2 * past)], -1))
