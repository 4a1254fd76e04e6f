"""One fitted step, run on: its map against a loop over its own forecasts, and its fit in a run."""

import numpy as np
import pytest
import torch

from multiway.tasks.forecasting.candidate import Rows, Sizes
from multiway.tasks.forecasting.candidates import ridge
from multiway.tasks.forecasting.candidates.autoregression import CANDIDATE, Autoregression, run_on
from multiway.tasks.forecasting.ridge import choose_ridge
from multiway.tasks.forecasting.windows import Windows
from tolerances import LONG32, LONG64

LOOKBACK = 7


@pytest.mark.parametrize("horizon", [1, 5, 11])
def test_the_map_is_the_step_run_on_over_its_own_forecasts(horizon):
    rng = np.random.default_rng(0)
    step, values = 0.3 * rng.standard_normal(LOOKBACK), list(rng.standard_normal(LOOKBACK) + 3)
    window = np.array(values)
    for _ in range(horizon):
        last = np.array(values[-LOOKBACK:])
        values.append(last[-1] + step @ (last - last[-1]))
    found = run_on(torch.from_numpy(step), horizon) @ torch.from_numpy(window)
    np.testing.assert_allclose(found, values[LOOKBACK:], rtol=LONG64)


def test_without_a_fit_it_is_the_last_value():
    past = torch.randn(2, LOOKBACK, 3, generator=torch.Generator().manual_seed(0))
    model = Autoregression(LOOKBACK, 4)
    torch.testing.assert_close(model(past), past[:, -1:].expand(-1, 4, -1))
    model.set_weight(torch.zeros(1, 1, LOOKBACK))
    torch.testing.assert_close(model(past), past[:, -1:].expand(-1, 4, -1), rtol=LONG32, atol=0)


def splits(rows, horizon):
    cut = {"lookback": LOOKBACK, "horizon": horizon}
    return (Windows(rows, None, start=start, stop=stop, **cut) for start, stop in ((0, 80), (80, 110)))


def test_it_is_ridge_of_the_next_step_and_refitted_under_its_penalty():
    rng = np.random.default_rng(1)
    rows = torch.from_numpy(np.cumsum(rng.standard_normal((110, 2)), 0)).float()
    training, validation = splits(rows, 5)
    floor = choose_ridge(training, validation)
    model, repeated = Autoregression(LOOKBACK, 5), Autoregression(LOOKBACK, 5)
    CANDIDATE.fit(model, Rows(training, floor), Rows(validation, floor))
    one = choose_ridge(*splits(rows, 1), own=False)
    expected = run_on(one.weight.flatten().double(), 5)
    torch.testing.assert_close(model.floor.weight[0].double(), expected, rtol=LONG32, atol=1e-6)
    assert float(model.penalty) == one.penalty
    CANDIDATE.refit(repeated, model, Rows(training, floor))
    torch.testing.assert_close(repeated.floor.weight, model.floor.weight, rtol=LONG32, atol=1e-6)


def test_a_step_errs_less_than_a_map_of_every_step_where_rows_are_few():
    """Of a series that an autoregression made, ten steps ahead by 40 windows; mean over 20 draws."""
    errors = []
    for seed in range(20):
        rng, values = np.random.default_rng(seed), [0.0, 0.0]
        for _ in range(260):
            values.append(1.5 * values[-1] - 0.8 * values[-2] + rng.standard_normal())
        rows = torch.tensor(values, dtype=torch.float32)[:, None]
        parts = ((0, 57), (50, 80), (80, 260))
        cut = {"lookback": LOOKBACK, "horizon": 10}
        training, validation, later = (Windows(rows, None, start=start, stop=stop, **cut) for start, stop in parts)
        floor, model = choose_ridge(training, validation), Autoregression(LOOKBACK, 10)
        CANDIDATE.fit(model, Rows(training, floor), Rows(validation, floor))
        batch = later.gather(torch.arange(len(later)))
        direct = ridge.CANDIDATE.build(sizes(10))
        direct.set_weight(floor.weight)
        errors.append([float((each(batch["past"]) - batch["future"]).square().mean()) for each in (model, direct)])
    stepped, mapped = np.mean(errors, 0)
    assert stepped < 0.97 * mapped


def sizes(horizon):
    return Sizes(lookback=LOOKBACK, horizon=horizon, season=1, matrices=1, units=None)
