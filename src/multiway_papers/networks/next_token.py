"""How surprising each token is after those before it, and how text goes on, for a network or for counts of n-grams."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.errors import ConfigError

ORDERS = {"unigram": 1, "trigram": 3}
"""Tokens that each named model looks at, the one it says among them."""
DISCOUNT = 0.75
"""Taken from each count where there are too few counts of one and two to estimate it by."""


class NGramCounts(NamedTuple):
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

    def __init__(self, vocabulary: int, counts: Sequence[NGramCounts]) -> None:
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
        return cls(vocabulary, [NGramCounts(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)])

    def fit(self, documents: Sequence[Tensor]) -> None:
        """Count every sequence of the documents; a document is a row of tokens."""
        for order, (gram, often) in enumerate(_counted(documents, self.order, self.vocabulary), start=1):
            context, position = torch.unique(gram // self.vocabulary, return_inverse=True)
            kinds = torch.bincount(position, minlength=len(context))
            total = torch.zeros_like(context).index_add_(0, position, often)
            values = {"gram": gram, "often": often, "context": context, "total": total, "kinds": kinds}
            for name, value in values.items():
                getattr(self, f"{name}{order}").copy_(value)

    def forward(self, inputs: Tensor, target: Tensor) -> Tensor:
        """Log-probability of each target `(windows, tokens)`, of what stands before it in its window."""
        shares = torch.full(target.shape, 1.0 / self.vocabulary, dtype=torch.float64)
        before = torch.zeros_like(inputs)
        for order in range(1, self.order + 1):
            if order > 1:
                earlier = torch.nn.functional.pad(inputs, (order - 2, 0))[:, : inputs.shape[1]]  # zeros where none is
                before = before + earlier * self.vocabulary ** (order - 2)
            known = torch.arange(inputs.shape[1]) >= order - 2
            shares = torch.where(known, self._interpolated(order, before, target, shares), shares)
        return shares.log()

    def logits(self, ids: Sequence[int]) -> Tensor:
        """Log-probability of every token after some, `(vocabulary,)`."""
        last = torch.tensor(ids[-max(self.order - 1, 1) :]).expand(self.vocabulary, -1)
        target = last.clone()
        target[:, -1] = torch.arange(self.vocabulary)
        return self(last, target)[:, -1]  # type: ignore[no-any-return]

    def _interpolated(self, order: int, before: Tensor, target: Tensor, below: Tensor) -> Tensor:
        """Shares of an order where it has seen the tokens before, those of the order below elsewhere."""
        gram, often, context, total, kinds = (
            getattr(self, f"{name}{order}") for name in ("gram", "often", "context", "total", "kinds")
        )
        seen, position = _found(context, before)
        counted, row = _found(gram, before * self.vocabulary + target)
        count = torch.where(counted, often[row], 0).double()
        once, twice = int((often == 1).sum()), int((often == 2).sum())
        discount = once / (once + 2 * twice) if once and twice else DISCOUNT
        mass = (count - discount).clamp_min(0.0) + discount * kinds[position].double() * below
        return torch.where(seen, mass / total[position], below)


def counts_of(documents: Sequence[Tensor], order: int, vocabulary: int) -> list[NGramCounts]:
    """What a model of these documents has to hold."""
    every = (gram for gram, _ in _counted(documents, order, vocabulary))
    return [NGramCounts(len(gram), len(torch.unique(gram // vocabulary))) for gram in every]


def table_sizes(documents: Sequence[Tensor], order: int, vocabulary: int) -> list[int]:
    """What `counts_of` says, one number after the other."""
    return [number for counts in counts_of(documents, order, vocabulary) for number in counts]


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
    sequences = [(document.unfold(0, size, 1) * places).sum(1) for document in documents if len(document) >= size]
    return torch.cat([torch.empty(0, dtype=torch.int64), *sequences])


def _found(table: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each number is in a sorted table, and where."""
    position = torch.searchsorted(table, values).clamp_max(len(table) - 1)
    return table[position] == values, position


@torch.no_grad()
def token_nats(model: nn.Module, inputs: Tensor, target: Tensor) -> Tensor:
    """Minus the log-probability of each target after the inputs up to its place, `(targets,)`, one after another.

    Args:
        model: Gives logits of the next token, or is one of counts.
        inputs: `(windows, tokens)`.
        target: `(windows, tokens)`; what is negative, as torch's -100, is no token and left out.
    """
    if isinstance(model, KneserNey):
        nats: Tensor = -model(inputs, target)
    else:
        nats = F.cross_entropy(model(inputs).float().transpose(1, 2), target, reduction="none")
    return nats[target >= 0]


def continuation(
    model: nn.Module,
    before: Sequence[int],
    context: int,
    tokens: int,
    *,
    end: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> list[int]:
    """Tokens that follow, so many of them, or fewer where the model ends the text.

    Args:
        model: Gives logits of the next token, or is one of counts.
        before: Tokens that stand before; the last `context` of all are read.
        context: Of the model.
        tokens: To write at most.
        end: The token after which there is none.
        temperature: 0 takes the most probable token; else tokens are drawn, the more evenly the higher it is.
        seed: Of the draws of this text.
    """
    if temperature < 0:
        raise ConfigError(f"temperature counts from 0. Got {temperature}.")
    ids, chance = [*before], torch.Generator().manual_seed(seed)
    while len(ids) < len(before) + tokens:
        ids.append(_next(model, ids[-context:], temperature, chance))
        if ids[-1] == end:
            break
    return ids[len(before) :]


@torch.no_grad()
def _next(model: nn.Module, ids: list[int], temperature: float, chance: torch.Generator) -> int:
    logits: Tensor = model.logits(ids) if isinstance(model, KneserNey) else model(torch.tensor([ids]))[0, -1]
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial((logits.double() / temperature).softmax(0), 1, generator=chance))
