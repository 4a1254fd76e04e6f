"""Candidates are refitted before they are used: on which rows, with what kept, and what says so."""

import dataclasses

import numpy as np
import pytest
import torch

from multiway.compress import LowRank
from multiway.tasks import lifecycle
from multiway.tasks.compressed import compress_run
from multiway.tasks.forecasting.candidate import candidates, series_in
from multiway.tasks.forecasting.candidates import network
from multiway.tasks.forecasting.encode import prepare_panel, sizes_of
from multiway.tasks.forecasting.forecasts import all_forecasts, last_window
from multiway.tasks.forecasting.networks import WindowLoss, build_network
from multiway.tasks.forecasting.refit import take_in
from multiway.tasks.forecasting.ridge import choose_ridge
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.run import load, save_run
from multiway.training import Interrupted, learning_rate_at, seed_everything
from multiway.training.steps import Steps, epoch_order
from tasks.forecasting.panels import HORIZON, LOOKBACK, QUICK, fitted, forecast, make_config, make_frame, make_windows
from tolerances import ROUNDING32

THREE = {**QUICK, "epochs": 3, "learning_rate": 0.02, "average": None}
RETRAINED = {"refit": "all", "answer": "network", "training": THREE}
"""Of a network whose second epoch is its best."""


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
    floor = run.prepared.ridge
    expected = by_hand(scaled[:rows].astype(np.float64), floor.penalty * windows[use] / windows["train"])
    found = run.model.fitted_for(use).floor.weight[0]
    torch.testing.assert_close(found, torch.from_numpy(expected).float(), rtol=ROUNDING32, atol=ROUNDING32)


def test_matrices_refitted_on_the_same_windows_are_the_same():
    windows = make_windows(400, 3, 7, 5)
    windows.rows[:, 1] *= -1
    for own in (False, True):
        floor = choose_ridge(windows, make_windows(90, 3, 7, 5, seed=4), own=own)
        torch.testing.assert_close(floor.refit(windows).expand_as(floor.weight), floor.weight)


def test_own_matrices_are_drawn_towards_the_shared_one():
    windows = make_windows(150, 2, 5, 3)
    floor = choose_ridge(windows, make_windows(60, 2, 5, 3, seed=4))
    near = _with(floor, shared=False, penalty=1e12).refit(windows)
    torch.testing.assert_close(near, _with(floor, shared=True).refit(windows).expand_as(near))
    x = windows.rows.T.double().unfold(1, 5, 1)[:, : len(windows)]
    y = windows.rows.T.double()[:, 5:].unfold(1, 3, 1)
    last = x[..., -1:]
    pairs = zip((x - last).numpy(), (y - last).numpy(), strict=True)  # the last column is zero: by singular values
    alone = torch.from_numpy(np.stack([np.linalg.lstsq(*pair)[0].T for pair in pairs])).float()
    far = _with(floor, shared=False, penalty=1e-6).refit(windows)
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
    assert not any(name.startswith("refits") and ".network." in name for name in finished.model.state_dict())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("retrained") / "loads.csv"
    make_frame().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def retrained(data):
    return lifecycle.start(TASK, make_config(data=str(data), **RETRAINED), data.parent / "run")


def trained_by_hand(run, use, rows, epochs):
    """From the same first draw, over the windows of some rows, by the first epochs of a schedule of three."""
    config, windows, loss = run.config.training, run.prepared.before(rows), WindowLoss("mae")
    seed_everything(config.seed)
    network = build_network(run.config, 3)
    network.start_from(lambda: run.model.refits[use]["ridge"].weight, None)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=config.weight_decay, fused=True)
    steps = [part for epoch in range(epochs) for part in epoch_order(len(windows), 0, epoch).split(64)]
    seed_everything(config.seed)
    for step, part in enumerate(steps):
        optimizer.param_groups[0]["lr"] = learning_rate_at(step, 3 * len(steps) // epochs, config)
        optimizer.zero_grad()
        total, count = loss(network, windows.gather(part))
        total.backward()
        for weight in network.parameters():
            weight.grad *= 1 / float(count)
        torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip_norm)
        optimizer.step()
    return network.state_dict()


@pytest.mark.parametrize(("use", "rows"), [("test", 240), ("future", 300)])
def test_a_network_is_trained_once_more_for_the_epochs_that_were_best(retrained, use, rows):
    epochs = retrained.facts["best"]["multiway"]["epoch"]
    assert retrained.facts["retrained"] == epochs == 2
    found = retrained.model.refits[use]["network"].state_dict()
    expected = trained_by_hand(retrained, use, rows, 2)
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=ROUNDING32, atol=ROUNDING32)


def test_what_follows_is_forecast_by_the_network_of_all_rows(retrained, frame):
    network = retrained.model.refits["future"]["network"]
    past, _ = last_window(retrained.prepared.panel, retrained.state.scaler, LOOKBACK)
    with torch.no_grad():
        expected = retrained.state.scaler.inverse(network(past)[0].double().numpy())
    found = forecast(retrained, frame)["multiway"].to_numpy().reshape(3, HORIZON).T
    np.testing.assert_allclose(found, expected, rtol=ROUNDING32)
    closed = fitted(frame, **{**RETRAINED, "refit": "closed"})
    assert not np.allclose(forecast(closed, frame)["multiway"], forecast(retrained, frame)["multiway"], rtol=1e-3)
    for name, weight in closed.model.network.state_dict().items():  # what validation chose is the same
        assert torch.equal(retrained.model.network.state_dict()[name], weight)
    assert closed.facts["parameters"] == retrained.facts["parameters"]
    stored = load(retrained.folder.path)
    assert stored.line == retrained.line and stored.line.endswith("the future, the network for 2 epochs.")
    np.testing.assert_array_equal(forecast(stored, frame)["multiway"], forecast(retrained, frame)["multiway"])


def test_a_network_without_a_share_is_not_trained_once_more(frame, monkeypatch):
    monkeypatch.setattr(network, "train", None)
    run = fitted(frame, refit="all", answer="ridge", network=True)
    assert run.facts["retrained"] == 0 and run.line.endswith("on all 300 for the future.")
    for name, weight in run.model.network.state_dict().items():
        assert torch.equal(run.model.refits["future"]["network"].state_dict()[name], weight)


@pytest.mark.parametrize("more", [1, 8, 12])
def test_a_stop_while_it_is_trained_once_more_changes_nothing(retrained, data, more, tmp_path, monkeypatch):
    """In the fit for the test rows, and in the one for the future."""
    original, taken = Steps.take, []

    def take(self, standing, request):
        taken.append(self.count)
        if len(taken) == 3 * 4 + more:
            request.name = "SIGTERM"
        return original(self, standing, request)

    monkeypatch.setattr(Steps, "take", take)
    with pytest.raises(Interrupted, match="SIGTERM"):
        lifecycle.start(TASK, make_config(data=str(data), **RETRAINED), tmp_path / "run")
    assert taken[-1] > taken[0]
    run = lifecycle.continue_run(tmp_path / "run")
    for name, weight in retrained.model.state_dict().items():
        assert torch.equal(run.model.state_dict()[name], weight), name


def test_later_rows_train_it_once_more_for_what_follows_them(retrained, data, tmp_path):
    make_frame(rows=330).iloc[300:].to_csv(tmp_path / "later.csv", index=False)
    run = take_in(load(retrained.folder.path), str(data), str(tmp_path / "later.csv"))
    expected = trained_by_hand(run, "future", 330, 2)
    for name, weight in run.model.refits["future"]["network"].state_dict().items():
        torch.testing.assert_close(weight, expected[name], rtol=ROUNDING32, atol=ROUNDING32)
    for name, weight in retrained.model.refits["test"].state_dict().items():
        assert torch.equal(run.model.refits["test"].state_dict()[name], weight)


def test_a_smaller_network_takes_the_place_of_all_that_were_trained(retrained, data, tmp_path):
    compress_run(retrained.folder.path, {"head.linear": LowRank(rank=1)}, out=tmp_path / "smaller")
    run = load(tmp_path / "smaller")
    assert run.config.refit == "closed" and run.line.endswith("; the network saw the training rows alone.")
    assert run.model.fitted_for("future").network is run.model.network
    assert not np.allclose(forecast(run, data)["multiway"], forecast(retrained, data)["multiway"], rtol=1e-3)


def test_a_series_without_a_training_value_is_still_hidden(frame):
    frame.loc[:249, "series 1"] = None
    windows = prepare_panel(make_config(read={"missing": "mask"}), frame).before(300)
    assert windows.never_observed.tolist() == [False, True, False] and windows.observed[260, 0]


@pytest.mark.filterwarnings("ignore:The 95 % interval held")
def test_the_form_of_arima_is_searched_on_the_rows_of_each_use():
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    frame = make_frame(rows=90, variates=1)
    run = fitted(frame, network=False, answer="arima", refit="all")
    first = run.model.candidates["arima"]
    rows = series_in(run.prepared.before(90), first.units)
    repeated = candidates()["arima"].build(sizes_of(run.config, run.state))
    repeated.fit_series(rows)
    kept = run.model.refits["future"]["arima"].gain
    torch.testing.assert_close(kept, repeated.gain)
    assert not torch.equal(kept, first.gain) and run.model.refits["future"]["arima"].forms == repeated.forms


def test_series_without_a_model_are_named():
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    frame = make_frame(rows=90, variates=2).assign(flat=7.0)
    notes = fitted(frame, network=False, answer="ets").facts["notes"]
    assert "ets: no model was found for flat; it forecasts them by smoothing of weight one half" in notes
