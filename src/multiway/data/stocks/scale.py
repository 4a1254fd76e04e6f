"""What the training days say of the size of prices, texts and years; nothing later is looked at."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.data.stocks.samples import StockSamples
from multiway.data.stocks.windows import months, weekdays

SMALLEST = 1e-9
USUAL_DATES = ("day", "month", "year")
SMALLEST_GAP = 1e-3
"""Between two levels of the training days, in spreads, so that a network can widen it."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockScale:
    """Means and spreads of the training days' inputs, and the spread and quantiles of their movements.

    centre, spread: `(price features,)`.
    text_centre, text_spread: `(text features,)`; None without texts.
    years: First and last year of the training days' windows.
    date_features: What of a date the network reads, of day, month, year and weekday.
    movement_spread: Standard deviation of the target movements.
    movement_levels: Their quantiles, those that are predicted; none where directions are.
    """

    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    text_centre: NDArray[np.float32] | None
    text_spread: NDArray[np.float32] | None
    years: tuple[int, int]
    movement_spread: float
    movement_levels: tuple[float, ...]
    date_features: tuple[str, ...] = USUAL_DATES

    @classmethod
    def fit(
        cls,
        samples: StockSamples,
        vectors: NDArray[np.float32] | None,
        target_mask: NDArray[np.bool_] | None = None,
        quantiles: Sequence[float] = (),
        date_features: tuple[str, ...] = USUAL_DATES,
    ) -> Self:
        """Learn from the training samples: each day of a stock counts once, and so does each group of texts.

        Args:
            samples: All of them; those of training are looked at.
            vectors: One per group of texts.
            target_mask: `(samples, stocks)`, whose movements count; those with a label if not given.
            quantiles: Those of the movements that are predicted.
            date_features: What of a date the network reads.
        """
        rows = samples.splits["train"]
        slots = samples.slots[rows]
        centre, spread = _moments(samples.features[samples.days_seen(rows)])
        text_centre = text_spread = None
        if vectors is not None:
            used = np.unique(samples.text_rows[rows])
            text_centre, text_spread = _moments(vectors[used[used > 0]])
        years = years_of(samples.days[slots[slots >= 0]])
        counted = samples.labels[rows] >= 0 if target_mask is None else target_mask[rows]
        moved = samples.returns[rows][counted].astype(np.float64)
        spread_moved = float(moved.std()) if len(moved) else 0.0
        return cls(
            centre=centre,
            spread=spread,
            text_centre=text_centre,
            text_spread=text_spread,
            years=(int(years.min()), int(years.max())) if years.size else (0, 0),
            date_features=date_features,
            movement_spread=spread_moved if spread_moved > SMALLEST else 1.0,
            movement_levels=tuple(np.quantile(moved, quantiles).tolist()) if quantiles else (),
        )

    def prices(self, features: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Features in spreads from their centre, 0 where they are not known."""
        return np.where(known[..., None], (features - self.centre) / self.spread, np.float32(0)).astype(np.float32)

    def texts(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors of groups in spreads from their centre; the first row, no text, stays 0."""
        scaled = self.standardised(vectors)
        scaled[0] = 0
        return scaled

    def standardised(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors of texts in spreads from the centre of the training groups."""
        assert self.text_centre is not None and self.text_spread is not None
        scaled: NDArray[np.float32] = (vectors - self.text_centre) / self.text_spread
        return scaled

    def dates(self, days: NDArray[np.datetime64]) -> NDArray[np.float32]:
        """`(days, date features)`, each from -0.5 to 0.5; later years count as the last training year."""
        first, last = self.years
        found = {
            "day": (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) / 30 - 0.5,
            "month": months(days) / 11 - 0.5,
            "year": (np.clip(years_of(days), first, last) - first) / max(last - first, 1) - 0.5,
            "weekday": weekdays(days) / 6 - 0.5,
        }
        chosen = [found[name] for name in self.date_features]
        return np.stack(chosen, axis=-1).astype(np.float32) if chosen else np.zeros((len(days), 0), np.float32)

    def levels(self, outputs: Tensor) -> Tensor:
        """Ascending levels of movement: the first moved from that of the training days, each gap stretched from theirs.

        A network that says 0 says the quantiles of the training days.
        """
        base = torch.tensor(self.movement_levels, dtype=outputs.dtype, device=outputs.device)
        first = base[:1] + outputs[..., :1] * self.movement_spread
        gaps = base.diff().clamp_min(SMALLEST_GAP * self.movement_spread) * F.softplus(outputs[..., 1:]) / math.log(2)
        return torch.cat([first, gaps], dim=-1).cumsum(-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, exact."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Undo `to_dict`."""
        arrays = {
            name: None if state[name] is None else np.array(state[name], np.float32)
            for name in ("centre", "spread", "text_centre", "text_spread")
        }
        tuples = {name: tuple(state[name]) for name in ("years", "movement_levels", "date_features")}
        return cls(**{**state, **arrays, **tuples})


def years_of(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Calendar years."""
    return days.astype("datetime64[Y]").astype(np.int64) + 1970


def _moments(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not len(values):
        return np.zeros(values.shape[1], np.float32), np.ones(values.shape[1], np.float32)
    centre = values.mean(0, dtype=np.float64)
    spread = values.std(0, dtype=np.float64)
    return centre.astype(np.float32), np.where(spread > SMALLEST, spread, 1.0).astype(np.float32)
