"""A budget of time: what it leaves of a training, what is kept of it, and the forecast that is there first."""

import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import networks
from multiway.tasks.forecasting.candidates import network
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.forecasts import FIRST, last_window
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.protocol import OURS
from multiway.tasks.run import load
from tasks.forecasting.panels import fitted, forecast, make_config, make_frame


@pytest.mark.parametrize(
    ("given", "seconds"), [("60s", 60), ("1.5m", 90), ("1h", 3600), (7, 7), ("7", 7), (None, None)]
)
def test_a_time_is_written_with_its_unit(given, seconds):
    assert ForecastConfig(budget=given).budget == seconds


@pytest.mark.parametrize("given", ["60 s", "1d", "0s", "-3s", "s", True])
def test_what_is_no_time_is_refused(given):
    said = "are truth values. Give another value" if given is True else "give a time such as 60s, 10m or 1h"
    with pytest.raises(ConfigError, match=said):
        make_config(budget=given)


def planned(monkeypatch, seconds, spent=10.0, epoch=5.0, **changes):
    pace = networks.Pace(epoch=epoch, scoring=2.0)
    monkeypatch.setattr(networks, "pace_of", lambda config, prepared: pace)
    monkeypatch.setattr(networks.time, "monotonic", lambda: 100.0)
    config = make_config(budget=seconds, training={"epochs": 9}, **changes)
    return networks.plan_epochs(config, prepare_panel(config, make_frame()), spent)


def test_the_network_has_the_epochs_that_fit(monkeypatch):
    config, plan = planned(monkeypatch, 60)  # of which 38 are left: 30 with some to spare
    assert config.budget is None and config.training.epochs == 6
    assert "data and ridge took 10.0 s" in plan and "6 of 9 epochs of 5.0 s each" in plan
    assert not config.is_late(38 - 1e-6) and config.is_late(38 + 1e-6)
    assert ForecastConfig.parse(config.plain()) == config.replace() and not config.replace().is_late(1e9)


def test_refits_of_the_network_are_in_the_plan(monkeypatch):
    """They see 225 and 285 windows, the training 195: an epoch of each takes 18.1 seconds instead of 5."""
    config, plan = planned(monkeypatch, 150, refit="all", network=True)
    assert config.training.epochs == 5 and "5 of 9 epochs of 18.1 s each, with those of its refits." in plan


def test_no_more_than_the_settings_say(monkeypatch):
    assert planned(monkeypatch, 6000)[0].training.epochs == 9


def test_no_network_where_not_one_epoch_fits(monkeypatch):
    config, plan = planned(monkeypatch, 26, answer="network", members=2)
    assert config.network is False and config.answer == "ridge" and "one epoch would take 5.0 s" in plan
    assert config.budget is None


@pytest.mark.parametrize(("seconds", "answer"), [(159, "ridge"), (160, "auto")])
def test_closed_forms_are_fitted_where_all_of_them_fit(monkeypatch, seconds, answer):
    config, plan = planned(monkeypatch, seconds, network=False, answer="auto", model={})
    assert config.answer == answer and "about 150 s" in plan


def test_a_plan_without_closed_forms_is_kept(monkeypatch):
    monkeypatch.setattr(networks, "OTHERS", 1e9)
    run = fitted(make_frame(), network=False, answer="auto", model={}, budget="10m")
    assert run.state.candidates == ("naive", "seasonal_naive", "ridge") and run.config.answer == "ridge"


def test_several_processes_are_told_to_count_epochs(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match=r"Set training\.epochs"):
        planned(monkeypatch, 60)


def test_a_run_keeps_what_was_trained_and_its_settings_rebuild_it():
    run = fitted(make_frame(), budget="10m")
    repeated = lifecycle.fit_in_memory(TASK, ForecastConfig.parse(run.config.plain()), make_frame())
    assert run.config.budget is None and any(note.startswith("Budget of 600 s") for note in run.facts["notes"])
    pd.testing.assert_frame_equal(forecast(repeated, make_frame()), forecast(run, make_frame()))


def test_a_network_stops_where_the_time_is_over(monkeypatch):
    monkeypatch.setattr(ForecastConfig, "is_late", lambda config, seconds: seconds > 0)
    run = fitted(make_frame(), training={"epochs": 5, "warmup_steps": 0})
    assert run.facts["best"][OURS]["stopped"] == "The network stopped after 1 epochs, as the time is over."


def test_time_for_the_refits_of_the_network_is_kept(tmp_path, monkeypatch):
    """After one epoch: for the next, and for two on the windows of each refit."""
    reckoned = []
    monkeypatch.setattr(ForecastConfig, "is_late", lambda config, seconds: reckoned.append(seconds))
    make_frame().to_csv(tmp_path / "loads.csv", index=False)
    config = make_config(data=str(tmp_path / "loads.csv"), training={"epochs": 2}, refit="all", network=True)
    first = lifecycle.start(TASK, config, tmp_path / "run").folder.read_log()[0]
    assert reckoned[0] == pytest.approx(first["seconds"] * (1 + 2 * (225 + 285) / 195))


def test_ridge_forecasts_while_the_network_is_trained(tmp_path, monkeypatch):
    path, seen = tmp_path / "loads.csv", []
    make_frame().to_csv(path, index=False)

    def look(*given, **named):
        seen.append(pd.read_parquet(tmp_path / "run" / "state" / FIRST))
        return train(*given, **named)

    train = network.train_on_windows
    monkeypatch.setattr(network, "train_on_windows", look)
    lifecycle.start(TASK, make_config(data=str(path)), tmp_path / "run")
    run = load(tmp_path / "run")
    past, observed = last_window(prepare_panel(run.config, path).panel, run.state.scaler, run.config.lookback)
    with torch.no_grad():
        ridge = run.state.target_scaler.inverse(model_of(run).ridge(past, observed)[0].double().numpy())
    assert seen[0]["multiway"].to_numpy() == pytest.approx(ridge.T.ravel())
    expected = forecast(run, path).rename(columns={"ds": "date"})
    assert seen[0][["unique_id", "date"]].equals(expected[["unique_id", "date"]])
    assert not (tmp_path / "run" / "state").exists()
