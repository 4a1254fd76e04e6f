"""Samples as the tensors that a network takes, gathered from contiguous tables, a few days at a time."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.data.encoders import Encoded
from multiway.data.stocks import StockSamples
from multiway.data.text import free_memory
from multiway.errors import DataError
from multiway.tasks.classes import NO_TARGET
from multiway.tasks.stocks.scale import StockScale

COPIES = 3
"""Of the vectors of groups while they are averaged and scaled."""


class StockInputs:
    """Some of the samples, as a source of batches.

    Args:
        samples: Where they come from.
        rows: Which of them.
        scale: Of the training days.
        vectors: One per group of texts, standardised; None where the network reads prices alone.
        target_mask: `(samples, stocks)`, which are learnt from and scored.
    """

    def __init__(
        self,
        samples: StockSamples,
        rows: NDArray[np.int64],
        scale: StockScale,
        vectors: Tensor | None,
        target_mask: NDArray[np.bool_],
    ) -> None:
        self.rows = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64))
        self.features = torch.from_numpy(scale.prices(samples.features, samples.known))
        self.known = torch.from_numpy(np.ascontiguousarray(samples.known))
        self.dates = torch.from_numpy(scale.dates(samples.days))
        self.slots = torch.from_numpy(np.ascontiguousarray(samples.slots))
        self.slot_valid = torch.from_numpy(np.ascontiguousarray(samples.slot_valid))
        self.text_rows = torch.from_numpy(np.ascontiguousarray(samples.text_rows))
        self.vectors = vectors
        labels = np.where(target_mask, samples.labels, NO_TARGET)
        self.labels = torch.from_numpy(np.where(samples.labels < 0, NO_TARGET, labels).astype(np.int64))
        self.target_mask = torch.from_numpy(np.ascontiguousarray(target_mask))
        self.returns = torch.from_numpy(np.ascontiguousarray(samples.returns, dtype=np.float32))

    def __len__(self) -> int:
        return len(self.rows)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs, labels and movements of samples, the batch axis first, then the stocks.

        prices `(b, N, W, F)`, price_valid `(b, N, W)`, dates `(b, W, D)`, text `(b, N, W, E)` and text_valid
        `(b, N, W)` where the network reads texts, label `(b, N)` with -100 where there is no target,
        target_mask and returns.
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


def outputs_of(model: torch.nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """What the network says of every stock, `(batch, stocks, outputs)` float32."""
    found: Tensor = model(
        batch["prices"], batch["price_valid"], batch["dates"], batch.get("text"), batch.get("text_valid")
    )
    return found.float()


def group_means(samples: StockSamples, encoded: Encoded) -> NDArray[np.float32]:
    """Mean vector of each group of texts, `(groups, text features)`; zeros for a group without a text.

    Raises:
        DataError: The vectors of all groups do not fit into memory.
    """
    groups, features = len(samples.groups.starts) - 1, encoded.vectors.shape[1]
    needed, free = COPIES * 4 * groups * features, free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {groups:,} stock-days with texts would take {needed / 1e9:.2g} GB, and {free / 1e9:.2g} GB "
            f"are free. Choose a smaller encoder (--set text.hashed_dim=128), or keep fewer days."
        )
    rows = torch.from_numpy(np.ascontiguousarray(encoded.rows[samples.groups.items], dtype=np.int64))
    starts = torch.from_numpy(np.ascontiguousarray(samples.groups.starts[:-1], dtype=np.int64))
    vectors = torch.from_numpy(np.ascontiguousarray(encoded.vectors, dtype=np.float32))
    return np.asarray(F.embedding_bag(rows, vectors, starts, mode="mean").numpy())


def target_mask_of(samples: StockSamples, target: str) -> NDArray[np.bool_]:
    """`(samples, stocks)`: which are learnt from and scored; of quantiles every movement whose window shows a price."""
    if target == "movement":
        labelled: NDArray[np.bool_] = samples.labels >= 0
        return labelled
    return samples.price_valid(np.arange(len(samples.targets))).any(-1) & np.isfinite(samples.returns)
