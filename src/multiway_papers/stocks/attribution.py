"""What moved one stock's answer: gradient x input on days of prices and texts, split over the texts of each day."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.samples import Rows
from multiway.explain.voxels import DeletionCurves, curves_by_hiding
from multiway.training import Batch

Score = Callable[[Batch], Tensor]
"""From a batch to one number per sample and stock, higher for a rise."""
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Parts of the texts that the deletion test hides."""
AT_ONCE = 8
Values = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SampleTexts:
    """The texts whose means are the vectors of one sample's days.

    stock, slot: `(texts,)` where each is read.
    item: `(texts,)` which text of the data it is.
    vectors: `(texts, features)` standardised as their means are, so that a day's vector is the mean of its texts'.
    """

    stock: Rows
    slot: Rows
    item: Rows
    vectors: Tensor

    def __len__(self) -> int:
        return len(self.item)

    def counts(self) -> Rows:
        """How many texts each text's day has, itself among them."""
        day = self.stock * (self.slot.max(initial=0) + 1) + self.slot
        return np.asarray(np.bincount(day)[day])


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Contributions:
    """How far each day of each stock moved one stock's score from where it stands without it, to first order.

    score: The score itself.
    prices, texts: `(stocks, slots)`; zeros where the network reads no texts.
    text_gradient: `(stocks, slots, features)`; None where it reads none.
    """

    score: float
    prices: Values
    texts: Values
    text_gradient: Tensor | None

    @property
    def of_stocks(self) -> Values:
        """Prices and texts together, summed over the days, `(stocks,)`."""
        return np.asarray((self.prices + self.texts).sum(axis=1))


def contributions(score: Score, batch: Batch, stock: int) -> Contributions:
    """Gradient x input of one stock's score, for a batch of one sample.

    An input of 0 is the average of the training days, so that is what a contribution is measured from. They do not
    add up to the score: that would need a straight network.
    """
    leaves: Batch = {
        name: batch[name].detach().clone().requires_grad_() for name in ("prices", "text") if name in batch
    }
    value = score({**batch, **leaves})[0, stock]
    slopes = dict(zip(leaves, torch.autograd.grad(value, list(leaves.values()), materialize_grads=True), strict=True))

    def parts(name: str, valid: str) -> Values:
        products = torch.where(batch[valid][..., None], slopes[name] * leaves[name].detach(), 0)[0]
        return np.asarray(products.sum(-1).double().cpu().numpy())

    prices, has_texts = parts("prices", "price_valid"), "text" in leaves
    return Contributions(
        score=float(value.detach()),
        prices=prices,
        text_gradient=slopes["text"][0] if has_texts else None,
        texts=parts("text", "text_valid") if has_texts else np.zeros_like(prices),
    )


def text_contributions(parts: Contributions, texts: SampleTexts) -> Values:
    """Part of each text in its day's contribution; exact, since the day's vector is the mean of its texts'."""
    if parts.text_gradient is None or not len(texts):
        return np.zeros(len(texts))
    gradient = parts.text_gradient.cpu()[torch.from_numpy(texts.stock), torch.from_numpy(texts.slot)]
    whole = (gradient.double() * texts.vectors.double()).sum(-1).numpy()
    return np.asarray(whole / texts.counts())


@torch.no_grad()
def scores_without(score: Score, batch: Batch, texts: SampleTexts, stock: int, hidden: Marks) -> Tensor:
    """Score of one stock with texts of a batch of one sample hidden, `(cases,)`; a day without any left has no text.

    hidden: `(cases, texts)`, of all texts of the sample.
    """
    scores = []
    for start in range(0, len(hidden), AT_ONCE):
        means = [_means_of(texts, ~case, batch["text"].shape[1:]) for case in hidden[start : start + AT_ONCE]]
        some = {name: tensor.expand(len(means), *tensor.shape[1:]) for name, tensor in batch.items()}
        some["text"] = torch.stack([mean for mean, _ in means]).to(batch["text"])
        some["text_valid"] = torch.stack([count > 0 for _, count in means]).to(batch["text_valid"].device)
        scores.append(score(some)[:, stock].double().cpu())
    return torch.cat(scores)


def _means_of(texts: SampleTexts, kept: Marks, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean vector of every stock and slot over the texts that are kept, and their number."""
    stocks, slots, features = sizes
    position = torch.from_numpy((texts.stock * slots + texts.slot)[kept])
    sums = torch.zeros(stocks * slots, features).index_add_(0, position, texts.vectors[torch.from_numpy(kept)].float())
    counts = torch.bincount(position, minlength=stocks * slots)
    means = sums / counts.clamp_min(1)[:, None]
    return means.view(stocks, slots, features), counts.view(stocks, slots)


def deletion_of_texts(
    score: Score, batch: Batch, texts: SampleTexts, stock: int, shares: Values, *, draws: int = 8
) -> DeletionCurves | None:
    """Probability of the direction named as ever more of the sample's texts are hidden; None with fewer than two.

    What spoke most for the direction goes first, then texts in random orders. Where the contributions mark what
    matters, their curve falls faster.
    """
    if len(texts) < 2:
        return None
    with torch.no_grad():
        direction = 1.0 if float(score(batch)[0, stock]) > 0 else -1.0

    def chances(hidden: Marks) -> Values:
        cases, position = np.unique(hidden, axis=0, return_inverse=True)
        values = torch.sigmoid(direction * scores_without(score, batch, texts, stock, cases)).numpy()
        return np.asarray(values[position.ravel()])

    return curves_by_hiding(chances, {"gradients": direction * shares}, len(texts), shares=SHARES, draws=draws)


def texts_of_rows(
    text_rows: NDArray[np.int32], items_of: Callable[[int], Rows], vector_of: Callable[[Rows], Tensor]
) -> SampleTexts:
    """Texts of one sample, by the group that each stock and slot reads (0 for none), with their vectors."""
    days = np.argwhere(text_rows > 0)
    groups = [items_of(int(text_rows[stock, slot])) for stock, slot in days]
    stock, slot = np.repeat(days, [len(group) for group in groups], axis=0).T
    item = np.concatenate([np.empty(0, np.int64), *groups])
    return SampleTexts(stock=stock, slot=slot, item=item, vectors=vector_of(item))
