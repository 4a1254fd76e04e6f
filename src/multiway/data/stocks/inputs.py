"""Samples as the tensors that a network takes, gathered from contiguous tables, a few days at a time."""

import copy
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.stocks.samples import StockSamples
from multiway.data.stocks.scale import StockScale


class StockInputs:
    """Samples as a source of batches.

    Args:
        samples: Where they come from, all of them.
        scale: Of the training days.
        vectors: One per group of texts, standardised; None where the network reads prices alone.
        target_mask: `(samples, stocks)`, which are learnt from and scored.
    """

    def __init__(
        self,
        samples: StockSamples,
        scale: StockScale,
        vectors: NDArray[np.float32] | None,
        target_mask: NDArray[np.bool_],
    ) -> None:
        self.rows = torch.arange(len(samples.targets))
        self.features = torch.from_numpy(scale.prices(samples.features, samples.known))
        self.known = _tensor(samples.known)
        self.dates = torch.from_numpy(scale.dates(samples.days))
        self.slots = _tensor(samples.slots)
        self.slot_valid = _tensor(samples.slot_valid)
        self.text_rows = _tensor(samples.text_rows)
        self.vectors = None if vectors is None else torch.from_numpy(vectors)
        self.labels = _tensor(samples.labels).long()
        self.target_mask = _tensor(target_mask)
        self.returns = _tensor(samples.returns).float()

    def only(self, rows: NDArray[np.int64]) -> Self:
        """Some of the samples, from the same tables."""
        part = copy.copy(self)
        part.rows = _tensor(rows)
        return part

    def __len__(self) -> int:
        return len(self.rows)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs, labels and movements of samples, the batch axis first, then the stocks.

        prices `(b, N, W, F)`, price_valid `(b, N, W)`, dates `(b, W, D)`, text `(b, N, W, E)` and text_valid
        `(b, N, W)` where the network reads texts, label `(b, N)` with -1 where there is none, target_mask
        and returns.
        """
        rows = self.rows[index]
        slots = self.slots[rows]
        is_day, days = slots >= 0, slots.clamp_min(0)
        dates = self.dates[days] * is_day[..., None]
        valid = self.slot_valid[rows] & is_day[:, None] & self.known[days].transpose(1, 2)
        prices = self.features[days].transpose(1, 2) * valid[..., None]
        batch = {"prices": prices, "price_valid": valid, "dates": dates}
        if self.vectors is not None:
            texts = self.text_rows[rows]
            vectors = self.vectors.index_select(0, texts.flatten()).unflatten(0, texts.shape)
            batch |= {"text": vectors, "text_valid": texts > 0}
        return {
            **batch,
            "label": self.labels[rows],
            "target_mask": self.target_mask[rows],
            "returns": self.returns[rows],
        }


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
