"""Candidates of tasks on samples: found by being there, and those of other distributions by their entry points."""

import itertools

import numpy as np
import pytest
import torch

from multiway import lazy
from multiway.errors import ConfigError
from multiway.tasks import candidate
from multiway.tasks.candidate import CONSTANT, NETWORK
from multiway.tasks.lifecycle import fit_in_memory, load
from multiway.tasks.registry import task_of
from multiway.tasks.run import save_run
from multiway.tasks.tabular.config import TabularConfig

PLACES = {
    "tabular": "multiway.tasks.tabular.candidates",
    "series": "multiway.tasks.series.candidates",
    "text": "multiway.tasks.text.candidates",
    "images": "multiway.tasks.images.candidates",
    "volumes": "multiway.tasks.scans.candidates.volumes",
    "segment": "multiway.tasks.scans.candidates.segment",
    "stocks": "multiway_papers.stocks.candidates",
    "language": "multiway_papers.language.candidates",
}
NEAREST = """
import torch
from torch import nn
from multiway.tasks.candidate import LINEAR
from multiway.tasks.sample_candidate import SampleCandidate

class Nearest(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.centres = nn.Buffer(torch.zeros(classes, inputs, dtype=torch.float64))

    def forward(self, x):
        return -torch.cdist(x.double(), self.centres)

class NearestCentre(SampleCandidate):
    name, words, cost, rank = "nearest", "nearest centre", 0.5, LINEAR

    def can_answer(self, basis):
        return basis.state.classes is not None

    def build(self, basis):
        return Nearest(basis.state.num_inputs, len(basis.state.classes))

    def fit(self, model, training, validation):
        x, y = training.tensors
        model.centres.copy_(torch.stack([x[y == label].double().mean(0) for label in range(len(model.centres))]))
        return {"centres": len(model.centres)}

CANDIDATE = NearestCentre()
"""


@pytest.mark.parametrize("name", PLACES)
def test_they_are_named_by_their_modules_and_the_network_is_one_of_them(name):
    every = task_of(name).candidates()
    assert set(every) == set(candidate.names_of(PLACES[name], name))
    assert all(one == each.name for one, each in every.items())
    first, *_, last = every.values()
    assert first.rank == CONSTANT and last.name == NETWORK and last.by_steps
    costs = [each.cost for each in every.values()]
    assert all(one <= other for one, other in itertools.pairwise(costs))


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A distribution with one candidate for tables, installed."""
    (tmp_path / "nearest.py").write_text(NEAREST)
    folder = tmp_path / "nearest-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: nearest\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[multiway.candidates]\ntabular.nearest = nearest:CANDIDATE\n")
    monkeypatch.syspath_prepend(tmp_path)
    candidate.discover.cache_clear()
    lazy.read_entry_points.cache_clear()
    yield
    candidate.discover.cache_clear()
    lazy.read_entry_points.cache_clear()


def rows(count=120):
    """Two classes about centres of their own, as far from the line between them as those of a circle."""
    drawn = np.random.default_rng(0)
    labels = np.arange(count) % 2
    return drawn.normal(size=(count, 3)) + 3 * labels[:, None], np.array(["left", "right"])[labels]


def test_one_of_another_distribution_is_fitted_compared_stored_and_answers(plugin, tmp_path):
    settings = {"draws": 0, "training": {"epochs": 1}}
    run = fit_in_memory(task_of("tabular"), TabularConfig.parse(settings), rows())
    assert [*run.models][:3] == [NETWORK, "majority", "nearest"]
    assert run.facts["learnt"]["nearest"] == {"centres": 2}
    cases = {each.name: each.cases for each in run.answer.candidates}
    assert max(cases.values()) == 94 and cases["nearest"] == 19  # those of the folds; far behind on the first of five
    right = {row["model"]: row["value"] for row in run.scores if (row["metric"], row["split"]) == ("acc", "test")}
    assert right["nearest"] > 0.9
    save_run(run, tmp_path / "run")
    loaded = load(tmp_path / "run").with_answer("nearest")
    assert torch.equal(loaded.answering.centres, run.models["nearest"].centres)
    assert "nearest centre" in run.task.page.report([loaded])


def test_one_that_is_not_installed_is_unknown():
    with pytest.raises(ConfigError, match=r"baselines\.0: Input should be .*'trees' \(got 'nearest'\)"):
        TabularConfig.parse({"baselines": ["nearest"]})
