"""`bench` and its command: which layers are timed, what they and the roof are counted as, and what is refused."""

import itertools
import json
import math

import pytest
import torch

from command import outcome
from multiway import nn as mnn
from multiway.errors import ConfigError
from multiway_papers import bench
from multiway_papers.bench import layers as made
from multiway_papers.bench import linear


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine of known speed, on which every call takes a millisecond, ours included."""
    monkeypatch.setattr(linear, "gemm_flops", lambda: 1e6)
    monkeypatch.setattr(linear, "bandwidth", lambda: 1e9)

    def rounds(cases, repeats):
        for case in cases.values():
            case()
        return {name: [2e-3 if name == "nn.Linear" else 1e-3] * repeats for name in cases}

    monkeypatch.setattr(linear, "rounds", rounds)
    monkeypatch.setattr(made, "_imported", lambda package: None)


@pytest.mark.parametrize(
    ("layer", "rank", "operations"),
    [("NdLinear", 1, 2 * (15 * 2 + 10 * 7)), ("NdLinear", 2, 4 * (15 * 2 + 10 * 7)), ("LowRankLinear", 4, 2 * 4 * 29)],
)
def test_rows_of_every_pass(layer, rank, operations):
    done = bench.bench(layer, (6, 3, 5), (2, 7), rank=rank, repeats=3)
    rows = {(row["pass"], row["layer"]): row for row in done["rows"]}
    assert set(rows) == set(itertools.product(linear.PASSES, (layer, "nn.Linear", "roof")))
    for name, worth in linear.PASSES.items():
        assert rows[name, "nn.Linear"]["times ours"] == 2 and rows[name, "nn.Linear"]["parameters"] == 16 * 14
        assert rows[name, "roof"]["ms"] == pytest.approx(worth * 6 * operations / 1e6 * 1e3)


def test_attention_keeps_its_sizes_and_counts_every_mode():
    done = bench.bench("KroneckerAttention", (2, 3, 5, 8), rank=2, repeats=3)
    rows = {(row["pass"], row["layer"]): row for row in done["rows"]}
    peers = ("KroneckerAttention", "AxialAttention", "scaled_dot_product_attention", "roof")
    assert set(rows) == set(itertools.product(linear.PASSES, peers)) and done["to"] == (3, 5, 8)
    projected, mixed = 2 * 2 * 15 * 8 * 8, 2 * 15 * 8 * (3 + 5)  # values and outputs; along both modes
    assert rows["forward", "roof"]["ms"] == pytest.approx(2 * (projected + mixed) / 1e6 * 1e3)
    with pytest.raises(ConfigError, match="keeps its sizes"):
        bench.bench("KroneckerAttention", (2, 3, 5, 8), (3, 5, 7), rank=2)


@pytest.mark.parametrize(
    ("layer", "shape", "to", "operations"),
    [
        ("TuckerConv", (2, 5, 7, 4), (6,), 2 * (5 * 3 + 9 * 3**2 + 3 * 6) * 28),
        ("CPConv", (2, 5, 7), (6,), 2 * (5 * 3 + 3 * 3 + 3 * 6) * 7),
        ("NdRNN", (2, 4, 3, 5), (2, 7), 4 * (2 * (15 * 2 + 10 * 7) + 2 * (14 * 2 + 14 * 7))),
    ],
)
def test_convolutions_and_recurrent_layers_keep_their_places_and_steps(layer, shape, to, operations):
    done = bench.bench(layer, shape, to, rank=3, repeats=3)
    rows = {(row["pass"], row["layer"]): row for row in done["rows"]}
    peer = {"TuckerConv": "Conv2d", "CPConv": "Conv1d", "NdRNN": "nn.RNN"}[layer]
    assert set(rows) == set(itertools.product(linear.PASSES, (layer, peer, "roof")))
    assert done["to"] == ((4, 2, 7) if layer == "NdRNN" else (6, *shape[2:]))
    assert rows["forward", "roof"]["ms"] == pytest.approx(2 * operations / 1e6 * 1e3)
    assert rows["forward", layer]["parameters"] < rows["forward", peer]["parameters"]
    assert bench.bench(layer, shape, rank=3, repeats=3)["to"] == shape[1:]


@pytest.mark.parametrize(
    ("layer", "rank", "operations"),
    [
        ("FullAttention", 2, 15 * (8 * 64 + 4 * 8 * 15)),
        ("AxialAttention", 2, 15 * (2 * 8 * 64 + 4 * 8 * (3 + 5))),
        ("DotProductAttention", 2, 15 * (8 * 64 + 4 * 8 * 15)),
        ("AdditiveAttention", 1, 15 * (6 * 64 + 4 * 8 * 15)),
    ],
)
def test_attentions_over_all_tokens_count_maps_and_mixing(layer, rank, operations):
    sizes = (3, 5, 8) if layer in ("FullAttention", "AxialAttention") else (15, 8)
    done = bench.bench(layer, (2, *sizes), rank=rank, repeats=3)
    rows = {(row["pass"], row["layer"]): row for row in done["rows"]}
    assert done["rows"][0]["layer"] == layer and len(rows) == len(done["rows"])
    assert rows["forward", "roof"]["ms"] == pytest.approx(2 * operations / 1e6 * 1e3)
    with pytest.raises(ConfigError, match="keeps its sizes"):
        bench.bench(layer, (2, *sizes), (*sizes[:-1], 9), rank=rank)


def test_a_kernels_operations_grow_with_its_features_and_not_with_pairs():
    layers, flops = made.LAYERS["FullKernelAttention"]((3, 5, 8), (3, 5, 8), 2, 1)
    features = len(layers["FullKernelAttention"].projection)
    assert flops == 15 * (8 * 64 + 4 * 8 * 2 * features)  # both signs of each


def test_a_table_counts_the_slices_of_its_ids(monkeypatch):
    done = bench.bench("TTEmbedding", (6, 12), (15,), rank=2, repeats=3)
    rows = {(row["pass"], row["layer"]): row for row in done["rows"]}
    assert set(rows) == set(itertools.product(linear.PASSES, ("TTEmbedding", "nn.Embedding", "roof")))
    assert (
        rows["forward", "TTEmbedding"]["parameters"] == 4 * 5 * 2 + 2 * 3 * 3
    )  # 12 ids as 4 x 3, 15 features as 5 x 3
    assert rows["forward", "roof"]["ms"] == pytest.approx(6 * (2 * 5 * 2 * 3) / 1e6 * 1e3)
    monkeypatch.setattr(linear, "gemm_flops", lambda: math.inf)
    slices = 5 * 2 * 2 + 2 * 3 * 2  # of two ids
    moved = linear._traffic(torch.zeros(2, dtype=torch.int64), (15,), mnn.TTEmbedding(12, (5, 3), tt_ranks=2))
    assert moved == 2 * 8 + 4 * (2 * 15 + slices)
    with pytest.raises(ConfigError, match=r"TTEmbedding has vectors of any size\. Give it as to"):
        bench.bench("TTEmbedding", (6, 12))


def test_three_cores_of_a_table_multiply_from_the_first_on():
    table = mnn.TTEmbedding(24, (5, 3, 2), tt_ranks=(1, 4, 6, 1))
    assert made.vector_flops(table) == 2 * (5 * 4 * 3 * 6) + 2 * (15 * 6 * 2)


@pytest.mark.parametrize("dim", [16, 12])
def test_attention_by_a_graph_and_those_that_it_replaces(dim):
    done = bench.bench("TensorGraphAttention", (2, 7, dim), rank=2, repeats=3)
    peers = ("TensorGraphAttention", "DotProductAttention", "scaled_dot_product_attention", "roof")
    assert [row["layer"] for row in done["rows"]] == [*peers, *peers] and done["to"] == (7, dim)
    with pytest.raises(ConfigError, match="over tokens keeps its sizes"):
        bench.bench("TensorGraphAttention", (2, 7, 3, dim))


def test_a_filter_by_a_graph_counts_no_more_than_the_reach_of_its_damping():
    layer = mnn.TensorGraphAttention(16, num_heads=2)
    trains = sum(made.train_flops(each, 2000) for each in (*layer.keys, *layer.values, layer.out))
    assert made.graph_flops(layer, 10, 200) == 10 * trains + 2 * 2 * 10**2 * 32
    assert made.graph_flops(layer, 1000, 2) == 1000 * trains + 2 * 5 * 1000 * 173 * 32


@pytest.mark.parametrize("layer", ["NdLinear", "TTLinear"])
def test_a_single_size_is_split_as_compress_splits_it(layer):
    done = bench.bench(layer, (6, 12), (35,), rank=2, repeats=3)
    assert (done["shape"], done["to"]) == ((6, 4, 3), (7, 5))
    assert done["rows"][0]["parameters"] < done["rows"][1]["parameters"] == 12 * 35 + 35


def test_the_order_of_fewest_operations_by_every_order():
    sizes, to = (3, 8, 5), (7, 2, 5)
    counts = []
    for order in itertools.permutations(range(3)):
        now, count = list(sizes), 0
        for mode in order:
            count += 2 * math.prod(now) // now[mode] * now[mode] * to[mode]
            now[mode] = to[mode]
        counts.append(count)
    assert bench.nd_linear_flops(sizes, to) == min(counts) < max(counts)


def test_a_train_of_full_rank_counts_as_dense():
    assert bench.train_flops(mnn.TTLinear((4, 4), (4, 4), tt_ranks=16), 64) == 2 * 16 * 16
    assert bench.train_flops(mnn.TTLinear((32, 32), (32, 32), tt_ranks=1), 64) == 2 * 2 * 32**3


def test_the_package_has_our_weights_and_takes_its_turn(monkeypatch):
    class Package(torch.nn.Module):
        def __init__(self, in_sizes, out_sizes):
            super().__init__()
            self.layer = mnn.NdLinear(in_sizes, out_sizes)

        def load_state_dict(self, state):
            self.layer.load_state_dict(dict(state))

        def forward(self, x):
            return self.layer(x)

    monkeypatch.setattr(made, "_imported", lambda package: type("module", (), {"NdLinear": Package}))
    layers, _ = linear.LAYERS["NdLinear"]((3, 5), (2, 7), 1, 6)
    x = torch.randn(6, 3, 5)
    assert list(layers) == ["NdLinear", "ndlinear", "nn.Linear"]
    assert torch.equal(layers["NdLinear"](x), layers["ndlinear"](x))


def test_the_command_prints_a_table_and_a_document():
    words = ("bench", "TTLinear", "--shape", "4,3,5", "--to", "2,7", "--repeats", "1")
    code, text, _ = outcome(*words)
    assert code == 0 and text.startswith("TTLinear 4,3,5 to 2,7, rank 2") and "nn.Linear" in text
    document = json.loads(outcome(*words, "--json")[1])
    assert document["shape"] == [4, 3, 5] and [row["layer"] for row in document["rows"]][:2] == [
        "TTLinear",
        "nn.Linear",
    ]


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"'NdLinea' is not one of .*did you mean NdLinear"):
        bench.bench("NdLinea", (4, 3), (2,))
    with pytest.raises(ConfigError, match=r"shape is the batch and then at least one size\. Got shape=\(4,\)"):
        bench.bench("NdLinear", (4,), (2,))
    with pytest.raises(ConfigError, match="NdRNN takes steps of as many sizes as states"):
        bench.bench("NdRNN", (4, 5, 3, 2), (2,))
    with pytest.raises(ConfigError, match="a convolution takes channels and one to three modes"):
        bench.bench("CPConv", (4, 5), (2,))
    assert (
        "--shape: sizes are whole numbers from 1 on, as 64,28,28,3. Got '4,x'."
        in outcome("bench", "NdLinear", "--shape", "4,x", "--to", "2")[2]
    )
