"""The forecasters of NdLinear's table 4: published counts, what they see, and the arithmetic written out."""

import pytest
import torch
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model
from multiway_papers.cells import recipes_of
from tolerances import assert_same

SIZES = {"num_variates": 7, "num_targets": 1, "lookback": 24, "horizon": 12}
NAMES = ("recurrent_forecaster", "transformer_forecaster")
TABLE = "ndlinear-table-4"
DEAD = 2 * 16 * 2048 + 2048 + 16
"""Of `linear1` and `linear2` that torch's encoder layer of width 16 keeps, and that never run."""


def count(name, **fields):
    return sum(parameter.numel() for parameter in create_model(name, **SIZES, **fields).parameters())


def count_of(variant):
    fields = dict(recipes_of(TABLE)[f"ndlinear-ett_h1-{variant}"].settings["model"])
    return count(fields.pop("name"), **fields)


def test_published_counts():
    assert count("recurrent_forecaster") == 9_550
    assert count("recurrent_forecaster_dense") == 20_460
    assert count("transformer_forecaster") == 2_016
    assert count("transformer_forecaster") + DEAD == 69_616
    assert count("transformer_forecaster_dense") == 138_124


@pytest.mark.parametrize("protocol", ["leaky", "honest"])
def test_twins_have_the_count_of_the_mode_wise_model(protocol):
    for family in ("rnn", "transformer"):
        wanted = count_of(f"{protocol}-nd{family}")
        for twin in ("matched", "low-rank"):
            assert abs(count_of(f"{protocol}-{family}-{twin}") / wanted - 1) < 0.02


@pytest.mark.parametrize("name", NAMES)
def test_targets_are_forecast_and_not_seen(name):
    model = create_model(name, **SIZES).eval()
    past = torch.randn(3, 24, 7)
    out = model(past)
    assert out.shape == (3, 12, 1)
    changed = past.clone()
    changed[..., -1] = 9.0
    assert torch.equal(model(changed), out)
    changed[:, 5, 0] += 1
    assert not torch.equal(model(changed), out)


@pytest.mark.parametrize("name", NAMES)
def test_without_targets_every_series_is_seen_and_forecast(name):
    model = create_model(name, num_variates=3, lookback=6, horizon=4).eval()
    past = torch.randn(2, 6, 3)
    assert model(past).shape == (2, 4, 3)
    assert_same(model(past)[1:], model(past[1:]))


@pytest.mark.parametrize("name", NAMES)
def test_gaps_are_filled_and_shapes_checked(name):
    model = create_model(name, num_variates=3, lookback=6, horizon=4).eval()
    past, seen = torch.randn(2, 6, 3), torch.ones(2, 6, 3, dtype=torch.bool)
    filled = past.clone()
    seen[0, 3, 1], filled[0, 3, 1], past[0, 3, 1] = False, past[0, 2, 1], float("nan")
    assert_same(model(past, seen), model(filled))
    with pytest.raises(ShapeError, match="with 6 steps and 3 variates"):
        model(past[:, :5])


def test_the_recurrent_forecaster_written_out():
    model = create_model("recurrent_forecaster", **SIZES).double()
    past = torch.randn(3, 24, 7, dtype=torch.float64)
    state = torch.zeros(3, 64, dtype=torch.float64)
    cell, (first, second), (b1, b2) = model.cell, model.layer.weights, model.layer.biases
    for step in past[..., :6].unbind(1):
        state = torch.tanh(step @ cell.weight_ih_l0.T + cell.bias_ih_l0 + state @ cell.weight_hh_l0.T + cell.bias_hh_l0)
    mapped = (state @ first.T + b1) * second[0, 0] + b2
    assert_same(model(past)[..., 0], model.head(torch.relu(mapped)))


def test_a_mode_wise_cell_takes_series_as_axes():
    model = create_model("recurrent_forecaster", **SIZES, step_sizes=(3, 2), hidden_sizes=(4, 5)).double()
    past = torch.randn(3, 24, 7, dtype=torch.float64)
    last = model.cell(past[..., :6].reshape(3, 24, 3, 2))[1]
    assert_same(model(past)[..., 0], model.head(torch.relu(model.layer(last)).reshape(3, 20)))


def test_the_transformer_forecaster_is_torchs_layer_between_two_maps():
    model = create_model("transformer_forecaster_dense", **SIZES).double().eval()
    theirs = torch.nn.TransformerEncoderLayer(
        32, 2, 2048, activation=F.gelu, batch_first=True, dtype=torch.float64
    ).eval()
    block = model.blocks[0]
    ours = {
        "self_attn.in_proj": block.attention.project, "self_attn.out_proj.": block.attention.output.layer,
        "linear1.": block.feed_forward.up.layer, "linear2.": block.feed_forward.down.layer,
        "norm1.": block.norms[0], "norm2.": block.norms[1],
    }  # fmt: skip
    joined = {"self_attn.in_proj": "_"}
    state = {f"{name}{joined.get(name, '')}{kind}": getattr(part, kind) for name, part in ours.items()
             for kind in ("weight", "bias")}  # fmt: skip
    theirs.load_state_dict(state)
    past = torch.randn(3, 24, 7, dtype=torch.float64)
    assert_same(model(past)[..., 0], model.head(theirs(model.embedding(past[..., :6])).mean(1)))


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("recurrent_forecaster", {"layer": "low_rank"}, "rank is for"),
        ("recurrent_forecaster", {"step_sizes": (6,), "hidden_sizes": (4, 5)}, "need as many axes"),
        ("recurrent_forecaster", {"num_targets": 7}, "must leave a series to see"),
        ("recurrent_forecaster", {"step_sizes": (3, 3)}, "step_sizes must multiply to the series seen, 6"),
        ("transformer_forecaster", {"num_targets": 7}, "must leave a series to see"),
        ("transformer_forecaster", {"num_heads": 3}, "num_heads must divide dim"),
        ("transformer_forecaster", {"dim": 20}, "multiply to dim=20"),
    ],
)
def test_what_does_not_fit_is_said(name, fields, words):
    with pytest.raises(ConfigError, match=words):
        create_model(name, **{**SIZES, **fields})
