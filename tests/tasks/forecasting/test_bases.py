"""Bases of training windows against NumPy's correlations, and where a run takes them from."""

import numpy as np
import pytest
import torch

from multiway.tasks import lifecycle
from multiway.tasks.forecasting.networks import step_bases
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows
from tasks.forecasting.panels import QUICK, make_config, make_frame, make_windows
from tolerances import LONG64


def correlation(view):
    """Pearson's of the steps over windows, mean over the variates; view is `(windows, variates, steps)`."""
    values = view.double().numpy()
    return np.mean([np.corrcoef(values[:, variate].T) for variate in range(values.shape[1])], axis=0)


def test_a_basis_makes_the_steps_of_training_windows_uncorrelated():
    windows = make_windows(97, 3, 11, 7)
    bases = step_bases(windows)
    views = windows.rows.unfold(0, 11, 1)[: len(windows)], windows.rows.unfold(0, 7, 1)[11:]
    for basis, view in zip(bases, views, strict=True):
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=LONG64)
        found = basis.numpy() @ correlation(view) @ basis.numpy().T
        np.testing.assert_allclose(found, np.diag(np.diag(found)), atol=LONG64)
        assert (np.diff(np.diag(found)) <= 0).all()


def test_chunks_change_nothing(monkeypatch):
    windows = make_windows(97, 3, 11, 7)
    whole = step_bases(windows)
    monkeypatch.setattr("multiway.tasks.forecasting.networks.CELLS_PER_CHUNK", 200)
    for one, other in zip(whole, step_bases(windows), strict=True):
        np.testing.assert_allclose(one.abs(), other.abs(), atol=LONG64)


def test_gaps_hold_the_last_value_and_constant_series_are_left_out():
    windows, filled = make_windows(97, 3, 11, 7, missing=0.2), []
    for start in range(len(windows)):
        batch = windows.gather(torch.tensor([start]))
        values, seen = batch["past"][0].clone(), batch["past_observed"][0]
        for step in range(11):
            for variate in range(3):
                known = torch.nonzero(seen[:, variate]).flatten()
                before = known[known <= step]
                values[step, variate] = values[before[-1] if len(before) else known[0], variate]
        filled.append(values.T)
    found = step_bases(windows).past.numpy()
    found = found @ correlation(torch.stack(filled)) @ found.T
    np.testing.assert_allclose(found, np.diag(np.diag(found)), atol=LONG64)
    flat = torch.zeros(97, 2)
    flat[:, 1] = make_windows(97, 1, 11, 7).rows[:, 0]
    alone = Windows(flat[:, 1:], None, start=0, stop=97, lookback=11, horizon=7)
    both = Windows(flat, None, start=0, stop=97, lookback=11, horizon=7)
    np.testing.assert_allclose(step_bases(both).past.abs(), step_bases(alone).past.abs(), atol=LONG64)
    nothing = Windows(flat[:, :1], None, start=0, stop=97, lookback=11, horizon=7)
    assert torch.equal(step_bases(nothing).past.abs().sum(0), torch.ones(11, dtype=torch.float64))


@pytest.mark.parametrize("place", ["network", "baseline"])
def test_a_run_takes_them_from_its_training_windows(place):
    name = {"name": "olinear", "dim": 8, "hidden": 8}
    own = {"model": name} if place == "network" else {"network": False, "baselines": ["olinear"]}
    run = lifecycle.fit_in_memory(
        TASK, make_config(**own, training=QUICK, baseline_training={"epochs": 1}), make_frame()
    )
    model = run.model.network if place == "network" else run.models["olinear"]
    wanted = step_bases(run.prepared.windows["train"])
    assert torch.equal(model.past_basis, wanted.past.float()) and torch.equal(model.future_basis, wanted.future.float())
