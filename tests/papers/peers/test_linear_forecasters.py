"""RLinear and DLinear against their formulas, blind to gaps and to batch mates."""

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model
from multiway.models.windows import VARIANCE_FLOOR
from tolerances import SUMS64

NAMES = ("rlinear", "dlinear")
LOOKBACK, HORIZON, VARIATES = 11, 5, 3


def build(name, generator, **fields):
    """A model in float64 with every parameter drawn, gains away from zero."""
    sizes = {"num_variates": VARIATES, "lookback": LOOKBACK, "horizon": HORIZON}
    model = create_model(name, **sizes, **fields).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 + torch.rand(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def draw(generator, batch=4):
    return torch.randn(batch, LOOKBACK, VARIATES, generator=generator, dtype=torch.float64)


def slow_rlinear(model, window):
    """One variate at a time, in numbers."""
    parts = (model.linear.weight, model.linear.bias, model.gain, model.shift)
    weight, bias, gains, shifts = (values.detach().numpy() for values in parts)
    columns = []
    for variate in range(VARIATES):
        x, gain, shift = window[:, variate], gains[variate], shifts[variate]
        mean, deviation = x.mean(), np.sqrt(x.var() + VARIANCE_FLOOR)
        mapped = weight @ (gain * (x - mean) / deviation + shift) + bias
        columns.append(mean + deviation * (mapped - shift) / gain)
    return np.stack(columns, axis=1)


def slow_dlinear(model, window):
    steps, half = model.config.trend_steps, model.config.trend_steps // 2
    columns = []
    for x in window.T:
        near = [[x[min(max(place + offset, 0), LOOKBACK - 1)] for offset in range(-half, half + 1)] for place in
                range(LOOKBACK)]  # fmt: skip
        trend = np.array([sum(values) / steps for values in near])
        maps = [(linear.weight.detach().numpy(), linear.bias.detach().numpy()) for linear in (model.trend, model.rest)]
        columns.append(sum(weight @ part + bias for (weight, bias), part in zip(maps, (trend, x - trend), strict=True)))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(
    "name, slow, fields",
    [("rlinear", slow_rlinear, {}), ("dlinear", slow_dlinear, {}), ("dlinear", slow_dlinear, {"trend_steps": 3})],
)
def test_a_forecast_is_that_of_the_formula(name, slow, fields, generator):
    model, past = build(name, generator, **fields), draw(generator)
    expected = [slow(model, window) for window in past.numpy()]
    np.testing.assert_allclose(model(past).detach().numpy(), expected, rtol=SUMS64)


@pytest.mark.parametrize("name", NAMES)
def test_cells_that_are_not_observed_are_not_read(name, generator):
    model, past = build(name, generator), draw(generator)
    observed = torch.rand(past.shape, generator=generator) > 0.3
    observed[0, :, 0] = False
    hidden = past.masked_fill(~observed, float("nan")).requires_grad_()
    forecast = model(hidden, observed)
    assert torch.equal(forecast, model(past.masked_fill(~observed, 7.0), observed))
    forecast.sum().backward()
    assert torch.isfinite(hidden.grad).all() and not hidden.grad[~observed].any()
    torch.testing.assert_close(model(past, torch.ones_like(observed)), model(past), rtol=SUMS64, atol=SUMS64)


@pytest.mark.parametrize("name", NAMES)
def test_a_window_is_forecast_alone_as_in_a_batch(name, generator):
    model, past = build(name, generator), draw(generator)
    torch.testing.assert_close(model(past[2:3]), model(past)[2:3], rtol=SUMS64, atol=SUMS64)


def test_a_level_and_a_scale_pass_through_rlinear(generator):
    model, past = build("rlinear", generator), 100 * draw(generator)
    with torch.no_grad():
        moved = model(3 * past + 40)
        torch.testing.assert_close(moved, 3 * model(past) + 40, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_other_sizes_are_refused(name, generator):
    model, past = build(name, generator), draw(generator)
    title = {"rlinear": "RLinear", "dlinear": "DLinear"}[name]
    with pytest.raises(ShapeError, match=rf"{title}: past must be .* with 11 steps and 3 variates\. Got \(4, 10, 3\)"):
        model(past[:, 1:])
    with pytest.raises(ShapeError, match=rf"{title}: past_observed must be boolean and shaped like past"):
        model(past, torch.ones_like(past))


def test_a_trend_needs_a_middle():
    with pytest.raises(ConfigError, match="trend_steps must be odd"):
        create_model("dlinear", num_variates=1, trend_steps=4)


def test_the_published_count_of_dlinear():
    model = create_model("dlinear", num_variates=7, horizon=720)
    assert sum(parameter.numel() for parameter in model.parameters()) == 139_680  # HOT, table 1: 140K
