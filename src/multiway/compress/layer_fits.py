"""Fit a rule's layer to a layer of any family: dense ones, convolutions and tables of vectors."""

import functools
import itertools
import math
from typing import cast

from torch import nn

from multiway.compress.fits import (
    ByDoubling,
    ByThreshold,
    Compressed,
    Fit,
    LowRankSpectrum,
    PairFit,
    RankChoice,
    TrainFit,
    bias_of,
    fit_of,
)
from multiway.compress.kinds import FAMILY, as_linear, layer_kind, linear_over
from multiway.compress.rules import CP, LowRank, Rule, TensorTrain, balanced_sizes
from multiway.errors import ShapeError
from multiway.nn import CPConv, TTEmbedding, TTLinear, TuckerConv
from multiway.nn.factorised_convolutions import Convolution
from multiway.nn.tt_embedding import check_factors, factors_above, pad_rows, zero_row


def fit_of_layer(rule: Rule, module: nn.Module) -> Fit:
    """The way to fit this rule to this layer, which is of a family that the rule is for."""
    family = FAMILY[layer_kind(module) or "Linear"]
    if family == "convolution":
        dense = cast(Convolution, module)
        return CPFit(dense) if isinstance(rule, CP) else TuckerFit(dense)
    return TableFit(rule, cast(nn.Embedding, module)) if family == "embedding" else fit_of(rule, as_linear(module))


class TuckerFit(ByThreshold):
    """Ranks of both modes of channels from their spectra; a kernel of one place is a matrix, and has one rank."""

    def __init__(self, dense: Convolution) -> None:
        self.dense, self.weight = dense, dense.weight.detach()
        self.places = math.prod(dense.kernel_size)

    @functools.cached_property
    def errors(self) -> list[list[float]]:
        """Relative errors at each rank from 1, of the channels in and the channels out."""
        modes = (1, 0) if self.places > 1 else (0,)
        return [LowRankSpectrum(self.weight.movedim(mode, 0).flatten(1)).errors() for mode in modes]

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """At most the channels of each side."""
        out, into = self.weight.shape[:2]
        return (min(rank, into), min(rank, out)) if self.places > 1 else (min(rank, into, out),)

    def empty(self, ranks: tuple[int, ...]) -> TuckerConv:
        """Of these channels between its parts."""
        return TuckerConv(self.dense, ranks)

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """By singular vectors of both modes."""
        return TuckerConv.from_convolution(self.dense, ranks)

    def _parameters(self, ranks: tuple[int, ...]) -> int:
        ends = (self.dense.in_channels, *ranks, self.dense.out_channels)
        matrices = [first * second for first, second in itertools.pairwise(ends)]
        if len(ranks) == 2:
            matrices[1] *= self.places
        return sum(matrices) + bias_of(self.dense)


class CPFit(ByDoubling[Convolution]):
    """A sum of outer products."""

    def __init__(self, dense: Convolution) -> None:
        super().__init__(dense, dense.in_channels + dense.out_channels + sum(dense.kernel_size))

    def empty(self, ranks: tuple[int, ...]) -> CPConv:
        """Of so many products."""
        return CPConv(self.dense, ranks)

    def _fit_rank(self, rank: int) -> Compressed:
        return CPConv.from_convolution(self.dense, (rank,))


class TableFit:
    """A table of vectors as a train of its transpose; of low rank, with one mode of ids and one of features."""

    def __init__(self, rule: Rule, table: nn.Embedding) -> None:
        self.table = table
        words, sizes = self.sizes = factor_sizes(rule, *table.weight.shape)
        matrix = linear_over(pad_rows(table.weight.detach(), math.prod(words)).mT)
        self.fit = PairFit(matrix, words, sizes, as_train=True) if len(words) == 2 else TrainFit(matrix, words, sizes)

    def options(self) -> list[RankChoice]:
        """Those of the train."""
        return self.fit.options()

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """At most what each bond can hold."""
        return self.fit.limit_ranks(rank)

    def empty(self, ranks: tuple[int, ...]) -> TTEmbedding:
        """With these bonds."""
        words, sizes = self.sizes
        return TTEmbedding(len(self.table.weight), sizes, words=words, tt_ranks=(1, *ranks, 1))

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """The cores of the train as a table."""
        train = cast(TTLinear, self.fit.build(ranks))
        return TTEmbedding.of_cores(
            self.table.weight.detach(),
            list(train.cores),
            padding_idx=zero_row(self.table.weight, self.table.padding_idx),
        )


def factor_sizes(rule: Rule, ids: int, features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Factors of the ids, whose product may be larger, and of the features."""
    if isinstance(rule, LowRank):
        return (ids, 1), (1, features)
    assert isinstance(rule, TensorTrain)
    given = rule.in_sizes or rule.out_sizes
    count = len(given) if given else rule.count
    words, sizes = rule.in_sizes or factors_above(ids, count), rule.out_sizes or balanced_sizes(features, count)
    check_factors(words, sizes, ids)
    if math.prod(sizes) != features:
        raise ShapeError(f"TensorTrain: out_sizes must multiply to the table's {features} features. Got {sizes}.")
    return words, sizes
