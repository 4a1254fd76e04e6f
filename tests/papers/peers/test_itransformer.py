"""iTransformer against its formulas and torch's attention: values, gradients, gaps, order of series, its counts."""

import pytest
import torch

from models.peers import assert_gaps_are_not_read, draw, encoder_of, settled
from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model, model_config
from multiway.models.windows import VARIANCE_FLOOR
from multiway_papers.peers.transformers import ITransformerConfig
from tolerances import assert_same

LOOKBACK, HORIZON, VARIATES, BATCH = 11, 7, 3, 5
SIZES = {
    "num_variates": VARIATES, "lookback": LOOKBACK, "horizon": HORIZON, "dim": 26, "num_heads": 13, "num_blocks": 2,
    "hidden": 17, "dropout": 0.0,
}  # fmt: skip


def build(generator):
    return settled(create_model("itransformer", **SIZES).double(), generator)


def slow(model, past, absent=None):
    """Series by series but for the attention, which is torch's."""
    mean = past.mean(1, keepdim=True)
    deviation = (past.var(1, unbiased=False, keepdim=True) + VARIANCE_FLOOR).sqrt()
    normal = (past - mean) / deviation
    series = [normal[..., n] @ model.embedding.weight.T + model.embedding.bias for n in range(past.shape[-1])]
    tokens = torch.stack(series, 1)
    for block in model.blocks:
        tokens = encoder_of(block)(tokens, absent)
    last = torch.nn.functional.layer_norm(tokens, tokens.shape[-1:], model.norm.weight, model.norm.bias)
    return (last @ model.head.weight.T + model.head.bias).transpose(1, 2) * deviation + mean


def test_a_forecast_and_its_gradients_are_those_of_the_formulas(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    weights = draw(generator, BATCH, HORIZON, VARIATES)
    wanted, found = slow(model, past), model(past)
    expected = torch.autograd.grad((wanted * weights).sum(), list(model.parameters()))
    assert found.shape == (BATCH, HORIZON, VARIATES)
    assert_same(found, wanted)
    for mine, theirs in zip(torch.autograd.grad((found * weights).sum(), model.parameters()), expected, strict=True):
        assert_same(mine, theirs)


def test_a_series_without_a_value_is_looked_at_by_none(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    observed = torch.ones_like(past, dtype=torch.bool)
    observed[..., 1] = False
    absent = ~observed.any(1)
    assert_same(model(past, observed)[..., [0, 2]], slow(model, past, absent)[..., [0, 2]])


def test_the_order_of_series_is_not_read(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    order = [2, 0, 1]
    assert_same(model(past[..., order]), model(past)[..., order])


def test_a_window_is_forecast_alone_as_in_a_batch(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    assert_same(model(past[2:3]), model(past)[2:3])


def test_cells_that_are_not_observed_are_not_read(generator):
    assert_gaps_are_not_read(build(generator), draw(generator, BATCH, LOOKBACK, VARIATES), generator)


def test_counts_do_not_depend_on_how_many_series_there_are():
    counts = {
        (series, horizon): sum(
            parameter.numel()
            for parameter in create_model("itransformer", num_variates=series, horizon=horizon).parameters()
        )
        for series, horizon in ((7, 96), (321, 96), (7, 720))
    }
    blocks = 2 * (4 * 256 * 257 + 2 * 256 * 257 + 4 * 256)
    assert counts[7, 96] == counts[321, 96] == 97 * 256 + blocks + 512 + 257 * 96
    assert counts[7, 720] - counts[7, 96] == 257 * 624


def test_a_config_round_trips():
    config = model_config("itransformer", num_variates=3, dim=512)
    assert ITransformerConfig.parse(config.plain()) == config


def test_what_does_not_fit_is_said(generator):
    with pytest.raises(ConfigError, match=r"num_heads must divide dim\. Got num_heads=8, dim=12"):
        create_model("itransformer", num_variates=1, dim=12)
    with pytest.raises(ShapeError, match=r"ITransformer: past must be .* with 11 steps and 3 variates"):
        build(generator)(draw(generator, 2, LOOKBACK - 1, VARIATES))
