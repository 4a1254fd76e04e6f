"""Fit a rule's layer to a dense one: what each rank costs and loses, and the layer of the rank that was chosen."""

import abc
import functools
import math
import operator
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from multiway.compress.rules import LowRank, NdLinear, Rule, TensorTrain
from multiway.nn import Approximation, CPConv, LowRankLinear, TTEmbedding, TTLinear, TuckerConv
from multiway.nn import NdLinear as NdLayer
from multiway.nn.factorised import relative_error
from multiway.nn.factorised_convolutions import Convolution

Compressed = NdLayer | TTLinear | LowRankLinear | TuckerConv | CPConv | TTEmbedding
DenseT = TypeVar("DenseT", bound=nn.Linear | Convolution)
THRESHOLDS = 64


class RankChoice(NamedTuple):
    """One choice of ranks: its parameters, bias included, and the relative error of the weight it promises."""

    parameters: int
    error: float
    ranks: tuple[int, ...]


class Fit(Protocol):
    """A dense layer on its way to a rule's layer."""

    def options(self) -> list[RankChoice]:
        """Choices of ranks, cheapest first; each loses less than the one before."""
        ...

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """Ranks for a rule that gives one; what a weight cannot use is left out."""
        ...

    def empty(self, ranks: tuple[int, ...]) -> Compressed:
        """A layer of these ranks before it is fitted, to count and time."""
        ...

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """The layer, its `approximation` set."""
        ...


def fit_of(rule: Rule, linear: nn.Linear) -> Fit:
    """The way to fit this rule to a dense layer."""
    if isinstance(rule, LowRank):
        return LowRankFit(linear)
    assert isinstance(rule, NdLinear | TensorTrain)
    in_sizes, out_sizes = rule.sizes(linear.in_features, linear.out_features)
    if len(in_sizes) == 2:
        return PairFit(linear, in_sizes, out_sizes, as_train=isinstance(rule, TensorTrain))
    return TrainFit(linear, in_sizes, out_sizes) if isinstance(rule, TensorTrain) else TermsFit(rule, linear)


class LowRankSpectrum:
    """A matrix as a product of two factors of any rank, best in the Frobenius norm.

    From the eigenvectors of the smaller Gram matrix, in float64: several times cheaper than singular vectors. What it
    loses is an error below about 1e-8 of the norm.
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix.detach().double()
        self.is_tall = matrix.shape[0] >= matrix.shape[1]
        gram = self.matrix.mT @ self.matrix if self.is_tall else self.matrix @ self.matrix.mT
        squares, vectors = torch.linalg.eigh(gram)
        self.squares, self.vectors = squares.flip(0).clamp_min(0), vectors.flip(1)

    def errors(self) -> list[float]:
        """Relative error at rank 1, 2, … up to the full one."""
        tails = self.squares.flip(0).cumsum(0).flip(0)
        total = float(tails[0])
        if total == 0:
            return [0.0]
        return [*(tails[1:] / total).sqrt().tolist(), 0.0]

    def factors(self, rank: int) -> tuple[Tensor, Tensor]:
        """Left `(rows, rank)` and right `(rank, columns)`, of equal norms term by term."""
        kept = self.vectors[:, :rank]
        left, right = (self.matrix @ kept, kept.mT) if self.is_tall else (kept, kept.mT @ self.matrix)
        norms = (left if self.is_tall else right.mT).norm(dim=0)
        roots = torch.where(norms > 0, norms.sqrt(), 1.0)
        return (left / roots, roots[:, None] * right) if self.is_tall else (left * roots, right / roots[:, None])


def _by_rank(spectrum: LowRankSpectrum, linear: nn.Linear, per_rank: int) -> list[RankChoice]:
    return [
        RankChoice(rank * per_rank + bias_of(linear), error, (rank,)) for rank, error in enumerate(spectrum.errors(), 1)
    ]


class LowRankFit:
    """W ≈ U V."""

    def __init__(self, linear: nn.Linear) -> None:
        self.linear = linear

    @functools.cached_property
    def spectrum(self) -> LowRankSpectrum:
        """Of the weight itself."""
        return LowRankSpectrum(self.linear.weight)

    def options(self) -> list[RankChoice]:
        """One for each rank."""
        return _by_rank(self.spectrum, self.linear, self.linear.in_features + self.linear.out_features)

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """At most the smaller side."""
        return (min(rank, *self.linear.weight.shape),)

    def empty(self, ranks: tuple[int, ...]) -> LowRankLinear:
        """Of that width."""
        linear, (rank,) = self.linear, ranks
        return LowRankLinear(linear.in_features, linear.out_features, rank=rank, bias=linear.bias is not None)

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """Two factors of the weight."""
        up, down = self.spectrum.factors(*ranks)
        return _fill_layer(self.empty(ranks).to(self.linear.weight), self.linear, {"up": up, "down": down})


class PairFit:
    """W ≈ Σ_r A_r ⊗ B_r: NdLinear over two modes, and a train of two cores, from one rearranged matrix."""

    def __init__(
        self, linear: nn.Linear, in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], *, as_train: bool
    ) -> None:
        self.linear, self.in_sizes, self.out_sizes, self.as_train = linear, in_sizes, out_sizes, as_train

    @functools.cached_property
    def spectrum(self) -> LowRankSpectrum:
        """Of the weight with each factor's rows and columns side by side (Van Loan and Pitsianis 1993)."""
        blocks = self.linear.weight.reshape(*self.out_sizes, *self.in_sizes).permute(0, 2, 1, 3)
        return LowRankSpectrum(blocks.reshape(math.prod(blocks.shape[:2]), -1))

    def options(self) -> list[RankChoice]:
        """One for each rank."""
        return _by_rank(self.spectrum, self.linear, sum(map(operator.mul, self.in_sizes, self.out_sizes)))

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """At most the smaller side of the rearranged matrix."""
        return (min(rank, *map(operator.mul, self.in_sizes, self.out_sizes)),)

    def empty(self, ranks: tuple[int, ...]) -> NdLayer | TTLinear:
        """Of so many terms, or a bond of that rank."""
        (rank,), has_bias = ranks, self.linear.bias is not None
        if self.as_train:
            return TTLinear(self.in_sizes, self.out_sizes, tt_ranks=rank, bias=has_bias)
        return _terms(self.in_sizes, self.out_sizes, rank, has_bias=has_bias)

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """Factors as terms of an NdLinear, or as two cores."""
        (rank,) = ranks
        left, right = self.spectrum.factors(rank)
        first, second = (
            part.reshape(rank, out, in_)
            for part, out, in_ in zip((left.mT, right), self.out_sizes, self.in_sizes, strict=True)
        )
        if self.as_train:
            values = {"cores.0": first.permute(2, 1, 0)[None], "cores.1": second.mT[..., None]}
        else:
            values = {"weights.0": first, "weights.1": second}
        return _fill_layer(self.empty(ranks).to(self.linear.weight), self.linear, values)


class ByThreshold(abc.ABC):
    """Ranks of several matrices from their spectra: all share a threshold of the error."""

    @functools.cached_property
    @abc.abstractmethod
    def errors(self) -> list[list[float]]:
        """Relative errors of each matrix at each rank from 1."""

    def options(self) -> list[RankChoice]:
        """One for each threshold; the error promised is the bound of successive SVDs, which the layer stays within."""
        allowed = [0.0, *(10 ** (-4 * step / THRESHOLDS) for step in range(THRESHOLDS + 1))]
        choices = set()
        for limit in allowed:  # the smallest ranks that lose no more
            ranks = (next(rank for rank, lost in enumerate(each, 1) if lost <= limit) for each in self.errors)
            choices.add(tuple(ranks))
        options = []
        for choice in choices:
            bound = math.hypot(*(errors[rank - 1] for errors, rank in zip(self.errors, choice, strict=True)))
            options.append(RankChoice(self._parameters(choice), bound, choice))
        return falling(options)

    @abc.abstractmethod
    def _parameters(self, ranks: tuple[int, ...]) -> int:
        """Numbers of a layer of these ranks, bias included."""


class TrainFit(ByThreshold):
    """A train of three cores or more: ranks from the singular values at each bond, cores by TT-SVD."""

    def __init__(self, linear: nn.Linear, in_sizes: tuple[int, ...], out_sizes: tuple[int, ...]) -> None:
        self.linear, self.in_sizes, self.out_sizes = linear, in_sizes, out_sizes

    @functools.cached_property
    def errors(self) -> list[list[float]]:
        """Relative errors of every bond at each rank from 1."""
        count = len(self.in_sizes)
        pairs = [axis for mode in range(count) for axis in (mode, mode + count)]
        paired = self.linear.weight.reshape(*self.out_sizes, *self.in_sizes).permute(pairs)
        return [
            LowRankSpectrum(paired.reshape(math.prod(paired.shape[: 2 * bond]), -1)).errors()
            for bond in range(1, count)
        ]

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """At most what each bond can hold."""
        return tuple(min(rank, len(errors)) for errors in self.errors)

    def empty(self, ranks: tuple[int, ...]) -> TTLinear:
        """With these bonds."""
        return TTLinear(self.in_sizes, self.out_sizes, tt_ranks=ranks, bias=self.linear.bias is not None)

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """Cores by TT-SVD."""
        return TTLinear.from_linear(self.linear, self.in_sizes, self.out_sizes, tt_ranks=ranks)

    def _parameters(self, ranks: tuple[int, ...]) -> int:
        ends = (1, *ranks, 1)
        cores = zip(ends[:-1], self.in_sizes, self.out_sizes, ends[1:], strict=True)
        return sum(math.prod(core) for core in cores) + bias_of(self.linear)


class ByDoubling(abc.ABC, Generic[DenseT]):
    """A sum of terms by alternating least squares; ranks 1, 2, 4, … are tried, and each is fitted once.

    Args:
        dense: The layer.
        per_rank: Numbers of a term.
    """

    def __init__(self, dense: DenseT, per_rank: int) -> None:
        self.dense, self.per_rank, self.built = dense, per_rank, dict[int, Compressed]()

    def options(self) -> list[RankChoice]:
        """Powers of two while the layer stays smaller than the dense one."""
        options, rank = list[RankChoice](), 1
        while rank == 1 or rank * self.per_rank < self.dense.weight.numel():
            error = approximation_of(self.build((rank,))).error
            options.append(RankChoice(rank * self.per_rank + bias_of(self.dense), error, (rank,)))
            rank *= 2
        return falling(options)

    def limit_ranks(self, rank: int) -> tuple[int, ...]:
        """As given."""
        return (rank,)

    def build(self, ranks: tuple[int, ...]) -> Compressed:
        """Fit once per rank."""
        (rank,) = ranks
        if rank not in self.built:
            self.built[rank] = self._fit_rank(rank)
        return self.built[rank]

    @abc.abstractmethod
    def _fit_rank(self, rank: int) -> Compressed:
        """The layer of so many terms."""


class TermsFit(ByDoubling[nn.Linear]):
    """NdLinear over three modes or more."""

    def __init__(self, rule: NdLinear, linear: nn.Linear) -> None:
        self.in_sizes, self.out_sizes = rule.sizes(linear.in_features, linear.out_features)
        super().__init__(linear, sum(map(operator.mul, self.in_sizes, self.out_sizes)))

    def empty(self, ranks: tuple[int, ...]) -> NdLayer:
        """Of so many terms."""
        return _terms(self.in_sizes, self.out_sizes, *ranks, has_bias=self.dense.bias is not None)

    def _fit_rank(self, rank: int) -> Compressed:
        return NdLayer.from_linear(self.dense, self.in_sizes, self.out_sizes, rank=rank)


def _terms(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], rank: int, *, has_bias: bool) -> NdLayer:
    return NdLayer(in_sizes, out_sizes, rank=rank, bias="full" if has_bias else False, flat=True)


def falling(options: Sequence[RankChoice]) -> list[RankChoice]:
    """Cheapest first, without those that cost more and lose as much."""
    kept: list[RankChoice] = []
    for option in sorted(options):
        if not kept or option.error < kept[-1].error:
            kept.append(option)
    return kept


def bias_of(dense: nn.Linear | Convolution) -> int:
    """Parameters of the bias."""
    return 0 if dense.bias is None else dense.bias.numel()


def approximation_of(layer: Compressed) -> Approximation:
    """Error of a layer that was fitted."""
    assert layer.approximation is not None
    return layer.approximation


def _fill_layer(layer: NdLayer | TTLinear | LowRankLinear, linear: nn.Linear, values: dict[str, Tensor]) -> Compressed:
    """Copy factors and bias into a new layer and measure its error."""
    bias = layer.full_bias if isinstance(layer, NdLayer) else layer.bias
    with torch.no_grad():
        for name, value in values.items():
            parameter = layer.get_parameter(name)
            parameter.copy_(value.reshape(parameter.shape))
        if bias is not None:
            bias.copy_(linear.bias.reshape(bias.shape))
        layer.approximation = Approximation(relative_error(linear.weight, layer.dense_weight()))
    return layer
