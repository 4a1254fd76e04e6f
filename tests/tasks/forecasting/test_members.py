"""Several networks that forecast by their mean."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.data import last_window
from multiway.errors import ConfigError
from multiway.models.mean_of_networks import MeanOfNetworks, members_of
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.explanation import explain
from multiway.tasks.forecasting.fitting import WindowLoss
from multiway.tasks.forecasting.model import model_of
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import fitted, forecast, make_config, make_frame
from tolerances import ROUNDING32, ROUNDING64


class Scaled(torch.nn.Module):
    """The last value, times a learnt number."""

    def __init__(self, factor):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(factor, dtype=torch.float64))

    def forward(self, past, observed=None):
        return self.factor * past[:, -1:].expand(-1, 3, -1)


def make_batch():
    generator = torch.Generator().manual_seed(0)
    past, future = (torch.randn(5, steps, 2, generator=generator, dtype=torch.float64) for steps in (7, 3))
    seen = torch.rand(5, 3, 2, generator=generator) > 0.3
    return {"past": past, "future": future, "future_observed": seen}


def gradients(model, *networks):
    model.train().zero_grad()
    total, count = WindowLoss("mse")(model, make_batch())
    (total / count).backward()
    return [network.factor.grad.item() for network in networks]


def test_in_evaluation_it_is_the_mean():
    networks = [Scaled(factor) for factor in (0.5, -1.0, 4.0)]
    past = make_batch()["past"]
    wanted = sum(network(past) for network in networks) / 3
    torch.testing.assert_close(MeanOfNetworks(networks).eval()(past), wanted, rtol=ROUNDING64, atol=ROUNDING64)


def test_each_learns_from_its_own_errors():
    """A third of the gradient that it has alone, as the loss is the mean of three; the mean's own would be another."""
    networks = [Scaled(factor) for factor in (0.5, -1.0, 4.0)]
    alone = [gradients(network, network)[0] for network in networks]
    together = gradients(MeanOfNetworks(networks), *networks)
    np.testing.assert_allclose(together, np.array(alone) / 3, rtol=ROUNDING64)


def test_members_start_apart_and_the_run_is_their_mean(tmp_path, data_file):
    config = make_config(data=str(data_file), selection="network", members=3)
    run = lifecycle.start(TASK, config, tmp_path / "run")
    members = members_of(model_of(run).network)
    batch = run.prepared.windows["test"].spread(4)
    each = torch.stack([member(batch["past"]) for member in members])
    assert len(members) == 3
    assert (each[0] - each[1]).abs().max() > 1e-3
    torch.testing.assert_close(model_of(run)(batch["past"]), each.mean(0), rtol=ROUNDING32, atol=ROUNDING32)
    reloaded = lifecycle.load(tmp_path / "run")
    pd.testing.assert_frame_equal(forecast(reloaded, str(data_file)), forecast(run, str(data_file)))


def test_maps_hold_the_heads_of_every_member():
    run = fitted(make_frame(), members=2)
    found = explain(run, run.prepared.panel, None).last
    window = last_window(run.prepared.panel, run.state.scaler, run.config.lookback)
    second = members_of(model_of(run).network)[1].forward_with_maps(*window)[1]
    for item, alone in zip(found, [mode for block in second for mode in block], strict=True):
        np.testing.assert_allclose(item.weights[-alone.shape[1] :], alone[0].detach(), rtol=ROUNDING32)
        assert len(item.weights) == 2 * alone.shape[1]


def test_members_without_a_network_are_refused():
    with pytest.raises(ConfigError, match="members counts networks, and none is trained"):
        make_config(members=2, network=False)
