"""Networks that correct first forecasts of fields, against slow formulations; what they promise of time and space."""

import itertools

import pytest
import torch
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.models import create_model, list_models
from tolerances import assert_same

NAMES = list_models("*_grid_forecaster")
SIZES = {"context": 3, "horizon": 2, "channels": 2, "features": 3, "sizes": (7, 11), "patch_size": 2, "dropout": 0.0}
SMALL = {"hot_grid_forecaster": {"dim": 16, "num_heads": 2, "rank": 3}}


def drawn(name, **fields):
    """A small network in float64, all of whose numbers are drawn, those that begin with zero too."""
    torch.manual_seed(0)
    model = create_model(name, **{**SIZES, "dim": 8, **SMALL.get(name, {}), **fields}).double()
    for each in model.parameters():
        each.data = each.data + torch.randn(each.shape, dtype=each.dtype) / 4
    return model


def frames(channels=2, features=3, batch=2, **changes):
    torch.manual_seed(1)
    return torch.randn(batch, 5, channels + features, 7, 11, dtype=torch.float64)


def assert_same_with_gradients(fast, slow, inputs):
    """Values, and gradients of every input, of two ways to compute the same."""
    assert_same(fast, slow)
    cotangent = torch.randn_like(fast)
    pairs = (torch.autograd.grad(each, inputs, cotangent, retain_graph=True) for each in (fast, slow))
    for own, expected in zip(*pairs, strict=True):
        assert_same(own, expected)


def test_five_networks_are_of_about_equal_size():
    models = {name: create_model(name, sizes=(37, 49), features=5) for name in NAMES}
    assert len(models) == 5 and "hot_grid_forecaster" in models
    counts = {name: sum(map(torch.numel, model.parameters())) for name, model in models.items()}
    assert all(110_000 < count < 130_000 for count in counts.values()), counts


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_not_trained_corrects_nothing_and_a_step_changes_that(name):
    torch.manual_seed(0)
    model = create_model(name, **{**SIZES, "dim": 8, **SMALL.get(name, {})}).double()
    x = frames()
    found = model(x)
    assert found.shape == (2, 2, 2, 7, 11) and not found.any()
    ((found - 1) ** 2).sum().backward()
    with torch.no_grad():
        for each in model.parameters():
            if each.grad is not None:
                each -= 0.01 * each.grad
    assert (model(x) - found).abs().min() > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_corrected_alone_as_among_others(name):
    model, x = drawn(name).eval(), frames()
    whole = model(x)
    assert whole.std() > 0.01
    for place in range(2):
        assert_same(model(x[place : place + 1]), whole[place : place + 1])


@pytest.mark.parametrize("name", NAMES)
def test_another_size_and_a_wrong_field_are_refused(name):
    with pytest.raises(ShapeError, match=r"with 5 channels and sizes \(5, 7, 11\)\. Got \(2, 5, 5, 7, 12\)"):
        drawn(name)(F.pad(frames(), (0, 1)))
    with pytest.raises(ConfigError, match=r"sizes must be positive\. Got sizes=\(0, 3\)"):
        create_model(name, sizes=(0, 3))


def test_convlstm_is_its_gates_one_after_another():
    """Each gate with weights of its own, for input and state apart."""
    model, x = drawn("convlstm_grid_forecaster", num_blocks=1), frames().requires_grad_()
    tokens = model.embedding(F.pixel_unshuffle(F.pad(x, (0, 1, 0, 1)), 2).movedim(2, -1)) + model.step[:, None, None]
    (gates,) = model.gates
    weights, biases = gates.weight.chunk(4), gates.bias.chunk(4)
    hidden = cell = torch.zeros_like(tokens[:, 0].movedim(-1, 1))
    outputs = []
    for step in range(5):
        i, f, o, g = (
            F.conv2d(tokens[:, step].movedim(-1, 1), weight[:, :8], bias, padding=1)
            + F.conv2d(hidden, weight[:, 8:], padding=1)
            for weight, bias in zip(weights, biases, strict=True)
        )
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        outputs.append(hidden)
    later = torch.stack(outputs[3:], 1).movedim(2, -1)
    squares = model.head(later / (later.square().mean(-1, keepdim=True) + 1e-6).sqrt() * model.norm.weight)
    slow = torch.zeros(2, 2, 2, 7, 11, dtype=torch.float64)
    for row, column in itertools.product(range(7), range(11)):
        place = 2 * (row % 2) + column % 2
        slow[..., row, column] = squares[:, :, row // 2, column // 2, [place, 4 + place]]
    assert_same_with_gradients(model(x), slow, [x, *gates.parameters()])


def test_convlstm_corrects_a_field_without_those_after_it():
    model, x = drawn("convlstm_grid_forecaster"), frames()
    changed = x.clone()
    changed[:, -1] += 1
    one, other = model(x), model(changed)
    assert torch.equal(one[:, 0], other[:, 0]) and (one[:, 1] - other[:, 1]).abs().min() > 0


def test_fno_multiplies_each_frequency_by_its_matrix():
    """By sums over waves in place of the fast transform; those of the other sign are the conjugates."""
    model = drawn("fno_grid_forecaster", num_blocks=1, patch_size=1, context=1, horizon=1, sizes=(11, 13))
    (weights,) = model.frequencies
    x = torch.randn(2, 12, 11, 13, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.meshgrid(torch.arange(11.0).double(), torch.arange(13.0).double(), indexing="ij")
    slow = torch.zeros_like(x)
    for (place, row), column in itertools.product(enumerate((0, 1, 2, 3, 7, 8, 9, 10)), range(4)):
        wave = torch.exp(2j * torch.pi * (row * rows / 11 + column * columns / 13))
        amount = (x * wave.conj()).sum((-2, -1)) / 143
        answer = amount @ torch.view_as_complex(weights)[place, column]
        twice = 1 if column == 0 else 2
        slow = slow + twice * (answer[..., None, None] * wave).real
    assert_same_with_gradients(model.filter(x, weights), slow, [x, weights])


def test_fno_moves_with_its_input_around_the_grid():
    model = drawn("fno_grid_forecaster", sizes=(8, 10)).eval()
    x = torch.randn(2, 5, 5, 8, 10, dtype=torch.float64)
    assert_same(model(x.roll((4, 2), (-2, -1))), model(x).roll((4, 2), (-2, -1)))


def test_factorised_attention_sees_a_frame_then_a_place_at_a_time():
    model = drawn("factorised_grid_forecaster", num_blocks=1).eval()
    tokens = torch.randn(2, 5, 4, 6, 8, dtype=torch.float64, requires_grad=True)
    frames_alone = torch.stack([model.space[0](tokens[:, step]) for step in range(5)], 1)
    slow = torch.zeros_like(tokens)
    for row, column in itertools.product(range(4), range(6)):
        slow[:, :, row, column] = model.time[0](frames_alone[:, :, row, column])
    assert_same_with_gradients(model.mix(tokens), slow[:, 3:], [tokens, *model.parameters()][:1])


def test_simvp_sees_as_far_as_its_convolutions_reach_and_all_frames():
    """Encoder, two wide convolutions (2 + 4 to each side) and decoder: 8 tokens, and no farther."""
    model = drawn("simvp_grid_forecaster", num_blocks=1, patch_size=1, sizes=(1, 23)).eval()
    x = torch.randn(1, 5, 5, 1, 23, dtype=torch.float64)
    for step in range(5):
        changed = x.clone()
        changed[:, step, :, :, 2] += 1
        moved = (model(changed) - model(x)).abs().amax((0, 2, 3))
        assert (moved[:, 11:] == 0).all() and (moved[:, :11] > 0).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_hot_makes_tokens_of_each_channel_with_what_is_told_of_its_cells(channels):
    """By the dense map that the mode-wise one equals, a square at a time."""
    model, x = drawn("hot_grid_forecaster", channels=channels), frames(channels).requires_grad_()
    padded, weight = F.pad(x, (0, 1, 0, 1)), model.embedding.dense_weight()
    slow = torch.zeros(2, 5, channels, 4, 6, 16, dtype=torch.float64)
    for channel, row, column in itertools.product(range(channels), range(4), range(6)):
        square = padded[..., 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        own = torch.cat([square[:, :, channel : channel + 1], square[:, :, channels:]], 2)
        slow[:, :, channel, row, column] = own.flatten(2) @ weight.T + model.embedding.full_bias.flatten()
    tokens = model.embed(padded)
    assert_same_with_gradients(tokens.reshape(slow.shape), slow, [x, *model.embedding.parameters()])
    cells, undone = model.unpack(tokens), model.head.dense_weight()
    for channel, row, column in itertools.product(range(channels), range(4), range(6)):
        square = cells[:, :, channel, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        assert_same(square.flatten(2), slow[:, :, channel, row, column] @ undone.T + model.head.full_bias.flatten())


def test_hot_attends_over_channels_where_there_are_several():
    model, x = drawn("hot_grid_forecaster").eval(), frames()
    assert [block.attention.num_modes for block in model.blocks] == [4, 4]
    changed = x.clone()
    changed[:, 0, 1, 0, 0] += 1
    assert (model(changed) - model(x))[:, :, 0].abs().min() > 0


def test_maps_of_hot_come_with_the_same_corrections():
    model, x = drawn("hot_grid_forecaster"), frames()
    found, maps = model.forward_with_maps(x)
    assert torch.equal(found, model(x)) and len(maps) == len(model.blocks)
    for block in maps:
        assert [each.shape for each in block] == [(2, 2, size, size) for size in (5, 2, 4, 6)]
        for each in block:
            assert_same(each.sum(-1), torch.ones(each.shape[:-1], dtype=torch.float64))
