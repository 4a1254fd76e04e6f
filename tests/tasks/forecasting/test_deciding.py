"""What decides is the user's metric: weights of least absolute error, and whatever loses least by it."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from multiway.tasks.forecasting.choice import _absolute_weights, weights_by
from multiway.tasks.forecasting.held_out import Stretch
from tasks.forecasting.panels import fitted, make_frame, make_windows

NAMES = ("ridge", "steady", "rare")


def stretch(windows=400):
    """`rare` is off by much now and then, and `steady` by a little at all times; `ridge` by more than either."""
    made = make_windows(windows + 8, 2, 6, 3)
    chance = torch.Generator().manual_seed(5)

    def forecast(past, observed=None, *_):
        index = torch.randn(len(past), 3, 2, generator=chance)
        seldom = (torch.rand(len(past), 3, 2, generator=chance) < 0.05) * 8.0
        truth = made.gather(torch.arange(len(past)))["future"]
        return {"ridge": truth + 1.5 * index, "steady": truth + index.sign(), "rare": truth + seldom + 0.05 * index}

    return Stretch(made, forecast)


@pytest.mark.parametrize(("metric", "best"), [("mae", "rare"), ("mase", "rare"), ("pinball", "rare")])
def test_the_answer_loses_least_by_the_metric(metric, best):
    squared = np.array([[0.0], [1.0], [0.0]])  # by squared error the steady one answers
    weights, losses = weights_by(metric, [stretch()], NAMES, (3,), squared, np.array([1.0, 2.0]))
    assert weights[NAMES.index(best), 0] > 0.9
    assert list(losses) == ["multiway", *NAMES] and losses["multiway"] <= min(losses[name] for name in NAMES)


def test_weights_are_those_of_the_least_absolute_error():
    chance = np.random.default_rng(2)
    errors = chance.laplace(size=(3, 4, 2, 90)) * np.array([1.0, 1.2, 0.9])[:, None, None, None]
    unit = np.array([1.0, 3.0])
    loss = lambda w: np.abs(np.tensordot(w, errors, 1) / unit[:, None]).mean()  # noqa: E731
    rule = {"type": "eq", "fun": lambda w: w.sum() - 1}
    best = minimize(loss, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=[rule]).fun
    weights = _absolute_weights(errors.astype(np.float32), unit)
    assert weights.sum() == pytest.approx(1) and loss(weights) <= 1.002 * best


def test_ridge_answers_where_nothing_loses_less():
    part = stretch()
    same = Stretch(part.windows, lambda *past: dict.fromkeys(NAMES, part.forecast(*past)["ridge"]))
    weights, _ = weights_by("mae", [same], NAMES, (3,), np.array([[0.0], [1.0], [0.0]]), np.ones(2))
    assert weights.tolist() == [[1.0], [0.0], [0.0]]


@pytest.mark.parametrize(("metric", "word"), [("mae", "MAE"), ("pinball", "pinball loss")])
def test_the_metric_is_named_where_the_answer_is(metric, word):
    run = fitted(make_frame(), network=False, answer="auto", metric=metric, levels=())
    assert f"({word} " in run.facts["selection"]["sentence"] and run.answer.loss == word
    assert run.task.metrics(run.config)[0].name == metric
