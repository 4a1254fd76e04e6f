"""Attention as a choice in blocks, series classifiers and language models."""

import pytest
import torch

from multiway.models import create_model
from multiway.models.attention_choice import AttentionConfig
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from tolerances import assert_same

KINDS = ["graph", "dot_product", "additive"]


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
