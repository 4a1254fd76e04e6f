"""One model for several horizons: what it is trained on, and the scores of each."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError
from multiway.tasks.forecasting.networks import WindowLoss
from tasks.forecasting.panels import HORIZON, fitted, make_config, make_frame
from tolerances import ROUNDING64

STEPS, HORIZONS = 7, (2, 3, 7)


class Given(torch.nn.Module):
    """A forecast that does not look at the past."""

    def __init__(self, forecast):
        super().__init__()
        self.forecast = torch.nn.Parameter(forecast)

    def forward(self, past, observed=None):
        return self.forecast


def make_batch(missing=False):
    generator = torch.Generator().manual_seed(0)
    forecast, future = (torch.randn(5, STEPS, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    seen = {"future_observed": torch.rand(5, STEPS, 3, generator=generator) > 0.3} if missing else {}
    return Given(forecast), {"past": torch.zeros(5, 1, 3), "future": future, **seen}


@pytest.mark.parametrize(("name", "error"), [("mse", np.square), ("mae", np.abs)])
def test_the_loss_is_the_mean_of_the_mean_errors_of_every_horizon(name, error):
    model, batch = make_batch()
    total, count = WindowLoss(name, HORIZONS)(model, batch)
    errors = error(model.forecast.detach().numpy() - batch["future"].numpy())
    means = [errors[:, :steps].mean() for steps in HORIZONS]
    assert (total / count).item() == pytest.approx(np.mean(means), rel=ROUNDING64)


def test_its_gradient_weighs_a_step_by_the_horizons_that_hold_it():
    model, batch = make_batch(missing=True)
    total, count = WindowLoss("mse", HORIZONS)(model, batch)
    (total / count).backward()
    shares = [sum(STEPS / steps for steps in HORIZONS if step < steps) / 3 for step in range(STEPS)]
    weights = torch.tensor(shares, dtype=torch.float64)[None, :, None] * batch["future_observed"]
    wanted = 2 * weights * (model.forecast.detach() - batch["future"]) / weights.sum()
    torch.testing.assert_close(model.forecast.grad, wanted, rtol=ROUNDING64, atol=0)


def test_every_horizon_is_scored_on_its_first_steps():
    run = fitted(make_frame(), horizons=[3, HORIZON])
    errors = run.tables["errors"].query("split == 'test'")
    scores = (
        pd.DataFrame(run.scores).query("split == 'test' and scale == 'scaled'").set_index(["model", "metric"])["value"]
    )
    for model, rows in errors.groupby("model"):
        first = rows[rows["step"] <= 3]
        assert scores[model, "mse_3"] == pytest.approx(first["mse"].mean())
        assert scores[model, "mae_3"] == pytest.approx(first["mae"].mean())
        assert scores[model, f"mse_{HORIZON}"] == scores[model, "mse"]
    assert {"mse_3", "mae_3", f"mse_{HORIZON}"} <= {metric.name for metric in run.task.metrics(run.config)}


@pytest.mark.parametrize("horizons", [[HORIZON, 1], [1], [1, 1, HORIZON]])
def test_horizons_rise_to_all_steps(horizons):
    with pytest.raises(ConfigError, match=rf"horizons rise, and the last is the horizon of {HORIZON}. Got"):
        make_config(horizons=horizons)
