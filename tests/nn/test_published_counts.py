"""The parameter counts of the NdLinear paper, of architectures built with the layer (docs/papers/ndlinear.md)."""

import itertools

import pytest
from torch import nn as torch_nn

from multiway.nn import NdLinear


def count(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def convolutions():
    """3 to 32 to 64 channels, 3 × 3, each with batch norm."""
    first = [torch_nn.Conv2d(3, 32, 3, padding=1), torch_nn.BatchNorm2d(32)]
    return [*first, torch_nn.Conv2d(32, 64, 3, padding=1), torch_nn.BatchNorm2d(64)]


@pytest.mark.parametrize(("classes", "nd", "dense"), [(10, 64_858, 1_070_986), (100, 433_588, 1_094_116)])
def test_table_2_image_classifiers(classes, nd, dense):
    head = [NdLinear((64, 8, 8), (64, 8, 8)), torch_nn.Linear(4096, classes)]
    dense_head = [torch_nn.Linear(4096, 256), torch_nn.Linear(256, classes)]
    assert count(*convolutions(), *head) == nd
    assert count(*convolutions(), *dense_head) == dense


def test_the_hidden_sizes_in_print_have_another_count():
    """Section 4.1.1 says (32, 8, 8); table 2's 65k need (64, 8, 8)."""
    assert count(*convolutions(), NdLinear((64, 8, 8), (32, 8, 8)), torch_nn.Linear(2048, 10)) == 42_298


def test_table_3_bert_heads():
    assert count(NdLinear((96, 8), (2, 2)), torch_nn.Linear(4, 2)) == 222
    assert count(torch_nn.Linear(768, 2), torch_nn.Linear(2, 2)) == 1_544


def test_table_4_recurrent_networks():
    assert count(torch_nn.RNN(6, 64), NdLinear((64, 1), (64, 1)), torch_nn.Linear(64, 12)) == 9_550
    assert count(torch_nn.RNN(6, 96), torch_nn.Linear(96, 96), torch_nn.Linear(96, 12)) == 20_460


def test_table_4_transformers():
    """The smaller width is that with NdLinear, and the replaced feed-forward of 2048 is counted with it."""

    def around(width):
        return [torch_nn.Linear(6, width), torch_nn.Linear(width, 12)]

    layer, replaced = torch_nn.TransformerEncoderLayer(16, 2, 2048), [NdLinear((16, 1), (16, 1)) for _ in range(2)]
    assert count(*around(16), layer, *replaced) == 69_616
    assert count(*around(16), layer, *replaced) - count(layer.linear1, layer.linear2) == 2_016
    assert count(*around(32), torch_nn.TransformerEncoderLayer(32, 2, 2048)) == 138_124


@pytest.mark.parametrize(
    ("make", "nd", "dense_sizes", "dense"),
    [
        (lambda: [NdLinear((11, 1), (11, 64)), NdLinear((11, 64), (11, 64))], 5_962, (11, 128, 128, 2), 18_306),
        (lambda: [NdLinear((14, 1), (32, 64)), NdLinear((32, 64), (32, 64))], 7_873, (14, 128, 128, 1), 18_561),
    ],
    ids=["Cardio", "Delivery"],
)
def test_table_5_tabular_networks(make, nd, dense_sizes, dense):
    layers = make()
    last = layers[-1].out_sizes
    assert count(*layers, torch_nn.Linear(last[0] * last[1], dense_sizes[-1])) == nd
    assert count(*(torch_nn.Linear(a, b) for a, b in itertools.pairwise(dense_sizes))) == dense


@pytest.mark.parametrize(
    ("variates", "classes", "width", "inner", "counts"),
    [
        pytest.param(1, 2, 16, 8, (3_363, 1_779, 1_804), id="ECGFiveDays"),
        pytest.param(61, 2, 16, 4, (4_323, 2_739, 2_752), id="Heartbeat"),
        pytest.param(1, 3, 32, 16, (12_900, 6_660, 6_709), id="ChlorineConcentration"),
        pytest.param(1, 5, 32, 32, (12_966, 6_726, 6_823), id="ECG5000"),
        pytest.param(6, 14, 48, 32, (29_343, 15_375, 15_472), id="LSST"),
        pytest.param(1, 5, 32, 32, (12_966, 6_726, 6_823), id="Sleep"),
    ],
)
def test_table_6_time_series_classifiers(variates, classes, width, inner, counts):
    """One encoder layer; a feed-forward four times as wide, as wide, or of two NdLinear; a head of one class more."""

    def encoder(hidden):
        return torch_nn.TransformerEncoderLayer(width, 2, hidden)

    ends = [torch_nn.Linear(variates, width), torch_nn.Linear(width, classes + 1)]
    narrow = encoder(width)
    pair = [NdLinear((width, 1), (width, inner)), NdLinear((width, inner), (width, 1))]
    nd = count(*ends, narrow, *pair) - count(narrow.linear1, narrow.linear2)
    assert (count(*ends, encoder(4 * width)), count(*ends, narrow), nd) == counts


def vision_transformer(width, depth, feed_forward):
    """Patches of 16 in 224, 8 heads of 64, norms around the patches and before each part."""
    patches = [torch_nn.LayerNorm(768), torch_nn.Linear(768, width), torch_nn.LayerNorm(width)]
    ends = [
        torch_nn.Embedding(198, width),
        torch_nn.LayerNorm(width),
        torch_nn.Linear(width, 10),
    ]  # 197 places, a class
    block = [torch_nn.Linear(width, 3 * 512), torch_nn.Linear(512, width), torch_nn.LayerNorm(width)]
    return count(*patches, *ends) + depth * count(*block, torch_nn.LayerNorm(width), *feed_forward)


@pytest.mark.parametrize(("depth", "nd", "dense"), [(3, "1.68", "5.12"), (6, "3.15", "9.74"), (9, "4.63", "14.36")])
def test_figure_18_vision_transformers(depth, nd, dense):
    pair = [NdLinear((200, 1), (200, 1)) for _ in range(2)]
    mlp = [torch_nn.Linear(500, 512), torch_nn.Linear(512, 500)]
    assert f"{vision_transformer(200, depth, pair) / 1e6:.2f}" == nd
    assert f"{vision_transformer(500, depth, mlp) / 1e6:.2f}" == dense


def test_figure_18_saves_a_quarter_to_two_thirds():
    """The paper rounds to 26-68 %."""
    savings = []
    for depth, width in itertools.product((3, 6, 9), (200, 300, 400)):
        small = vision_transformer(width, depth, [NdLinear((width, 1), (width, 1)) for _ in range(2)])
        large = vision_transformer(500, depth, [torch_nn.Linear(500, 512), torch_nn.Linear(512, 500)])
        savings.append(round(100 * (1 - small / large), 1))
    assert (min(savings), savings[2], max(savings), savings[6]) == (25.2, 25.2, 67.8, 67.8)
