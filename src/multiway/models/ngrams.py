"""Interpolated Kneser-Ney: tokens by how often they followed the one or two before; what a network has to beat."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

ORDERS = {"unigram": 1, "trigram": 3}
"""Tokens that each named model looks at, the one it says among them."""
DISCOUNT = 0.75
"""Taken from each count where there are too few counts of one and two to estimate it by."""


class Counts(NamedTuple):
    """Different sequences of one length, and different ones of those without their last token."""

    grams: int
    contexts: int


class KneserNey(nn.Module):
    r"""A token by the `order` - 1 before it, each order interpolated with the one below it.

    $$p(w|c) = \frac{\max(n(cw) - D, 0) + D\, |\{w' : n(cw') > 0\}|\, p(w|c')}{\sum_{w'} n(cw')}$$

    Here c' is c without its first token. Below the highest order n counts different tokens before, not occurrences
    (Kneser & Ney, 1995; interpolated as by Chen & Goodman, 1999). D = n1 / (n1 + 2 n2), of the sequences counted once
    and twice. Below single tokens all are equally likely.

    Args:
        vocabulary: Tokens there are.
        counts: How much each order from single tokens on has to hold, as `counts_of` says; their number is the order.
    """

    def __init__(self, vocabulary: int, counts: Sequence[Counts]) -> None:
        super().__init__()
        self.vocabulary, self.order = vocabulary, len(counts)
        for order, (grams, contexts) in enumerate(counts, start=1):
            for name in ("gram", "often"):
                self.register_buffer(f"{name}{order}", torch.zeros(grams, dtype=torch.int64))
            for name in ("context", "total", "kinds"):
                self.register_buffer(f"{name}{order}", torch.zeros(contexts, dtype=torch.int64))

    @classmethod
    def sized(cls, vocabulary: int, numbers: Sequence[int]) -> Self:
        """A model that is not fitted yet; its numbers are those of `sizes_of`."""
        return cls(vocabulary, [Counts(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)])

    def fit(self, documents: Sequence[Tensor]) -> None:
        """Count every sequence of the documents; a document is a row of tokens."""
        for order, (gram, often) in enumerate(_counted(documents, self.order, self.vocabulary), start=1):
            context, place = torch.unique(gram // self.vocabulary, return_inverse=True)
            kinds = torch.bincount(place, minlength=len(context))
            total = torch.zeros_like(context).index_add_(0, place, often)
            values = {"gram": gram, "often": often, "context": context, "total": total, "kinds": kinds}
            for name, value in values.items():
                getattr(self, f"{name}{order}").copy_(value)

    def forward(self, inputs: Tensor, target: Tensor) -> Tensor:
        """Log-probability of each target `(windows, tokens)`, of what stands before it in its window."""
        shares = torch.full(target.shape, 1.0 / self.vocabulary, dtype=torch.float64)
        before = torch.zeros_like(inputs)
        for order in range(1, self.order + 1):
            if order > 1:
                before = before + _shifted(inputs, order - 2) * self.vocabulary ** (order - 2)
            known = torch.arange(inputs.shape[1]) >= order - 2
            shares = torch.where(known, self._interpolated(order, before, target, shares), shares)
        return shares.log()

    def _interpolated(self, order: int, before: Tensor, target: Tensor, below: Tensor) -> Tensor:
        """Shares of an order where it has seen the tokens before, those of the order below elsewhere."""
        gram, often, context, total, kinds = (
            getattr(self, f"{name}{order}") for name in ("gram", "often", "context", "total", "kinds")
        )
        seen, place = _found(context, before)
        counted, row = _found(gram, before * self.vocabulary + target)
        count = torch.where(counted, often[row], 0).double()
        discount = _discount(often)
        mass = (count - discount).clamp_min(0.0) + discount * kinds[place].double() * below
        return torch.where(seen, mass / total[place], below)


def counts_of(documents: Sequence[Tensor], order: int, vocabulary: int) -> list[Counts]:
    """What a model of these documents has to hold."""
    every = (gram for gram, _ in _counted(documents, order, vocabulary))
    return [Counts(len(gram), len(torch.unique(gram // vocabulary))) for gram in every]


def sizes_of(documents: Sequence[Tensor], order: int, vocabulary: int) -> list[int]:
    """What `counts_of` says, one number after the other."""
    return [number for each in counts_of(documents, order, vocabulary) for number in each]


def _counted(documents: Sequence[Tensor], order: int, vocabulary: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sequences of each order, sorted, and how often each is there; below the highest after how many tokens."""
    for size in range(1, order + 1):
        if size == order:
            yield torch.unique(_sequences(documents, size, vocabulary), return_counts=True)
        else:
            longer = torch.unique(_sequences(documents, size + 1, vocabulary))
            yield torch.unique(longer % vocabulary**size, return_counts=True)


def _sequences(documents: Sequence[Tensor], size: int, vocabulary: int) -> Tensor:
    """Every so many neighbours of a document as one number."""
    places = vocabulary ** torch.arange(size - 1, -1, -1)
    found = [(each.unfold(0, size, 1) * places).sum(1) for each in documents if len(each) >= size]
    return torch.cat([torch.empty(0, dtype=torch.int64), *found])


def _shifted(inputs: Tensor, steps: int) -> Tensor:
    """Inputs so many places before; zeros where there are none."""
    return torch.nn.functional.pad(inputs, (steps, 0))[:, : inputs.shape[1]]


def _found(table: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each number is in a sorted table, and where."""
    place = torch.searchsorted(table, wanted).clamp_max(len(table) - 1)
    return table[place] == wanted, place


def _discount(often: Tensor) -> float:
    once, twice = int((often == 1).sum()), int((often == 2).sum())
    return once / (once + 2 * twice) if once and twice else DISCOUNT
