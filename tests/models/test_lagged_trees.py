"""Trees on lags: features against a loop, corrections against scikit-learn's own predictor."""

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from sklearn.ensemble import HistGradientBoostingRegressor

from multiway.models.regression import Regressors
from multiway.tasks.forecasting.candidates import trees as lagged_trees
from multiway.tasks.forecasting.candidates.trees import LaggedTrees
from tolerances import LONG32, ROUNDING32

LOOKBACK, HORIZON = 17, 7
MATRICES = 2


def windows(batch=23, series=2, seed=0):
    """Windows whose future bends with the sign of their last value."""
    rng = np.random.default_rng(seed)
    past = rng.standard_normal((batch, LOOKBACK, series)).astype(np.float32)
    bend = np.where(past[:, -1:] > 0, 1.5, -0.5) * past[:, -2:-1]
    return torch.from_numpy(past), torch.from_numpy(np.repeat(bend, HORIZON, 1).astype(np.float32))


def weights(seed=1):
    return torch.randn(MATRICES, HORIZON, LOOKBACK, generator=torch.Generator().manual_seed(seed)) / LOOKBACK


def slow_features(past, weight, season):
    """Window by window, series by series, step by step; numpy alone."""
    rows = []
    for window in past.double().numpy():
        for series, matrix in enumerate(weight.double().numpy()):
            steps = window[:, series]
            less = [value - steps[-1] for value in steps]
            means = [np.mean(less[-count:]) for count in dict.fromkeys((3, season, LOOKBACK))]
            for h in range(HORIZON):
                earlier = []
                for back in (1, 2):
                    place = LOOKBACK + h - season * (h // season + back)
                    if season > 1 and season * back <= LOOKBACK:
                        earlier.append(less[place])
                rows.append([*less[-13:-1], *means, steps[-1], h, float(np.dot(matrix[h], less)), *earlier])
    return np.array(rows).astype(np.float32)


def fitted(season=5, **changes):
    model, (past, future) = LaggedTrees(LOOKBACK, HORIZON, season, MATRICES), windows(**changes)
    model.fit(past, future, weights())
    return model, past, future


@pytest.mark.parametrize("season", [1, 5, 11, 19])
def test_features_are_those_of_a_loop(season):
    model, (past, _) = LaggedTrees(LOOKBACK, HORIZON, season, MATRICES), windows()
    model.floor.set_weight(weights())
    found = model.features(past).flatten(0, 2)
    np.testing.assert_allclose(found, slow_features(past, weights(), season), rtol=ROUNDING32, atol=ROUNDING32)


def test_the_forecast_is_ridge_and_what_scikit_learn_predicts():
    model, past, future = fitted()
    ridge, x = model.floor(past), slow_features(past, weights(), 5)
    missed = (future - ridge).mT.flatten().double().numpy()
    theirs = HistGradientBoostingRegressor(
        max_iter=50, max_leaf_nodes=8, min_samples_leaf=50, early_stopping=False, random_state=0
    ).fit(x, missed)
    corrections = torch.from_numpy(theirs.predict(x).reshape(len(past), 2, HORIZON)).mT
    torch.testing.assert_close(model(past), (ridge + corrections).float(), rtol=LONG32, atol=LONG32)
    error, before = ((forecast - future).square().mean() for forecast in (model(past), ridge))
    assert error < 0.5 * before


def test_steps_that_are_not_known_teach_nothing(monkeypatch):
    model, (past, future) = LaggedTrees(LOOKBACK, HORIZON, 5, MATRICES), windows()
    hidden, other = future.clone(), future.clone()
    hidden[::3, 2:] = torch.nan
    other[::3, 2:] = 1e6
    model.fit(past, hidden, weights())
    assert bool(model(past).isfinite().all())
    kept = model(past)
    monkeypatch.setattr(lagged_trees, "SMALLEST", len(past) * HORIZON * 2)
    untaught = LaggedTrees(LOOKBACK, HORIZON, 5, MATRICES)
    untaught.fit(past, other, weights())
    assert torch.equal(untaught(past), untaught.floor(past)) and kept.abs().max() < 1e3


def test_many_examples_are_drawn_the_same_each_time(monkeypatch):
    monkeypatch.setattr(lagged_trees.LaggedTrees, "examples", 211)
    (model, past, _), (twin, *_) = fitted(), fitted()
    assert torch.equal(model(past), twin(past))
    monkeypatch.setattr(lagged_trees.LaggedTrees, "examples", 10_000)
    assert not torch.equal(model(past), fitted()[0](past))


def test_a_stored_model_forecasts_the_same_and_a_window_alone_as_in_a_batch():
    model, past, _ = fitted()
    stored = LaggedTrees(LOOKBACK, HORIZON, 5, MATRICES)
    stored.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(stored(past), model(past))
    alone = torch.cat([model(window[None]) for window in past])
    torch.testing.assert_close(alone, model(past))


KNOWN, SEEN, CALENDAR = 5, 3, 2


def covariates(series=2, seed=4):
    generator = torch.Generator().manual_seed(seed)
    known, seen = (torch.randn(23, LOOKBACK + HORIZON, series, size, generator=generator) for size in (KNOWN, SEEN))
    return Regressors(known, seen[:, :LOOKBACK], torch.zeros(23, dtype=torch.long))


def slow_explaining(rows, season):
    """Window by window, series by series, step by step."""
    out = []
    for known, seen in zip(*(part.numpy() for part in rows[:2]), strict=True):
        for series in range(2):
            ours, theirs = (part[:, min(series, part.shape[1] - 1)] for part in (known, seen))
            for h in range(HORIZON):
                before = ours[LOOKBACK + h - season * (h // season + 1), :-CALENDAR] if 1 < season <= LOOKBACK else []
                last = ours[LOOKBACK - 1, :-CALENDAR]
                out.append([*ours[LOOKBACK + h], *before, *last, *theirs[-3], *theirs[-2], *theirs[-1]])
    return np.array(out)


@pytest.mark.parametrize("season", [1, 5, 19])
@pytest.mark.parametrize("series", [1, 2])
def test_covariates_that_are_heeded_stand_after_the_others(season, series):
    model, (past, _), rows = LaggedTrees(LOOKBACK, HORIZON, season, MATRICES, CALENDAR), windows(), covariates(series)
    alone = model.features(past)
    assert torch.equal(model.features(past, rows), alone)
    model.heeds.fill_(True)
    found = model.features(past, rows)
    assert torch.equal(found[..., : alone.shape[-1]], alone)
    np.testing.assert_array_equal(found[..., alone.shape[-1] :].flatten(0, 2), slow_explaining(rows, season))
