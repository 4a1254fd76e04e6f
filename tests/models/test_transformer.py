"""The written-out transformer block: torch's own layer, kept tokens, choices of maps."""

import pytest
import torch
from torch import nn as torch_nn

from multiway.errors import ConfigError, ShapeError
from multiway.models.choices import build_layer
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from tolerances import assert_same

DIM, HEADS, HIDDEN = 10, 2, 7


def block_and_oracle(**choices):
    """Our block and torch's encoder layer with the same weights, in float64."""
    torch.manual_seed(0)
    config = BlockChoice(num_heads=HEADS, feed_forward=FeedForwardConfig(hidden=(HIDDEN,)), dropout=0.0, **choices)
    ours = TransformerBlock(DIM, config).double()
    kind = {"activation": config.activation, "norm_first": config.norm_first, "batch_first": True}
    oracle = torch_nn.TransformerEncoderLayer(DIM, HEADS, HIDDEN, 0.0, **kind).double()
    project = ours.attention.project
    pairs = {
        "self_attn.in_proj_weight": project.weight, "self_attn.in_proj_bias": project.bias,
        "self_attn.out_proj.weight": ours.attention.output.layer.weight,
        "self_attn.out_proj.bias": ours.attention.output.layer.bias,
        "linear1.weight": ours.feed_forward.up.layer.weight, "linear1.bias": ours.feed_forward.up.layer.bias,
        "linear2.weight": ours.feed_forward.down.layer.weight, "linear2.bias": ours.feed_forward.down.layer.bias,
        "norm1.weight": ours.norms[0].weight, "norm1.bias": ours.norms[0].bias,
        "norm2.weight": ours.norms[1].weight, "norm2.bias": ours.norms[1].bias,
    }  # fmt: skip
    oracle.load_state_dict({name: value.detach() for name, value in pairs.items()})
    return ours, oracle, pairs


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("seen", ["all", "causal", "kept", "kept and causal"])
def test_the_block_is_torchs_encoder_layer(activation, norm_first, seen):
    ours, oracle, pairs = block_and_oracle(activation=activation, norm_first=norm_first, causal="causal" in seen)
    x = torch.randn(3, 5, DIM, dtype=torch.float64)
    keep = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] * 4 + [False]]) if "kept" in seen else None
    mask = torch.ones(5, 5).triu(1).bool() if "causal" in seen else None
    left = torch.ones(3, 5).bool() if keep is None else keep
    out, wanted = ours(x, keep), oracle.train()(x, src_mask=mask, src_key_padding_mask=None if keep is None else ~keep)
    assert_same(out[left], wanted[left])
    if keep is not None:
        assert not out[~keep].any()
    out[left].square().sum().backward()
    wanted[left].square().sum().backward()
    named = dict(oracle.named_parameters())
    for name, parameter in pairs.items():
        assert_same(parameter.grad, named[name].grad)


def test_absent_tokens_change_nothing():
    block, _, _ = block_and_oracle()
    x = torch.randn(2, 5, DIM, dtype=torch.float64)
    keep = torch.tensor([[True, True, True, False, False]] * 2)
    changed = torch.where(keep[..., None], x, 9.0)
    assert_same(block(x, keep), block(changed, keep))
    assert_same(block(x, keep)[:, :3], block(x[:, :3]))


@pytest.mark.parametrize(("layer", "rank"), [("nd_linear", None), ("tensor_train", 2), ("low_rank", 3)])
def test_the_feed_forward_and_the_output_projection_can_be_other_layers(layer, rank):
    choice = FeedForwardConfig(layer=layer, rank=rank, sizes=(5, 2), hidden=(3, 7))
    config = BlockChoice(num_heads=HEADS, feed_forward=choice, output=layer, output_rank=rank, dropout=0.0)
    block = TransformerBlock(DIM, config).double()
    x = torch.randn(2, 3, DIM, dtype=torch.float64)
    attention = block.attention
    up, down = block.feed_forward.up, block.feed_forward.down
    wanted = down(torch.nn.functional.gelu(up(x.reshape(2, 3, 5, 2)))).reshape(2, 3, DIM)
    assert_same(block.feed_forward(x), wanted)
    assert {type(each) for each in (up, attention.output)} == {type(build_layer(layer, (5, 2), (3, 7), rank=rank))}
    block(x).sum().backward()
    assert all(parameter.grad is not None for parameter in block.parameters())


def test_what_does_not_fit_is_said():
    with pytest.raises(ConfigError, match="low_rank needs a rank"):
        build_layer("low_rank", (4,), (4,))
    with pytest.raises(ConfigError, match="linear takes no rank"):
        build_layer("linear", (4,), (4,), rank=2)
    with pytest.raises(ConfigError, match="rank is for"):
        FeedForwardConfig.parse({"layer": "linear", "rank": 2}, "feed_forward")
    with pytest.raises(ValueError, match="multiply to dim=10"):
        TransformerBlock(DIM, BlockChoice(feed_forward=FeedForwardConfig(sizes=(3, 3))))
    with pytest.raises(ShapeError, match=r"\(batch, tokens, 10\)"):
        TransformerBlock(DIM, BlockChoice(num_heads=2))(torch.zeros(3, DIM))


@pytest.mark.parametrize(
    ("layer", "rank"), [("linear", None), ("nd_linear", None), ("tensor_train", 2), ("low_rank", 5)]
)
def test_every_layer_maps_the_last_axes_and_leaves_the_leading_ones(layer, rank):
    torch.manual_seed(0)
    built = build_layer(layer, (3, 5), (2, 7), rank=rank).double()
    x = torch.randn(4, 6, 3, 5, dtype=torch.float64)
    out = built(x)
    assert out.shape == (4, 6, 2, 7)
    assert_same(out[1, 2], built(x[1, 2]))
