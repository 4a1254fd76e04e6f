"""Forecasters of the literature in a run: as baselines on its windows with one budget, and as its network."""

from typing import get_args

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.config import Peer
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, QUICK, make_config, make_frame

PEERS = get_args(Peer)
LOOKBACK = 16


def config(**changes):
    return make_config(lookback=LOOKBACK, training=QUICK, baseline_training={"epochs": 1}, **changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    make_frame().to_csv(folder / "loads.csv", index=False)
    chosen = config(data=str(folder / "loads.csv"), network=False, baselines=PEERS)
    return lifecycle.start(TASK, chosen, folder / "run")


def score(rows, model):
    key = {"model": model, "metric": "mse", "split": "test", "scale": "scaled"}
    return next(row["value"] for row in rows if key.items() <= row.items())


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_scored_on_every_window_of_the_run(run, name):
    windows = run.prepared.windows["test"]
    with torch.no_grad():
        errors = [(run.models[name](batch["past"]) - batch["future"]).double() for batch in windows.batches()]
    squared = torch.cat(errors).square()
    assert len(squared) == len(windows)
    assert score(run.scores, name) == pytest.approx(float(squared.mean()), rel=1e-6)


def test_peers_have_one_budget_and_say_what_they_cost(run):
    steps = {name: run.facts["best"][name]["steps"] for name in PEERS}
    assert len(set(steps.values())) == 1
    for name in PEERS:
        assert run.facts["parameters"][name] == sum(map(torch.numel, run.models[name].parameters()))
        assert run.facts["seconds"][name] > 0 and len(run.facts["histories"][name]) == 1


def test_a_stored_run_has_the_same_peers(run):
    loaded, past = lifecycle.load(run.folder.path), torch.randn(3, LOOKBACK, 3)
    for name in PEERS:
        assert torch.equal(loaded.models[name](past), run.models[name](past))


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_can_be_the_network_of_a_run(name):
    frame = make_frame()
    frame.iloc[20:30, 1] = np.nan
    fitted = lifecycle.fit_in_memory(
        TASK, config(model={"name": name}, answer="network", read={"missing": "mask"}), frame
    )
    assert type(fitted.model.network) is type(TASK.build(config(baselines=(name,)), fitted.state, name))
    assert score(fitted.scores, "multiway") == score(fitted.scores, "network")
    assert fitted.model(torch.randn(2, LOOKBACK, 3)).shape == (2, HORIZON, 3)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_forecasts_every_series_that_it_sees(name):
    with pytest.raises(ConfigError, match=f"{name} forecasts every series that it sees"):
        config(model={"name": name}, targets=("series 1",))
    with pytest.raises(ConfigError, match=f"the baseline {name} forecasts every series that it sees"):
        config(model={"name": "recurrent_forecaster"}, baselines=(name,), targets=("series 1",))
