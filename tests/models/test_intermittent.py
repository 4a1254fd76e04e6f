import math

import numpy as np
import pytest
import torch

from multiway.models.series_units import Units
from multiway.models.smoothing import HALF_LIVES, Intermittent
from tolerances import ROUNDING64

MEAN, STD = torch.tensor([0.7, 3.0]), torch.tensor([1.3, 2.0])


def make_model(horizon=3):
    return Intermittent(horizon, Units(MEAN, STD, torch.zeros(2), torch.full((2,), 9.0)))


def demands(batch, steps, seed=1):
    chance = np.random.default_rng(seed)
    values = chance.integers(1, 9, (batch, steps, 2)) * (chance.random((batch, steps, 2)) < 0.3)
    return torch.from_numpy(values.astype(np.float64))


def by_loops(series, alpha, beta):
    """How often times how much, with weights that fall with age."""
    often = whole = much = count = 0.0
    for age, value in enumerate(reversed(series)):
        often, whole = often + alpha**age * (value != 0), whole + alpha**age
        much, count = much + beta**age * value, count + beta**age * (value != 0)
    return often / whole * (much / count if count else 0.0)


def test_the_forecast_is_how_often_times_how_much():
    model, values = make_model(), demands(5, 11)
    values[0, :, 1] = 0.0  # nothing was ever there
    model.decays.copy_(torch.tensor([[0.9, 0.7], [0.8, 1.0]], dtype=torch.float64))
    forecast = model(((values - MEAN) / STD).float()).double() * STD + MEAN
    for case in range(5):
        for place, (alpha, beta) in enumerate(model.decays.T.tolist()):
            expected = by_loops(values[case, :, place].tolist(), alpha, beta)
            assert forecast[case, :, place].tolist() == pytest.approx([expected] * 3, rel=1e-4, abs=1e-5)


def test_the_decays_are_those_of_the_least_squared_error():
    model, values = make_model(), demands(40, 14, seed=2)
    past, future = (values[:, :11] - MEAN) / STD, (values[:, 11:] - MEAN) / STD
    future[3, 1, 0] = math.nan
    model.fit([(past[:25], future[:25]), (past[25:], future[25:])])
    actual = future * STD + MEAN
    for place in range(2):
        decays = [0.5 ** (1 / life) for life in HALF_LIVES]
        losses = {}
        for alpha in decays:
            for beta in decays:
                levels = np.array([by_loops(each[:11, place].tolist(), alpha, beta) for each in values])
                losses[alpha, beta] = np.nansum((actual[..., place].numpy() - levels[:, None]) ** 2)
        assert losses[tuple(model.decays[:, place].tolist())] == pytest.approx(
            min(losses.values()), rel=ROUNDING64 * 100
        )
