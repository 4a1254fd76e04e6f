"""Several networks that forecast by their mean: of one kind, and of two."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError
from multiway.models import HOTForecaster, OLinear
from multiway.models.weighed_forecasts import MeanOfNetworks, members_of
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.explain import explain_windows
from multiway.tasks.forecasting.networks import WindowLoss, model_of
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import last_window
from tasks.forecasting.panels import LOOKBACK, TINY, fitted, forecast, make_config, make_frame
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
    config = make_config(data=str(data_file), answer="network", members=3)
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
    found = explain_windows(run, run.prepared.panel, None).last
    window = last_window(run.prepared.panel, run.state.scaler, run.config.lookback)
    second = members_of(model_of(run).network)[1].forward_with_maps(*window)[1]
    for item, alone in zip(found, [mode for block in second for mode in block], strict=True):
        np.testing.assert_allclose(item.weights[-alone.shape[1] :], alone[0].detach(), rtol=ROUNDING32)
        assert len(item.weights) == 2 * alone.shape[1]


def test_members_without_a_network_are_refused():
    with pytest.raises(ConfigError, match="members counts networks, and none is trained"):
        make_config(members=2, network=False)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "olinear_small"),
        ({"model": {**TINY, "name": "hot_forecaster"}}, None),
        ({"model": {"name": "itransformer"}}, None),
        ({"model": {"name": "itransformer"}, "partner": "dlinear"}, "dlinear"),
        ({"partner": "none"}, None),
        ({"network": False}, None),
        ({"targets": ("series 0",), "model": {}}, None),
    ],
)
def test_a_small_olinear_is_the_partner_where_no_network_is_named(changes, name):
    assert make_config(**{"partner": "auto", **changes}).partner_name == name


def test_a_run_with_a_partner_is_the_mean_of_two_kinds(tmp_path, data_file):
    config = make_config(data=str(data_file), answer="network", partner="auto")
    run = lifecycle.start(TASK, config, tmp_path / "run")
    members = members_of(model_of(run).network)
    batch = run.prepared.windows["test"].spread(4)
    each = torch.stack([member(batch["past"]) for member in members])
    assert [type(member) for member in members] == [HOTForecaster, OLinear]
    assert (each[0] - each[1]).abs().max() > 1e-3
    assert not torch.equal(members[1].past_basis, torch.eye(LOOKBACK))
    torch.testing.assert_close(model_of(run)(batch["past"]), each.mean(0), rtol=ROUNDING32, atol=ROUNDING32)
    reloaded = lifecycle.load(tmp_path / "run")
    pd.testing.assert_frame_equal(forecast(reloaded, str(data_file)), forecast(run, str(data_file)))


def test_maps_are_those_of_the_kind_that_has_them():
    run = fitted(make_frame(), partner="auto")
    window = last_window(run.prepared.panel, run.state.scaler, run.config.lookback)
    maps = [mode for block in members_of(model_of(run).network)[0].forward_with_maps(*window)[1] for mode in block]
    for item, alone in zip(explain_windows(run, run.prepared.panel, None).last, maps, strict=True):
        np.testing.assert_allclose(item.weights, alone[0].detach(), rtol=ROUNDING32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"partner": "dlinear", "network": False}, "partner: no network is trained. Set network to true"),
        ({"partner": "dlinear", "targets": ("series 0",), "model": {}}, "dlinear forecasts every series .* to none"),
        ({"partner": "hot_forecaster"}, "partner"),
        ({"partner": "patchtst", "lookback": 7, "model": {}}, "patchtst.*patch"),
    ],
)
def test_a_partner_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        make_config(**changes)
