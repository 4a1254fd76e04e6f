"""Attention as a choice in blocks, series classifiers, language models and forecasters."""

import pytest
import torch
from torch.nn import functional as F

from multiway.models import TransformerForecaster, TransformerForecasterConfig, create_model
from multiway.models.choices import AttentionConfig
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from reference import tga
from tolerances import assert_same

KINDS = ["graph", "dot_product", "additive"]


def forecaster(**attention):
    torch.manual_seed(0)
    sizes = {"num_variates": 3, "lookback": 6, "horizon": 4}
    return create_model("transformer_forecaster", **sizes, attention=attention).double().eval()


def windows(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_absent_tokens_change_nothing_in_a_block(kind):
    torch.manual_seed(0)
    config = BlockChoice(
        feed_forward=FeedForwardConfig(hidden=(5,)), dropout=0.0, attention=AttentionConfig(kind=kind, num_heads=2)
    )
    block = TransformerBlock(8, config).double()
    x, keep = torch.randn(2, 5, 8, dtype=torch.float64), torch.tensor([[True] * 3 + [False] * 2] * 2)
    changed = torch.where(keep[..., None], x, 9.0)
    assert_same(block(x, keep), block(changed, keep))
    assert_same(block(x, keep)[:, :3], block(x[:, :3]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_language_model_does_not_see_later_tokens(kind):
    torch.manual_seed(0)
    fields = {"vocabulary": 11, "context": 7, "dim": 8, "num_blocks": 2, "dropout": 0.0}
    model = create_model("causal_transformer", **fields, attention={"kind": kind}).double()
    tokens = torch.randint(0, 11, (2, 7), generator=torch.Generator().manual_seed(0))
    later = tokens.clone()
    later[:, 4:] = (later[:, 4:] + 1) % 11
    assert_same(model(later)[:, :4], model(tokens)[:, :4])
    assert not torch.allclose(model(later)[:, 4:], model(tokens)[:, 4:])


@pytest.mark.parametrize("kind", KINDS)
def test_padding_of_a_series_changes_nothing(kind):
    torch.manual_seed(0)
    fields = {"variates": 2, "num_classes": 3, "dim": 8, "dropout": 0.0}
    model = create_model("series_classifier", **fields, attention={"kind": kind}).double()
    x = torch.randn(2, 6, 2, dtype=torch.float64)
    padded = torch.cat([x, torch.full((2, 3, 2), float("nan"), dtype=torch.float64)], 1)
    assert_same(model(padded), model(x))


def test_the_graph_takes_its_own_settings():
    settings = {"num_heads": 2, "rank": 3, "damping": 0.5, "learn_damping": True, "preset": "paper", "sizes": [2, 4]}
    model = create_model("series_classifier", variates=2, num_classes=3, dim=8, attention=settings)
    layer = model.blocks[0].attention
    assert (layer.num_heads, layer.preset, layer.keys[0].in_sizes) == (2, "paper", (2, 4))
    assert layer.keys[0].tt_ranks == (1, 3, 1) and layer.dampings.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("preset", ["paper", "normalised"])
def test_a_forecaster_with_a_graph_written_out(preset):
    model, past = forecaster(kind="graph", preset=preset, damping=0.5), windows(2, 6, 3)
    block, tokens = model.blocks[0], past @ model.embedding.weight.T + model.embedding.bias
    keys, values = ([list(head.cores) for head in heads] for heads in (block.attention.keys, block.attention.values))
    by_degree = preset == "normalised"
    filtered = [tga.tensor_graph_attention(each, keys, values, damping=0.5, by_degree=by_degree)[0] for each in tokens]
    tokens = F.layer_norm(tokens + torch.stack(filtered), (16,))
    tokens = F.layer_norm(tokens + block.feed_forward(tokens), (16,))
    assert_same(model(past), model.head(tokens.mean(1)).unflatten(1, (4, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_is_forecast_alone_and_without_what_was_not_observed(kind):
    model, past, seen = forecaster(kind=kind), windows(3, 6, 3), torch.ones(3, 6, 3, dtype=torch.bool)
    assert_same(model(past)[1:2], model(past[1:2]))
    seen[0, 2:4], filled = False, past.clone()
    filled[0, 2:4], past[0, 2:4] = past[0, 1], float("nan")
    assert_same(model(past, seen), model(filled))


def test_a_forecaster_is_rebuilt_from_its_fields():
    model, past = forecaster(kind="graph", num_heads=2, learn_damping=True), windows(2, 6, 3)
    repeated = TransformerForecaster(TransformerForecasterConfig.parse(model.config.plain())).double().eval()
    repeated.load_state_dict(model.state_dict())
    assert torch.equal(repeated(past), model(past))


@pytest.mark.parametrize(("kind", "count"), [("graph", 32 * (4 - 1)), ("dot_product", 3 * 16**2)])
def test_a_forecaster_differs_in_its_attention_alone(kind, count):
    usual = create_model("transformer_forecaster", num_variates=3, lookback=6, horizon=4).state_dict()
    chosen = forecaster(kind=kind).state_dict()
    assert sum(value.numel() for name, value in chosen.items() if ".attention." in name) == count
    others = [{name: value.shape for name, value in each.items() if ".attention." not in name}
              for each in (usual, chosen)]  # fmt: skip
    assert others[0] == others[1]
