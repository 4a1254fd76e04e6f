"""OLinear against its formulas: values, gradients, bases, gaps, its mixing of series and its count."""

import pytest
import torch
from torch.nn import functional as F

from models.peers import assert_gaps_are_not_read, draw, settled
from multiway import compress
from multiway.errors import ShapeError
from multiway.models import OLinearConfig, create_model, model_config
from multiway.models.olinear import Bases, OLinear
from multiway.models.windows import VARIANCE_FLOOR
from tolerances import assert_same

LOOKBACK, HORIZON, VARIATES, BATCH = 11, 7, 3, 5
SIZES = {
    "num_variates": VARIATES, "lookback": LOOKBACK, "horizon": HORIZON, "channels": 2, "dim": 13, "hidden": 17,
    "num_blocks": 2, "dropout": 0.0,
}  # fmt: skip


def orthogonal(generator, size):
    return torch.linalg.qr(draw(generator, size, size)).Q


def build(generator):
    model = settled(create_model("olinear", **SIZES).double(), generator)
    model.set_bases(Bases(orthogonal(generator, LOOKBACK), orthogonal(generator, HORIZON)))
    with torch.no_grad():
        model.gain.abs_().add_(0.5)
    return model


def linear(layer, x):
    return x @ layer.weight.T + layer.bias


def layer_norm(norm, x):
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias)


def mixed(mixing, tokens, present):
    """Row by row: how much series m counts for series n."""
    values, rows = linear(mixing.value, tokens), []
    for n in range(len(tokens)):
        shares = [torch.log1p(mixing.weight[n, m].exp()) for m in range(len(tokens)) if present[m]]
        kept = [values[m] for m in range(len(tokens)) if present[m]]
        rows.append(sum(share / sum(shares) * value for share, value in zip(shares, kept, strict=True)))
    return linear(mixing.output, torch.stack(rows))


def slow(model, window, present=(True,) * VARIATES):
    """One window, one series and one multiple at a time."""
    mean, deviation = window.mean(0), (window.var(0, unbiased=False) + VARIANCE_FLOOR).sqrt()
    tokens = []
    for n in range(VARIATES):
        x = (window[:, n] - mean[n]) / deviation[n] * model.gain[n] + model.shift[n]
        spectrum = sum(x[t] * model.past_basis[:, t] for t in range(LOOKBACK))
        parts = [multiple * spectrum + model.past_offset[n, 0] for multiple in model.multiples]
        tokens.append(linear(model.enter, torch.cat(parts)))
    tokens = torch.stack(tokens)
    for block in model.blocks:
        tokens = layer_norm(block.norms[0], tokens + mixed(block.attention, tokens, present))
        forward = block.feed_forward
        inner = linear(forward.down.layer, F.gelu(linear(forward.up.layer, tokens)))
        tokens = layer_norm(block.norms[1], tokens + inner)
    columns = []
    for n, token in enumerate(layer_norm(model.norm, tokens)):
        spectra = linear(model.leave, token).reshape(len(model.multiples), HORIZON)
        futures = [sum(u[k] * model.future_basis[k] for k in range(HORIZON)) for u in spectra]
        flat = torch.cat([future + model.future_offset[n, 0] for future in futures])
        steps = linear(model.head[2], F.gelu(linear(model.head[0], flat)))
        columns.append((steps - model.shift[n]) / model.gain[n] * deviation[n] + mean[n])
    return torch.stack(columns, 1)


@pytest.mark.parametrize(("batch", "folded"), [(BATCH, False), (11, True)])
def test_a_forecast_and_its_gradients_are_those_of_the_formulas(generator, batch, folded):
    model, past = build(generator), draw(generator, batch, LOOKBACK, VARIATES)
    weights = draw(generator, batch, HORIZON, VARIATES)
    assert model._folding_is_cheaper(batch * VARIATES) == folded
    wanted, found = torch.stack([slow(model, window) for window in past]), model(past)
    expected = torch.autograd.grad((wanted * weights).sum(), list(model.parameters()))
    assert found.shape == (batch, HORIZON, VARIATES)
    assert_same(found, wanted)
    for mine, theirs in zip(torch.autograd.grad((found * weights).sum(), model.parameters()), expected, strict=True):
        assert_same(mine, theirs)


def test_a_series_without_a_value_is_mixed_into_none(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    observed = torch.ones_like(past, dtype=torch.bool)
    observed[..., 1] = False
    wanted = torch.stack([slow(model, window, (True, False, True)) for window in past])
    assert_same(model(past, observed)[..., [0, 2]], wanted[..., [0, 2]])


def test_a_window_is_forecast_alone_as_in_a_batch(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    assert_same(model(past[2:3]), model(past)[2:3])


def test_cells_that_are_not_observed_are_not_read(generator):
    assert_gaps_are_not_read(build(generator), draw(generator, BATCH, LOOKBACK, VARIATES), generator)


def test_bases_are_stored_with_the_weights_and_held_to_their_sizes(generator):
    model = build(generator)
    other = create_model("olinear", **SIZES).double()
    other.load_state_dict(model.state_dict())
    past = draw(generator, BATCH, LOOKBACK, VARIATES)
    assert torch.equal(other(past), model(past))
    with pytest.raises(ShapeError, match=r"set_bases: future must be \(7, 7\)\. Got \(11, 11\)"):
        model.set_bases(Bases(torch.eye(LOOKBACK), torch.eye(LOOKBACK)))


def test_series_set_apart_are_mixed_with_none_and_have_what_the_others_learnt(generator):
    model, past = build(generator), draw(generator, BATCH, LOOKBACK, VARIATES)
    wanted = torch.stack([slow(model, window, (True, False, True)) for window in past])
    model.set_apart(torch.tensor([False, True, False]))
    other = past.clone()
    other[..., 1] += draw(generator, BATCH, LOOKBACK)
    found = model(past)
    assert_same(found[..., [0, 2]], wanted[..., [0, 2]])
    assert_same(model(other)[..., [0, 2]], found[..., [0, 2]])
    other[..., 1], other[..., 0] = past[..., 1], 3 * other[..., 0] ** 2
    assert_same(model(other)[..., 1], found[..., 1])
    for each in (model.gain, model.shift, model.past_offset, model.future_offset):
        assert_same(each[1], each[[0, 2]].mean(0))


def test_nothing_is_set_apart_where_all_series_are_young_or_none(generator):
    model = build(generator)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for young in (False, True):
        model.set_apart(torch.full((VARIATES,), young))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_count_is_that_of_its_maps():
    model = create_model("olinear", num_variates=7)
    mixing = 7 * 7 + 2 * 512 * 513
    blocks = 2 * (mixing + 2 * 512 * 513 + 4 * 512)
    ends = (16 * 96 + 1) * 512 + 513 * 16 * 96 + (16 * 96 + 1) * 512 + 513 * 96
    assert sum(parameter.numel() for parameter in model.parameters()) == blocks + ends + 1024 + 14 + 16 + 7 * (96 + 96)


def test_a_config_round_trips():
    config = model_config("olinear", num_variates=3, dim=128)
    assert OLinearConfig.parse(config.plain()) == config


def test_other_sizes_are_refused(generator):
    with pytest.raises(ShapeError, match=r"OLinear: past must be .* with 11 steps and 3 variates"):
        build(generator)(draw(generator, 2, LOOKBACK - 1, VARIATES))


def test_layers_whose_weights_are_folded_are_left_out_of_a_compression(generator):
    model = build(generator)
    plan = compress.plan(model, {".*": compress.LowRank(rank=2)}, measure=False)
    assert {layer.name for layer in plan.refused} >= set(OLinear.read_layers)
    for batch in (1, 300):  # folded or not
        past = draw(generator, batch, LOOKBACK, VARIATES)
        assert plan.apply()(past).isfinite().all() and model(past).isfinite().all()
