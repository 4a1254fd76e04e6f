"""PatchTST against its formulas and torch's encoder layer: values, gradients, gaps, both norms and its counts."""

import pytest
import torch
from torch import nn

from models.peers import assert_gaps_are_not_read, draw, encoder_of, settled
from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model, model_config
from multiway.models.windows import VARIANCE_FLOOR
from multiway_papers.peers.transformers import PatchTSTConfig
from tolerances import assert_same

LOOKBACK, HORIZON, VARIATES, BATCH = 23, 7, 3, 5
SIZES = {
    "num_variates": VARIATES, "lookback": LOOKBACK, "horizon": HORIZON, "patch_length": 11, "stride": 4,
    "dim": 26, "num_heads": 13, "num_blocks": 2, "hidden": 17, "dropout": 0.0,
}  # fmt: skip
PATCHES = 5


def build(generator, norm="layer"):
    return settled(create_model("patchtst", **SIZES, norm=norm).double(), generator)


def slow(model, past):
    """One window and one series at a time, each layer torch's own; batch norm sees every series of the batch."""
    x = past.transpose(1, 2)
    mean, deviation = x.mean(-1, keepdim=True), (x.var(-1, unbiased=False, keepdim=True) + VARIANCE_FLOOR).sqrt()
    normal = (x - mean) / deviation
    longer = torch.cat([normal, *[normal[..., -1:]] * SIZES["stride"]], -1)
    starts = range(0, longer.shape[-1] - SIZES["patch_length"] + 1, SIZES["stride"])
    patches = [longer[..., start : start + SIZES["patch_length"]] for start in starts]
    tokens = torch.stack([patch @ model.embedding.weight.T + model.embedding.bias for patch in patches], 2)
    tokens = (tokens + model.positions).reshape(-1, len(patches), SIZES["dim"])
    for block in model.blocks:
        tokens = encoder_of(block, batch_norm=model.config.norm == "batch")(tokens)
    features = tokens.reshape(len(past), VARIATES, -1)
    return (features @ model.head.linear.weight.T + model.head.linear.bias).mul(deviation).add(mean).transpose(1, 2)


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_forecast_and_its_gradients_are_those_of_the_formulas(norm, mode, generator):
    model, past = build(generator, norm), draw(generator, BATCH, LOOKBACK, VARIATES)
    getattr(model, mode)()
    weights = draw(generator, BATCH, HORIZON, VARIATES)
    wanted = slow(model, past)
    expected = torch.autograd.grad((wanted * weights).sum(), list(model.parameters()))
    found = model(past)
    assert found.shape == (BATCH, HORIZON, VARIATES) and model.config.num_patches == PATCHES
    assert_same(found, wanted)
    for mine, theirs in zip(torch.autograd.grad((found * weights).sum(), model.parameters()), expected, strict=True):
        assert_same(mine, theirs)


def test_a_window_is_forecast_alone_as_in_a_batch(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    assert_same(model(past[2:3]), model(past)[2:3])
    paper = build(generator, "batch")
    assert not torch.allclose(paper(past[2:3]), paper(past)[2:3])
    paper.eval()
    assert_same(paper(past[2:3]), paper(past)[2:3])


def test_a_series_is_forecast_from_itself_alone(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    other = past.clone()
    other[..., 0] += 1 + draw(generator, BATCH, LOOKBACK)
    assert_same(model(other)[..., 1:], model(past)[..., 1:])


def test_cells_that_are_not_observed_are_not_read(generator):
    assert_gaps_are_not_read(build(generator), draw(generator, BATCH, LOOKBACK, VARIATES), generator)


def test_published_counts_and_sizes():
    counts = {name: _count(name) for name in ("patchtst", "patchtst_paper", "patchtst_small")}
    assert counts == {"patchtst": 1_507_792, "patchtst_paper": 1_507_792, "patchtst_small": 155_600}
    assert model_config("patchtst", num_variates=1, lookback=512).num_patches == 64
    assert model_config("patchtst", num_variates=1, lookback=336).num_patches == 42
    paper = create_model("patchtst_paper", num_variates=1)
    assert sum(isinstance(module, nn.BatchNorm1d) for module in paper.modules()) == 6


def _count(name):
    return sum(parameter.numel() for parameter in create_model(name, num_variates=7, horizon=720).parameters())


def test_a_config_round_trips():
    config = model_config("patchtst_small", num_variates=3)
    assert PatchTSTConfig.parse(config.plain()) == config and config.norm == "batch"


def test_what_does_not_fit_is_said(generator):
    with pytest.raises(ConfigError, match=r"num_heads must divide dim\. Got num_heads=5, dim=16"):
        create_model("patchtst", num_variates=1, dim=16, num_heads=5)
    with pytest.raises(ConfigError, match=r"lookback must be patch_length or more\. Got lookback=8, patch_length=16"):
        create_model("patchtst", num_variates=1, lookback=8)
    with pytest.raises(ShapeError, match=r"PatchTST: past must be .* with 23 steps and 3 variates"):
        build(generator)(draw(generator, 2, LOOKBACK - 1, VARIATES))
