import itertools
from statistics import NormalDist

import pytest
import torch
from torch import Tensor

from multiway.errors import ConfigError, ShapeError
from multiway.models import HOTForecaster, HOTForecasterConfig, create_model
from multiway.models.regression import Regressors
from multiway.models.windows import NORMALISERS
from tolerances import assert_same

VARIATES, LOOKBACK, HORIZON, PATCHES = 5, 12, 7, 3
SUBSETS = [(), (0,), (1,), (0, 1)]


def small(**fields: object) -> HOTForecaster:
    """A tiny forecaster in float64 and eval mode, its head away from zero so that every part matters."""
    torch.manual_seed(3)
    base = {
        "num_variates": VARIATES,
        "lookback": LOOKBACK,
        "horizon": HORIZON,
        "patch_length": LOOKBACK // PATCHES,
        "dim": 16,
        "num_heads": 2,
    }
    model = HOTForecaster(HOTForecasterConfig.parse(base | fields)).double().eval()
    torch.nn.init.normal_(model.head.linear.weight)
    return model


def windows(generator: torch.Generator, batch: int = 3) -> Tensor:
    return torch.randn(batch, LOOKBACK, VARIATES, generator=generator, dtype=torch.float64).cumsum(1)


def some_observed(generator: torch.Generator, batch: int = 3) -> Tensor:
    """Gaps everywhere; one variate never observed in sample 0, one patch of time missing in sample 1."""
    observed = torch.rand(batch, LOOKBACK, VARIATES, generator=generator) < 0.7
    observed[0, :, 2] = False
    observed[1, : LOOKBACK // PATCHES] = False
    return observed


def count(model: torch.nn.Module, *, trained: bool) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained)


def test_the_paper_s_620k_parameters():
    embedding = 4 * 128 + 128
    attention = 4 * (128 * 128 + 128)  # one Q, K, V, O for both modes, with biases
    swiglu = 3 * 128 * 512
    block = attention + swiglu + 2 * 128
    head = 128 * 720 + 720
    expected = embedding + 2 * block + 128 + head
    assert expected == 619_472
    model = create_model("hot_forecaster_paper", num_variates=321)
    assert count(model, trained=True) == expected
    assert (model.config.preset, model.config.feature_map) == ("paper", "smreg")


def test_every_subset_of_modes_has_as_many_parameters():
    models = (create_model("hot_forecaster_paper", num_variates=7, attended_modes=modes) for modes in SUBSETS)
    assert len({count(model, trained=False) for model in models}) == 1


def test_every_step_of_the_horizon_costs_129_parameters():
    short, long = (create_model("hot_forecaster_paper", num_variates=7, horizon=steps) for steps in (96, 720))
    assert count(long, trained=True) - count(short, trained=True) == 129 * (720 - 96)
    assert count(short, trained=True) == 538_976


@pytest.mark.parametrize("modes", SUBSETS, ids=str)
@pytest.mark.parametrize("preset", ["paper", "per_mode", "trainable"])
@pytest.mark.parametrize("pooling", ["mean", "flatten"])
def test_every_form_gives_a_forecast_and_a_gradient_to_every_used_weight(generator, modes, preset, pooling):
    model = small(attended_modes=modes, preset=preset, pooling=pooling, linear_floor="trained").train()
    forecast = model(windows(generator), some_observed(generator))
    assert forecast.shape == (3, HORIZON, VARIATES)
    assert forecast.isfinite().all()
    forecast.square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert all(grad.isfinite().all() for grad in grads.values())
    assert {"head.linear.weight", "floor.weight", "variates"} <= {name for name, grad in grads.items() if grad.any()}


@pytest.mark.parametrize("pooling", ["mean", "sum", "max", "learned"])
def test_the_attention_pools_as_the_config_says(generator, pooling):
    past, observed = windows(generator), some_observed(generator)
    model = small(mode_pooling=pooling, linear_floor="trained").train()
    assert [block.attention.pooling for block in model.blocks] == [pooling] * len(model.blocks)
    model(past, observed).square().sum().backward()
    scores = [block.attention.pool_scores for block in model.blocks]
    assert all(each.grad.any() for each in scores) if pooling == "learned" else scores == [None] * len(scores)
    model.eval()
    filled = past.masked_fill(~observed, float("nan"))
    assert_same(model(filled, observed), model(past, observed))


@pytest.mark.parametrize("modes", SUBSETS, ids=str)
def test_variates_exchange_information_only_through_attention(generator, modes):
    model = small(attended_modes=modes)
    past = windows(generator)
    changed = past.clone()
    changed[:, :, 0] = changed[:, :, 0].flip(1)
    moved = (model(changed) - model(past)).abs().amax(dim=(0, 1)) > 1e-9
    assert moved[0]
    assert moved[1:].any() == bool(modes)  # the maps over time are pooled over variates


@pytest.mark.parametrize("batch", [4, VARIATES, PATCHES])  # as many as a mode is long
def test_a_sample_depends_only_on_itself(generator, batch):
    model, past, observed = small(), windows(generator, batch), some_observed(generator, batch)
    together = model(past, observed)
    for index in range(batch):
        assert_same(model(past[index : index + 1], observed[index : index + 1]), together[index : index + 1])
    loud = past.clone()
    loud[1:] *= 1e4
    assert_same(model(loud, observed)[:1], together[:1])


@pytest.mark.parametrize(
    "fields", [{}, {"pooling": "mean"}, {"window_norm": "standard"}, {"level_features": True}], ids=str
)
def test_missing_cells_never_matter(generator, fields):
    model, past, observed = small(**fields), windows(generator), some_observed(generator)
    want = model(past, observed)
    for filler in (0.0, 1e6, float("nan"), float("inf")):
        assert_same(model(past.masked_fill(~observed, filler), observed), want)


def test_missing_cells_get_no_gradient_even_when_nan(generator):
    model, observed = small(), some_observed(generator)
    past = windows(generator).masked_fill(~observed, float("nan")).requires_grad_()
    (grad,) = torch.autograd.grad(model(past, observed).square().sum(), past)
    assert grad.isfinite().all()
    assert not grad[~observed].any()
    assert grad[observed].any()


def test_a_variate_without_a_value_is_invisible_to_the_others(generator):
    model, past, observed = small(), windows(generator), some_observed(generator)
    want = model(past, observed)[0]
    with torch.no_grad():
        model.variates[2] += 10.0
    got = model(past, observed)[0]
    others = [0, 1, 3, 4]
    assert_same(got[:, others], want[:, others])


def test_a_full_mask_is_the_same_as_none(generator):
    past = windows(generator)
    for fields in ({}, {"pooling": "mean", "window_norm": "standard"}):
        model = small(**fields)
        assert_same(model(past, torch.ones_like(past, dtype=torch.bool)), model(past))


def test_a_window_with_nothing_observed_has_a_finite_forecast(generator):
    past = torch.full((2, LOOKBACK, VARIATES), float("nan"), dtype=torch.float64)
    for preset, pooling in itertools.product(("paper", "per_mode", "trainable"), ("mean", "flatten")):
        forecast = small(preset=preset, pooling=pooling)(past, torch.zeros_like(past, dtype=torch.bool))
        assert forecast.isfinite().all()


@pytest.mark.parametrize("norm", ["standard", "last"])
@pytest.mark.parametrize("level", [0.0, 1e8])
def test_constant_windows_give_finite_forecasts_and_gradients(norm, level):
    model = small(window_norm=norm).float()
    past = torch.full((2, LOOKBACK, VARIATES), level, requires_grad=True)
    forecast = model(past)
    forecast.sum().backward()
    assert forecast.isfinite().all()
    assert past.grad.isfinite().all()


def floor_by_hand(past: Tensor, weight: Tensor) -> Tensor:
    out = torch.empty(past.shape[0], weight.shape[1], past.shape[2], dtype=past.dtype)
    for variate in range(past.shape[2]):
        matrix = weight[variate if len(weight) > 1 else 0]
        last = past[:, -1:, variate]
        out[:, :, variate] = last + (past[:, :, variate] - last) @ matrix.T
    return out


@pytest.mark.parametrize("kind", ["frozen", "trained"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_untrained_network_is_exactly_its_floor(generator, kind, shared):
    torch.manual_seed(3)
    config = HOTForecasterConfig(
        num_variates=VARIATES, lookback=16, horizon=HORIZON, linear_floor=kind, floor_shared=shared
    )
    model = HOTForecaster(config).double()
    weight = torch.randn(1 if shared else VARIATES, HORIZON, 16, generator=generator, dtype=torch.float64)
    model.set_floor(weight)
    past = torch.randn(3, 16, VARIATES, generator=generator, dtype=torch.float64)
    assert torch.equal(model(past), model.floor(past))
    assert_same(model(past), floor_by_hand(past, weight))


def test_a_frozen_floor_is_saved_but_not_trained():
    frozen, trained = small(linear_floor="frozen"), small(linear_floor="trained")
    assert "floor.weight" not in dict(frozen.named_parameters())
    assert "floor.weight" in dict(trained.named_parameters())
    assert frozen.state_dict().keys() == trained.state_dict().keys()


def test_one_matrix_may_fill_a_floor_of_many(generator):
    model = small()
    weight = torch.randn(1, HORIZON, LOOKBACK, generator=generator, dtype=torch.float64)
    model.set_floor(weight)
    past = windows(generator)
    assert_same(model.floor(past), floor_by_hand(past, weight))


def test_without_a_floor_or_a_head_the_forecast_is_the_centre(generator):
    past = windows(generator)
    for norm, centre in (("last", past[:, -1:]), ("standard", past.mean(1, keepdim=True))):
        model = small(linear_floor="none", window_norm=norm)
        torch.nn.init.zeros_(model.head.linear.weight)
        torch.nn.init.zeros_(model.head.linear.bias)
        assert_same(model(past), centre.expand(3, HORIZON, VARIATES))


@pytest.mark.parametrize("norm", ["standard", "last"])
def test_the_forecast_moves_with_the_level_and_grows_with_the_scale(generator, norm):
    model = small(window_norm=norm, deviation_limit=None)
    past = 100 * windows(generator)  # far above the constant in the variance
    assert (model(past * 3 + 50) - (model(past) * 3 + 50)).abs().max() < 1e-3 * past.std()


def test_one_broken_cell_does_not_set_the_scale_of_the_correction(generator):
    past = windows(generator)
    broken = past.clone()
    broken[0, 3, 1] = -1e6
    limited, free = small(), small(deviation_limit=None)
    size = [(model(broken) - model.floor(broken))[0, :, 1].abs().max() for model in (limited, free)]
    assert size[0] < 100 < 1e4 < size[1]


def test_level_features_see_the_level_and_are_blurred_in_training_alone(generator):
    past = windows(generator)
    blind, seeing = small(), small(level_features=True)
    assert_same(blind(past + 2) - 2, blind(past))
    assert not torch.allclose(seeing(past + 2) - 2, seeing(past))
    assert torch.equal(seeing(past), seeing(past))
    seeing = small(level_features=True, dropout=0.0).train()
    assert not torch.equal(seeing(past), seeing(past))
    sharp = small(level_features=True, dropout=0.0, level_noise=0.0).train()
    assert torch.equal(sharp(past), sharp(past))


@pytest.mark.parametrize("modes", SUBSETS, ids=str)
def test_maps_come_per_block_and_mode_and_leave_the_forecast_alone(generator, modes):
    model, past, observed = small(attended_modes=modes), windows(generator), some_observed(generator)
    forecast, maps = model.forward_with_maps(past, observed)
    assert_same(forecast, model(past, observed))
    assert len(maps) == 2
    for block in maps:
        assert [tuple(m.shape) for m in block] == [(3, 2, VARIATES, VARIATES), (3, 2, PATCHES, PATCHES)]
        for mode, weights in enumerate(block):
            if mode in modes:
                assert (weights[0, :, :, 2] == 0).all() or mode == 1  # nothing observed there, nothing seen there
            else:
                assert_same(weights, torch.eye(weights.shape[-1], dtype=torch.float64).expand_as(weights))


def test_saved_weights_give_the_same_forecast(generator):
    model, past = small(feature_map="smreg"), windows(generator)
    other = small(feature_map="smreg")
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(past), model(past))


def test_eval_is_deterministic_and_training_is_not(generator):
    model, past = small(dropout=0.5), windows(generator)
    assert torch.equal(model(past), model(past))
    model.train()
    assert not torch.equal(model(past), model(past))


def test_float32_agrees_with_float64(generator):
    model, past = small(), windows(generator)
    want = model(past).float()
    assert_same(model.float()(past.float()), want)


@pytest.mark.parametrize(
    ("shape", "got"),
    [
        ((LOOKBACK, VARIATES), r"\(12, 5\)"),
        ((2, VARIATES, LOOKBACK), r"\(2, 5, 12\)"),
        ((2, 11, VARIATES), r"\(2, 11, 5\)"),
    ],
    ids=str,
)
def test_a_misshapen_past_is_refused(shape, got):
    with pytest.raises(
        ShapeError,
        match=rf"past must be \(batch, lookback, variates\) with 12 steps and 5 variates\. Got {got}",
    ):
        small()(torch.zeros(shape, dtype=torch.float64))


def test_a_mask_that_is_not_boolean_is_refused():
    past = torch.zeros(2, LOOKBACK, VARIATES, dtype=torch.float64)
    with pytest.raises(ShapeError, match=r"past_observed must be boolean and shaped like past\. Got torch\.float64"):
        small()(past, torch.ones_like(past))


def test_a_floor_of_another_size_is_refused():
    with pytest.raises(ShapeError, match=r"= \(5, 7, 12\)\. Got \(5, 12, 7\)"):
        small().set_floor(torch.zeros(VARIATES, LOOKBACK, HORIZON))


def test_a_model_without_a_floor_says_so():
    model = small(linear_floor="none")
    with pytest.raises(ConfigError, match=r"Got linear_floor='none'\. Build the model with one of the two"):
        model.set_floor(torch.zeros(VARIATES, HORIZON, LOOKBACK))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"patch_length": 5},
            r"lookback must be a multiple of patch_length\. Got lookback=12, patch_length=5",
        ),
        ({"num_heads": 3}, r"dim must be an even multiple of num_heads.*Got dim=16, num_heads=3"),
        ({"attended_modes": (2,)}, r"attended_modes must be .*Got \(2,\)"),
        ({"num_variates": 0}, r"num_variates: .*greater than 0 \(got 0\)"),
        ({"pooling": "max"}, r"pooling: Input should be 'mean' or 'flatten' \(got 'max'\)"),
        ({"quantiles": (0.1, 0.9)}, r"quantiles must rise between 0 and 1, with 0.5 .*Got \(0.1, 0.9\)"),
        ({"quantiles": (0.5, 0.9)}, r"quantiles must rise .*Got \(0.5, 0.9\)"),
        ({"quantiles": (0.5, 0.1, 0.9)}, r"quantiles must rise .*Got \(0.5, 0.1, 0.9\)"),
    ],
    ids=str,
)
def test_a_contradiction_is_named(fields, text):
    with pytest.raises(ConfigError, match=text):
        small(**fields)


def test_the_later_code_rectifies_and_normalises_its_patches():
    """src/models/ts.py: convolution, ReLU, LayerNorm; four blocks with LayerNorm, a mean over patches."""
    model = create_model(
        "hot_forecaster_later", num_variates=VARIATES, lookback=8, horizon=3, dim=16, num_heads=2
    ).eval()
    assert (len(model.blocks), model.config.norm, model.config.pooling) == (4, "layer", "mean")
    torch.nn.init.normal_(model.activation[1].weight)
    steps = torch.randn(2, 8, VARIATES, generator=torch.Generator().manual_seed(0))
    tokens = model._embed(model._read(steps, None))
    normal = (steps - steps.mean(1, keepdim=True)) / (steps.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    patches = normal.transpose(1, 2).unflatten(2, (-1, 4)) @ model.embedding.projection.weight.T
    patches = torch.relu(patches + model.embedding.projection.bias)
    norm = model.activation[1]
    expected = torch.nn.functional.layer_norm(patches, (16,), norm.weight, norm.bias)
    torch.testing.assert_close(tokens, expected)


KNOWN, SEEN = 3, 2


def explained(num_blocks=1, series=VARIATES, seed=0, **changes):
    """A model with covariates whose heads are drawn, one window batch in float64, and covariates of it."""
    sizes = {"num_variates": VARIATES, "lookback": 12, "horizon": 7, "patch_length": 4, "dim": 16, "num_heads": 2}
    model = create_model("hot_forecaster", **sizes, num_blocks=num_blocks, known=KNOWN, seen=SEEN, **changes)
    model, draw = model.double().eval(), torch.Generator().manual_seed(seed)
    for head in (model.head.linear, model.steps):
        torch.nn.init.normal_(head.weight, std=0.1, generator=draw)
    past, known, seen = (
        torch.randn(size, dtype=torch.float64, generator=draw)
        for size in ((2, 12, VARIATES), (2, 19, series, KNOWN), (2, 12, series, SEEN))
    )
    return model, past, Regressors(known, seen, torch.zeros(2, dtype=torch.int64))


def slow_tokens(model, past, covariates, variate, patch):
    """Of one window, variate and patch, by sums over steps and features."""
    steps, width = 4, model.config.dim
    token = model.variates[variate, 0].clone()
    rows = range(patch * steps, patch * steps + steps)
    known, seen = (part[:, min(variate, part.shape[1] - 1)] for part in covariates)
    if patch < 3:
        token = token + model.embedding.projection.bias
        for place, row in enumerate(rows):
            token = token + model.embedding.projection.weight[:, place] * past[row, variate]
        layer, features = model.covariates, [torch.cat([known[row], seen[row]]) for row in rows]
    else:
        layer = model.ahead
        features = [known[row] if row < len(known) else known.new_zeros(KNOWN) for row in rows]
    flat = torch.cat(features)
    return token + torch.stack([(layer.weight[out] * flat).sum() + layer.bias[out] for out in range(width)])


@pytest.mark.parametrize("series", [1, VARIATES])
def test_covariates_are_tokens_of_the_past_and_of_the_horizon(series):
    """Values and gradients against a loop over windows, variates and patches; blocks and norm are the model's own."""
    model, past, covariates = explained(series=series, linear_floor="none", window_norm="none", deviation_limit=None)
    inputs = [part.requires_grad_() for part in (past, *covariates[:2])]
    found = model(past, None, covariates)
    tokens = torch.stack([
        torch.stack([
            torch.stack([
                slow_tokens(model, past[b], [part[b] for part in covariates[:2]], v, p) for p in range(5)
            ]) for v in range(VARIATES)
        ]) for b in range(2)
    ])  # fmt: skip
    tokens = model.norm(model.blocks[0](tokens))
    slow = torch.zeros(2, 7, VARIATES, dtype=torch.float64)
    for b, v, step in itertools.product(range(2), range(VARIATES), range(7)):
        of_past = torch.cat([tokens[b, v, p] for p in range(3)]) @ model.head.linear.weight[step]
        ahead = tokens[b, v, 3 + step // 4] @ model.steps.weight[step % 4] + model.steps.bias[step % 4]
        slow[b, step, v] = of_past + model.head.linear.bias[step] + ahead
    torch.testing.assert_close(found, slow, rtol=1e-10, atol=1e-12)
    cotangent = torch.randn_like(found)
    for fast, want in zip(*(torch.autograd.grad(out, inputs, cotangent) for out in (found, slow)), strict=True):
        torch.testing.assert_close(fast, want, rtol=1e-9, atol=1e-11)


def test_untrained_over_a_floor_covariates_add_nothing_and_without_them_it_is_the_network_of_values():
    model, past, covariates = explained()
    plain = create_model(
        "hot_forecaster", num_variates=VARIATES, lookback=12, horizon=7, patch_length=4, dim=16, num_heads=2,
        num_blocks=1,
    ).double().eval()  # fmt: skip
    own = model.state_dict()
    plain.load_state_dict({name: own[name] for name in plain.state_dict()})
    assert torch.equal(model(past), plain(past)) and not torch.equal(model(past, None, covariates), plain(past))
    model.reset_parameters()
    assert torch.equal(model(past, None, covariates), model.floor(past))


def test_absent_series_reach_neither_forecasts_nor_gradients_of_the_others():
    model, past, covariates = explained(num_blocks=2)
    observed = torch.ones_like(past, dtype=torch.bool)
    observed[..., 1] = False
    observed[0, :9, 2] = False
    others = [place for place in range(VARIATES) if place != 1]
    results = []
    for content in (0.0, 7.5, float("nan")):
        own = torch.where(observed, past, content).requires_grad_()
        parts = [part.clone() for part in covariates[:2]]
        for part in parts:
            part[:, :, 1] = 3.0 if content else -1.0
        forecast = model(own, observed, Regressors(*parts, covariates.clock))[..., others]
        weights = [each for name, each in model.named_parameters() if name != "variates"]
        grads = torch.autograd.grad(forecast.square().sum(), [own, *weights], allow_unused=True)
        results.append([forecast, *(grad for grad in grads if grad is not None)])
        assert not grads[0][~observed].any()
    for found in results[1:]:
        for one, other in zip(results[0], found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


SHARES = (0.1, 0.3, 0.5, 0.9)


@pytest.mark.parametrize("pooling", ["mean", "flatten"])
def test_quantiles_never_cross_and_the_median_is_the_forecast(generator, pooling):
    model, past = small(quantiles=SHARES, pooling=pooling), windows(generator)
    levels = model.forward_with_quantiles(past)
    assert levels.shape == (3, HORIZON, VARIATES, 4) and (levels.diff(dim=-1) > 0).all()
    assert torch.equal(model(past), levels[..., 2]) and torch.equal(model.forward_with_maps(past)[0], levels[..., 2])
    assert torch.equal(model(past, every=True), torch.cat(list(levels.unbind(-1))))
    below, above = (levels[..., 2] - levels[..., :2].mean(-1)), levels[..., 3] - levels[..., 2]
    assert_same(model.spread(past), torch.stack([below, above]))


def test_the_median_is_the_forecast_of_the_network_without_quantiles(generator):
    """With the same weights, of which the head of one has those of the other."""
    model, plain = small(quantiles=SHARES), small()
    own = model.state_dict()
    for name in ("head.linear.weight", "head.linear.bias"):
        own[name] = own[name].unflatten(0, (HORIZON, 4))[:, 2]
    plain.load_state_dict(own)
    past, observed = windows(generator), some_observed(generator)
    assert_same(model(past, observed), plain(past, observed))


def test_untrained_quantiles_are_normal_ones_around_the_floor_by_the_deviation_of_a_window(generator):
    model, past = small(quantiles=SHARES, linear_floor="trained"), windows(generator)
    model.reset_parameters()
    normal = torch.tensor([NormalDist().inv_cdf(share) for share in SHARES], dtype=torch.float64)
    scale = NORMALISERS["last"](past, None, model.config.deviation_limit).scale
    assert_same(model.forward_with_quantiles(past), model.floor(past)[..., None] + normal * scale[..., None])


def test_what_is_known_ahead_widens_the_quantiles_of_its_own_patch_alone():
    model, past, covariates = explained(quantiles=SHARES, num_blocks=0)
    before = model.spread(past, None, covariates)
    known = covariates.known.clone()
    known[:, 12 + 4 :] += 1.0  # from the second patch of the horizon on
    after = model.spread(past, None, covariates._replace(known=known))
    assert torch.equal(after[:, :, :4], before[:, :, :4]) and (after[:, :, 4:] - before[:, :, 4:]).abs().min() > 0


def test_a_network_without_quantiles_says_so(generator):
    with pytest.raises(ConfigError, match=r"quantiles are forecast where the config names them.* Build the model with"):
        small().forward_with_quantiles(windows(generator))
