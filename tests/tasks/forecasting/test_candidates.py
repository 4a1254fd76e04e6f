"""Candidates are found by being there, and one of another distribution is like any other."""

import itertools

import pytest

from multiway import lazy
from multiway.errors import ConfigError
from multiway.tasks import candidate
from multiway.tasks.forecasting.candidate import candidates
from multiway.tasks.forecasting.page import report
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import allowed, fitted, forecast, make_config, make_frame, make_windows

MEAN = '''
import torch
from torch import nn
from multiway.tasks.forecasting.candidate import ForecastCandidate

class Mean(nn.Module):
    def __init__(self, horizon, series):
        super().__init__()
        self.horizon, self.level = horizon, nn.Buffer(torch.zeros(series))

    def forward(self, past):
        return (past * 0 + self.level)[:, :1].expand(-1, self.horizon, -1)

class MeanOfAll(ForecastCandidate):
    """The mean of the rows that it is fitted on."""
    name, words, cost = "mean_of_all", "mean of all rows", 2.5

    def can_answer(self, facts):
        return facts.rows < 1000

    def build(self, sizes):
        return Mean(sizes.horizon, len(sizes.units.mean))

    def fit(self, model, training, validation):
        model.level.copy_(training.windows.rows.mean(0))

    def refit(self, model, fitted, data):
        self.fit(model, data, data)

CANDIDATE = MeanOfAll()
'''


def test_they_are_named_by_their_modules_and_in_the_order_of_their_cost():
    every = candidates()
    assert [*every][:3] == ["naive", "seasonal_naive", "ridge"]
    assert set(candidate.names_of("multiway.tasks.forecasting.candidates", "forecast")) == set(every)
    assert all(name == each.name for name, each in every.items())
    assert all(one.cost < other.cost for one, other in itertools.pairwise(every.values()))


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A distribution with one candidate, installed."""
    (tmp_path / "means.py").write_text(MEAN)
    folder = tmp_path / "means-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: means\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[multiway.candidates]\nforecast.mean_of_all = means:CANDIDATE\n")
    monkeypatch.syspath_prepend(tmp_path)
    candidate.discover.cache_clear()
    lazy.read_entry_points.cache_clear()
    yield
    candidate.discover.cache_clear()
    lazy.read_entry_points.cache_clear()


def test_one_of_another_distribution_is_weighed_scored_refitted_stored_and_answers(plugin, tmp_path):
    frame = make_frame(rows=120)
    run = fitted(frame, network=False, answer="auto")
    assert run.state.candidates.index("mean_of_all") == run.state.candidates.index("ridge") + 1
    assert {"mean_of_all"} < {row["model"] for row in run.scores} & set(run.facts["selection"]["errors"])
    first, last = (made["mean_of_all"].level for made in (run.model.candidates, run.model.refits["future"]))
    assert (first != last).all()
    named = fitted(frame, network=False, answer="mean_of_all")
    assert named.answer.name == "mean_of_all" and set(named.state.candidates) < {*candidates()}
    save_run(run, tmp_path / "run")
    loaded = load(tmp_path / "run").with_answer("mean_of_all")
    table = forecast(loaded, frame)
    assert (table.groupby("unique_id")["multiway"].nunique() == 1).all()
    assert "mean of all rows" in report([run])


def test_one_that_is_not_installed_is_unknown():
    with pytest.raises(ConfigError, match=r"answer: Input should be .*'ridge'.*'mean_of_all'"):
        make_config(answer="mean_of_all")


def test_the_network_is_a_candidate_and_the_last_one():
    windows = make_windows(60, 2, 12, 4)
    assert [*candidates()][-1] == "network" and candidates()["network"].is_stepped
    assert allowed(windows, network=True)[-1] == "network" and "network" not in allowed(windows)
    run = fitted(make_frame(), network=True)
    assert run.state.candidates[-1] == "network" and [*run.model.every] == [*run.state.candidates]
