"""Word vectors of a tensor train: rows of its matrix, counted, drawn and refused."""

import pytest
import torch

from multiway import nn
from multiway.errors import ConfigError, DataError, DtypeError, ShapeError
from multiway.nn.tt_embedding import check_ids, factors_above
from tolerances import COARSE32, assert_same


def build(**options):
    torch.manual_seed(3)
    usual = {"words": (3, 4, 2), "tt_ranks": (2, 3), "dtype": torch.float64}
    return nn.TTEmbedding(21, (2, 3, 2), **{**usual, **options})


def test_vectors_are_rows_of_the_trains_matrix_entry_by_entry():
    table = build()
    first, second, third = table.cores
    for word in range(21):
        a, b, c = word // 8, word // 2 % 4, word % 2
        row = torch.einsum("aib,bjc,ckd->ijk", first[:, a], second[:, b], third[:, c]).flatten()
        assert_same(table(torch.tensor(word)), row)
    ids = torch.tensor([[20, 0, 7], [7, 3, 1]])
    assert_same(table(ids), table.dense_weight()[ids])


def test_gradients_are_those_of_the_dense_table():
    table, ids = build(), torch.tensor([[20, 0, 7], [7, 3, 1]])
    cotangent = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parameters = list(table.parameters())
    for grad, expected in zip(
        torch.autograd.grad(table(ids), parameters, cotangent),
        torch.autograd.grad(table.dense_weight()[ids], parameters, cotangent),
        strict=True,
    ):
        assert_same(grad, expected)


def test_the_vector_of_padding_is_zero_and_teaches_nothing():
    table = build(padding_idx=4)
    assert not table(torch.tensor([4])).any() and table(torch.tensor([5])).all()
    assert not any(grad.any() for grad in torch.autograd.grad(table(torch.tensor([4])).sum(), list(table.parameters())))
    assert_same(table(torch.arange(21)), table.dense_weight())


def test_padding_counts_from_the_end_as_in_torch():
    table, dense = build(padding_idx=-2), torch.nn.Embedding(21, 12, padding_idx=-2)
    assert table.padding_idx == dense.padding_idx == 19
    assert not table(torch.tensor([19])).any() and table(torch.tensor([20])).all()


@pytest.mark.parametrize("ids", [[-1, 3], [3, 21], [23], [24], [100]])
def test_ids_that_are_none_are_refused(ids):
    with pytest.raises(DataError, match=rf"TTEmbedding: ids must lie in 0\.\.20\. Got {min(ids)}\.\.{max(ids)}\."):
        build()(torch.tensor(ids))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.bool, torch.float32], ids=str)
def test_ids_of_another_type_are_refused_and_short_ones_are_not(dtype):
    table, ids = build(), torch.tensor([1, 0, 1])
    assert_same(table(ids.int()), table.dense_weight()[ids])
    assert table(ids[:0]).shape == (0, 12)
    with pytest.raises(DtypeError, match=rf"TTEmbedding: ids must be int32 or int64\. Got {dtype}; convert them"):
        check_ids(ids.to(dtype), 21)


def test_a_graph_finds_ids_beyond_all_digits():
    table = build()
    program = torch.export.export(table, (torch.tensor([1, 20]),))
    assert_same(program.module()(torch.tensor([1, 20])), table(torch.tensor([1, 20])))
    with pytest.raises(IndexError, match="out of bounds"):
        program.module()(torch.tensor([1, 24]))


def test_parameters_are_counted():
    table = build()
    assert sum(each.numel() for each in table.parameters()) == 3 * 2 * 2 + 2 * 4 * 3 * 3 + 3 * 2 * 2
    large = nn.TTEmbedding(20_000, (4, 4, 4), tt_ranks=8)
    assert sum(each.numel() for each in large.parameters()) == 28 * 4 * 8 + 8 * 27 * 4 * 8 + 8 * 27 * 4


@pytest.mark.parametrize(("number", "count"), [(20_000, 3), (2, 3), (1001, 3), (1000, 3), (17, 1), (4096, 4)])
def test_factors_are_alike_and_just_suffice(number, count):
    factors = factors_above(number, count)
    assert len(factors) == count and torch.tensor(factors).prod() >= number
    assert max(factors) - min(factors) <= 1
    assert torch.tensor([factors[0] - 1, *[min(factors)] * (count - 1)]).prod() < number


def test_a_new_table_has_the_given_deviation():
    table = build(deviation=0.1, dtype=torch.float32)
    whole = table.dense_weight().detach()
    entries = nn.TTEmbedding(24, (2, 3, 2), words=(3, 4, 2), tt_ranks=2, deviation=0.1).dense_weight()
    assert abs(float(entries.detach().square().mean().sqrt()) - 0.1) < COARSE32
    assert whole.shape == (21, 12)


def test_a_misuse_names_rule_and_values():
    with pytest.raises(ConfigError, match=r"words must multiply to at least 21, the ids\. Got words=\(2, 2, 2\)\."):
        build(words=(2, 2, 2))
    with pytest.raises(ShapeError, match=r"words need a factor for each of sizes\. Got words=\(3, 7\)"):
        build(words=(3, 7))
    with pytest.raises(ConfigError, match=r"padding_idx is an id\. Got num_words=21, .* and padding_idx=21\."):
        build(padding_idx=21)
    with pytest.raises(ConfigError, match=r"sizes are from 1 on, .* Got num_words=21, sizes=\(\)"):
        nn.TTEmbedding(21, ())
    with pytest.raises(ConfigError, match=r"there is an id at least.* Got num_words=0"):
        nn.TTEmbedding(0, (2, 2))
    with pytest.raises(ConfigError, match=r"TTEmbedding: 3 cores take one rank, 2 inner ranks"):
        build(tt_ranks=(1, 2, 3, 4, 5))
