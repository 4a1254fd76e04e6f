"""A table of vectors whose matrix is a tensor train: words as digits, one small core for each digit."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError, DataError, DtypeError, ShapeError
from multiway.nn.factorised import Approximation, relative_error
from multiway.nn.tt_linear import all_ranks, draw_cores
from multiway.ops.dispatch import is_plain


class TTEmbedding(nn.Module):
    r"""Look vectors up in a table that is a tensor train (Hrinchuk et al. 2020).

    $$e_{w} = G_1[v_1] \, G_2[v_2] \cdots G_N[v_N], \qquad w = (v_1, \ldots, v_N)$$

    An id is written in digits, first digit first, and each digit picks a slice `(rank, features, next_rank)` of its
    core. Only the requested rows are formed. Counts Σ Rₙ₋₁ Vₙ Jₙ Rₙ parameters.

    Args:
        num_words: Ids there are; ids count from 0.
        sizes: Factors of the number of features (J₁…J_N).
        words: Factors of the number of ids, as many, whose product is at least `num_words`; about its N-th root each if
            not given.
        tt_ranks: As for `TTLinear`.
        padding_idx: An id whose vector is zero; negative ones count from the end.
        deviation: Root mean square of a new table.
        device: As for `torch.nn.Embedding`.
        dtype: As for `torch.nn.Embedding`.

    Shape:
        Ids `(*)` to vectors `(*, Π sizes)`.

    Raises:
        ConfigError: The factors are too few or too small, the ranks do not suit, or `padding_idx` is no id.
    """

    def __init__(
        self,
        num_words: int,
        sizes: Sequence[int],
        *,
        words: Sequence[int] | None = None,
        tt_ranks: int | Sequence[int] = 8,
        padding_idx: int | None = None,
        deviation: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_words, self.sizes = num_words, tuple(sizes)
        if (
            num_words < 1
            or not self.sizes
            or min(self.sizes) < 1
            or (padding_idx is not None and not -num_words <= padding_idx < num_words)
        ):
            raise ConfigError(
                f"TTEmbedding: there is an id at least, sizes are from 1 on, and padding_idx is an id. Got "
                f"num_words={num_words}, sizes={tuple(self.sizes)} and padding_idx={padding_idx}."
            )
        self.padding_idx = None if padding_idx is None else padding_idx % num_words
        self.words = factors_above(num_words, len(self.sizes)) if words is None else tuple(words)
        self.tt_ranks, self.deviation = all_ranks(tt_ranks, len(self.sizes), "TTEmbedding"), deviation
        check_factors(self.words, self.sizes, num_words)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        shapes = zip(self.tt_ranks[:-1], self.words, self.sizes, self.tt_ranks[1:], strict=True)
        self.cores = nn.ParameterList(torch.empty(shape, **factory) for shape in shapes)
        self.approximation: Approximation | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw normal cores; the table then has root mean square `deviation`."""
        paths, entries = math.prod(self.tt_ranks), math.prod(self.words) * math.prod(self.sizes)
        deviation = (self.deviation**2 / paths) ** (0.5 / len(self.cores))
        draw_cores(self.cores, deviation, self.deviation * math.sqrt(entries))

    def forward(self, ids: Int[Tensor, "*lead"]) -> Float[Tensor, "*lead features"]:
        """Vectors of the ids.

        Raises:
            DtypeError: Ids of another type than int32 and int64.
            DataError: An id that there is not; beyond the processor and in graphs only one that has no digits is found.
        """
        check_ids(ids, self.num_words)
        rows = self._rows(ids.flatten()).flatten(1)
        rows = rows.reshape(*ids.shape, rows.shape[1])
        kept: Tensor = rows if self.padding_idx is None else rows * (ids != self.padding_idx)[..., None]
        return kept

    def _rows(self, ids: Tensor) -> Tensor:
        """Slices of the cores multiplied from the first digit on: `(ids, features so far, rank)`."""
        below = math.prod(self.words)
        rows: Tensor = self.cores[0].new_ones(ids.shape[0], 1, 1)
        for core, count in zip(self.cores, self.words, strict=True):
            below //= count
            slices = core.transpose(0, 1)[ids // below]
            ids = ids % below
            rows = (rows @ slices.flatten(2)).reshape(ids.shape[0], rows.shape[1] * core.shape[2], core.shape[3])
        return rows

    def dense_weight(self) -> Float[Tensor, "words features"]:
        """The table as a matrix."""
        table = ops.tt_matrix(list(self.cores)).mT[: self.num_words]
        if self.padding_idx is None:
            return table
        kept = torch.arange(self.num_words, device=table.device) != self.padding_idx
        return table * kept[:, None].to(table.dtype)

    def to_embedding(self) -> nn.Embedding:
        """The table with the same vectors."""
        table = self.dense_weight().detach().clone()
        embedding: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=self.padding_idx)
        return embedding

    @classmethod
    def from_embedding(
        cls,
        embedding: nn.Embedding,
        sizes: Sequence[int],
        *,
        words: Sequence[int] | None = None,
        tt_ranks: int | Sequence[int] | None = None,
        max_error: float | None = None,
    ) -> "TTEmbedding":
        """Approximate a trained table by TT-SVD, to given ranks or to within a relative error.

        `approximation` of the result holds the relative error. The vector of `padding_idx` is zero as long as it is so
        in the table.

        Raises:
            ShapeError: The sizes do not multiply to the table's features.
            ConfigError: Not one of `tt_ranks` and `max_error`.
        """
        table = embedding.weight.detach()
        words = factors_above(len(table), len(sizes)) if words is None else tuple(words)
        matrix = pad_rows(table, math.prod(words)).mT.double()
        ranks = None if tt_ranks is None else all_ranks(tt_ranks, len(sizes), "TTEmbedding")
        cores, _ = ops.tt_svd(matrix, words, sizes, tt_ranks=ranks, max_error=max_error)
        return cls.of_cores(table, cores, padding_idx=zero_row(table, embedding.padding_idx))

    @classmethod
    def of_cores(cls, table: Tensor, cores: Sequence[Tensor], *, padding_idx: int | None = None) -> "TTEmbedding":
        """The layer of these cores, and its error against the table that they stand for."""
        ranks = [core.shape[0] for core in cores] + [1]
        words, sizes = ([core.shape[axis] for core in cores] for axis in (1, 2))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            layer = cls(len(table), sizes, words=words, tt_ranks=ranks, padding_idx=padding_idx).to(table)
            for parameter, core in zip(layer.cores, cores, strict=True):
                parameter.copy_(core)
            layer.approximation = Approximation(relative_error(table, layer.dense_weight()))
        return layer

    def extra_repr(self) -> str:
        """Sizes, ranks and the error of an approximation."""
        parts = f"{self.num_words}, {self.words} -> {self.sizes}, tt_ranks={self.tt_ranks}"
        return f"{parts}, error={self.approximation}" if self.approximation else parts


def zero_row(table: Tensor, index: int | None) -> int | None:
    """The index of the row of padding, if its vector is zero."""
    return index if index is not None and not bool(table[index].any()) else None


def pad_rows(table: Tensor, count: int) -> Tensor:
    """The table with rows of zeros up to a number of rows."""
    return torch.cat([table, table.new_zeros(count - len(table), table.shape[1])])


def factors_above(number: int, count: int) -> tuple[int, ...]:
    """So many like factors whose product is just above a number, larger ones first."""
    factors, rest = [], number
    for left in range(count, 0, -1):
        factor = next(size for size in range(1, rest + 1) if size**left >= rest)
        factors.append(factor)
        rest = -(-rest // factor)
    return tuple(factors)


def check_ids(ids: Tensor, num_words: int) -> None:
    """Refuse what are no ids; their numbers are looked at where that makes nothing wait."""
    if ids.dtype not in (torch.int32, torch.int64):
        raise DtypeError(f"TTEmbedding: ids must be int32 or int64. Got {ids.dtype}; convert them with .long().")
    if type(ids) is Tensor and is_plain(ids) and not torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]
        least, most = ids.aminmax()
        if least < 0 or most >= num_words:
            raise DataError(f"TTEmbedding: ids must lie in 0..{num_words - 1}. Got {int(least)}..{int(most)}.")


def check_factors(words: Sequence[int], sizes: Sequence[int], num_words: int) -> None:
    """Refuse factors of ids that are too few or too small."""
    if len(words) != len(sizes):
        raise ShapeError(f"TTEmbedding: words need a factor for each of sizes. Got words={words} and sizes={sizes}.")
    if min(words) < 1 or math.prod(words) < num_words:
        raise ConfigError(f"TTEmbedding: words must multiply to at least {num_words}, the ids. Got words={words}.")
