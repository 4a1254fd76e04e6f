"""Candidates are refitted before they are used: on which rows, with what kept, and what says so."""

import dataclasses

import numpy as np
import pytest
import torch

from multiway.tasks import lifecycle
from multiway.tasks.forecasting import candidates
from multiway.tasks.forecasting.encode import prepare_panel, sizes_of
from multiway.tasks.forecasting.floor import fit_floor, refit_floor
from multiway.tasks.forecasting.network import all_forecasts
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import HORIZON, LOOKBACK, fitted, forecast, make_config, make_frame, make_windows
from tolerances import ROUNDING32


def by_hand(rows, penalty):
    """One ridge matrix for all series of some rows, in a loop over windows, `(horizon, lookback)`."""
    gram, cross = np.zeros((LOOKBACK, LOOKBACK)), np.zeros((LOOKBACK, HORIZON))
    for series in rows.T:
        for start in range(len(rows) - LOOKBACK - HORIZON + 1):
            past = series[start : start + LOOKBACK]
            future = series[start + LOOKBACK : start + LOOKBACK + HORIZON]
            gram += np.outer(past - past[-1], past - past[-1])
            cross += np.outer(past - past[-1], future - past[-1])
    return np.linalg.solve(gram + penalty * np.eye(LOOKBACK), cross).T


@pytest.mark.parametrize(("use", "rows"), [("test", 240), ("future", 300)])
def test_ridge_is_refitted_on_the_rows_before_what_it_forecasts(use, rows):
    frame = make_frame(variates=1)
    run = fitted(frame, network=False)
    assert run.facts["refit"][use] == rows
    scaled = run.state.scaler.transform(frame.iloc[:, 1:].to_numpy()).astype(np.float32)
    windows = {"train": 210 - LOOKBACK - HORIZON + 1, use: rows - LOOKBACK - HORIZON + 1}
    floor = run.prepared.floor
    expected = by_hand(scaled[:rows].astype(np.float64), floor.penalty * windows[use] / windows["train"])
    found = run.model.fitted_for(use).floor.weight[0]
    torch.testing.assert_close(found, torch.from_numpy(expected).float(), rtol=ROUNDING32, atol=ROUNDING32)


def test_matrices_refitted_on_the_same_windows_are_the_same():
    windows = make_windows(400, 3, 7, 5)
    windows.rows[:, 1] *= -1
    for own in (False, True):
        floor = fit_floor(windows, make_windows(90, 3, 7, 5, seed=4), own=own)
        torch.testing.assert_close(refit_floor(floor, windows).expand_as(floor.weight), floor.weight)


def test_own_matrices_are_drawn_towards_the_shared_one():
    windows = make_windows(150, 2, 5, 3)
    floor = fit_floor(windows, make_windows(60, 2, 5, 3, seed=4))
    near = refit_floor(_with(floor, shared=False, penalty=1e12), windows)
    torch.testing.assert_close(near, refit_floor(_with(floor, shared=True), windows).expand_as(near))
    x = windows.rows.T.double().unfold(1, 5, 1)[:, : len(windows)]
    y = windows.rows.T.double()[:, 5:].unfold(1, 3, 1)
    last = x[..., -1:]
    pairs = zip((x - last).numpy(), (y - last).numpy(), strict=True)  # the last column is zero: by singular values
    alone = torch.from_numpy(np.stack([np.linalg.lstsq(*pair)[0].T for pair in pairs])).float()
    far = refit_floor(_with(floor, shared=False, penalty=1e-6), windows)
    torch.testing.assert_close(far, alone, rtol=1e-3, atol=1e-3)


def _with(floor, **changes):
    return dataclasses.replace(floor, **changes)


def test_test_scores_are_of_the_rows_before_and_a_forecast_of_all(frame):
    """Test rows change the forecast after them, and neither the weights nor what is scored."""
    other = frame.copy()
    other.iloc[260:, 1:] = np.random.default_rng(2).permutation(other.iloc[260:, 1:].to_numpy())
    first, second = (fitted(each, network=False, answer="auto", levels=()) for each in (frame, other))
    batch = first.prepared.windows["validation"].gather(torch.arange(3))
    for use in ("validation", "test", "future"):
        one, changed = (all_forecasts(run, batch["past"], use=use) for run in (first, second))
        assert torch.equal(one["ridge"], changed["ridge"]) == (use != "future"), use
    assert torch.equal(first.model.weight, second.model.weight)


def test_a_run_without_a_refit_has_one_fit(frame):
    run, repeated = (fitted(frame, network=False, refit=refit) for refit in ("none", "all"))
    assert run.facts["refit"] == {} and run.model.fitted_for("future") is run.model
    past = torch.randn(2, LOOKBACK, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(run.model(past), repeated.model(past))
    assert not any("refits" in name for name in run.model.state_dict())


def test_a_published_protocol_fits_once(frame):
    config = make_config(network=False, split={"protocol": "leaky_random_windows"})
    run = lifecycle.make(TASK, config, frame)
    assert run.config.refit == "none" and not run.model.refits


def test_the_first_line_says_on_which_rows(frame, tmp_path):
    run = fitted(frame, network=False)
    assert run.line.endswith("Refitted on 240 rows for the test rows, on all 300 for the future.")
    save_run(run, tmp_path / "run")
    stored = load(tmp_path / "run")
    assert stored.line == run.line
    np.testing.assert_array_equal(forecast(stored, frame)["multiway"], forecast(run, frame)["multiway"])


def test_the_line_says_that_a_network_is_not_refitted(finished):
    assert finished.line.endswith("for the future; the network saw the training rows alone.")


def test_a_series_without_a_training_value_is_still_hidden(frame):
    frame.loc[:249, "series 1"] = None
    windows = prepare_panel(make_config(read={"missing": "mask"}), frame).before(300)
    assert windows.never_observed.tolist() == [False, True, False] and windows.observed[260, 0]


def test_arima_keeps_the_form_that_was_chosen():
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    frame = make_frame(rows=90, variates=1)
    run = fitted(frame, network=False, answer="arima", refit="all")
    first = run.model.candidates["arima"]
    rows = candidates.series_of(run.prepared.before(90), first.units)
    repeated = candidates.build("arima", sizes_of(run.config, run.state))
    repeated.fit_series(rows, first.forms)
    kept = run.model.refits["future"]["arima"].weight
    torch.testing.assert_close(kept, repeated.weight)
    assert not torch.equal(kept, first.weight) and first.forms[0]["order"] == repeated.forms[0]["order"]


def test_series_without_a_model_are_named():
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    frame = make_frame(rows=90, variates=2).assign(flat=7.0)
    notes = fitted(frame, network=False, answer="ets").facts["notes"]
    assert "ets: no model was found for flat; it forecasts them by smoothing of weight one half" in notes
