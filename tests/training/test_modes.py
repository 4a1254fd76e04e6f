"""Penalties and learning rates by mode: what one step does, and that a stopped training goes on with them."""

import pytest
import torch
from torch import nn

from multiway import ops
from multiway.errors import ConfigError
from multiway.nn import NdLinear
from multiway.training import Interrupted, RunFolder, train
from tolerances import LONG32, ROUNDING32
from training.test_resume import stop_after
from training.toy import Points, make_config, objective

ONE_STEP = {"epochs": 1, "batch_size": 53, "schedule": "constant", "warmup_steps": 0, "clip_norm": None, "patience": 0}
MODES = {"norm_penalty": (0.1, 0.01), "orthogonality_penalty": (0.05,), "mode_rates": (0.5, 2.0)}


class Grid(nn.Module):
    """Five features as 5 x 1, through a mode-wise map to 4 x 3, to one number."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.map, self.head = NdLinear((5, 1), (4, 3)), nn.Linear(12, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.map(x[..., None])).flatten(1))


def trained(**changes):
    model = Grid()
    train(model, objective, Points(53), Points(13), make_config(**{**ONE_STEP, **changes}))
    return dict(model.named_parameters())


def moved(**changes):
    start = dict(Grid().named_parameters())
    return {name: (weight - start[name]).detach() for name, weight in trained(**changes).items()}


def test_a_step_with_penalties_is_torchs_own():
    model, data = Grid(), Points(53)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        weights = list(model.map.weights)
        penalty = ops.norm_penalty(weights, [0.1, 0.01]) + ops.orthogonality_penalty(weights, [0.05, 0.05])
        (nn.functional.mse_loss(model(data.x), data.y) + penalty).backward()
        optimizer.step()
    found = trained(optimizer="adam", epochs=3, norm_penalty=(0.1, 0.01), orthogonality_penalty=(0.05,))
    for name, wanted in model.named_parameters():
        torch.testing.assert_close(found[name], wanted, rtol=LONG32, atol=ROUNDING32)


def test_rates_scale_the_step_of_their_mode_alone():
    """A first step of Adam is as long as the learning rate."""
    plain, scaled = moved(weight_decay=0.0), moved(weight_decay=0.0, mode_rates=(0.5, 2.0))
    factors = {"map.weights.0": 0.5, "map.weights.1": 2.0}
    for name, step in plain.items():
        torch.testing.assert_close(scaled[name], step * factors.get(name, 1.0), rtol=LONG32, atol=ROUNDING32)


def test_the_last_number_is_for_later_modes():
    plain, halved = moved(weight_decay=0.0), moved(weight_decay=0.0, mode_rates=(0.5,))
    for name in ("map.weights.0", "map.weights.1"):
        torch.testing.assert_close(halved[name], plain[name] * 0.5, rtol=LONG32, atol=ROUNDING32)


def test_factors_of_one_and_penalties_of_zero_change_no_bit():
    plain, unchanged = trained(epochs=3), trained(epochs=3, mode_rates=(1.0, 1.0), norm_penalty=(0.0,))
    assert all(torch.equal(weight, unchanged[name]) for name, weight in plain.items())


def test_a_penalty_brings_the_maps_down():
    norms = [
        sum(float(weight.detach().square().sum()) for name, weight in found.items() if "weights" in name)
        for found in (trained(epochs=40), trained(epochs=40, norm_penalty=(1.0,)))
    ]
    assert norms[1] < norms[0] / 2


def test_frozen_maps_and_models_without_any_are_left_alone():
    model = Grid()
    model.map.weights[0].requires_grad_(False)
    before = model.map.weights[0].clone()
    train(model, objective, Points(53), Points(13), make_config(**ONE_STEP, **MODES))
    assert torch.equal(model.map.weights[0], before)
    train(nn.Linear(5, 1), objective, Points(53), Points(13), make_config(**ONE_STEP, **MODES))


@pytest.mark.parametrize("stop", [1, 5])
def test_a_stopped_run_continues_to_the_same_bits(stop, tmp_path, monkeypatch):
    def run_in(name):
        path = tmp_path / name
        run, model = RunFolder.open(path) if path.exists() else RunFolder.create(path, {"task": "toy"}), Grid()
        config = make_config(checkpoint_seconds=0, **MODES)
        train(model, objective, Points(53), Points(13), config, run=run)
        return model

    whole = run_in("whole")
    stop_after(monkeypatch, stop)
    with pytest.raises(Interrupted):
        run_in("cut")
    monkeypatch.undo()
    for left, right in zip(whole.parameters(), run_in("cut").parameters(), strict=True):
        assert torch.equal(left, right)


def test_negative_numbers_are_refused():
    with pytest.raises(ConfigError, match=r"norm_penalty\.0: "):
        make_config(norm_penalty=(-1.0,))
