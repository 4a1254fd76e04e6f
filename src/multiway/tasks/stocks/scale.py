"""What the training days say of the size of prices, texts and years; nothing later is looked at."""

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks import StockSamples

SMALLEST = 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockScale:
    """Means and spreads of the training days' inputs, and of their movements.

    centre, spread: `(price features,)`.
    text_centre, text_spread: `(text features,)`; None without texts.
    years: First and last year of the training days' windows.
    movement_centre, movement_spread: Of the movements asked about.
    """

    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    text_centre: NDArray[np.float32] | None
    text_spread: NDArray[np.float32] | None
    years: tuple[int, int]
    movement_centre: float
    movement_spread: float

    @classmethod
    def fit(cls, samples: StockSamples, vectors: NDArray[np.float32] | None) -> Self:
        """Learn from the training samples: each day of a stock counts once, and so does each group of texts."""
        rows = samples.splits["train"]
        slots = samples.slots[rows]
        centre, spread = _moments(samples.features[_days_seen(samples, rows)])
        text_centre = text_spread = None
        if vectors is not None:
            used = np.unique(samples.text_rows[rows])
            text_centre, text_spread = _moments(vectors[used[used > 0]])
        years = years_of(samples.days[slots[slots >= 0]])
        moved = samples.returns[rows]
        movement_centre, movement_spread = _moments(moved[np.isfinite(moved)][:, None])
        return cls(
            centre=centre,
            spread=spread,
            text_centre=text_centre,
            text_spread=text_spread,
            years=(int(years.min()), int(years.max())) if years.size else (0, 0),
            movement_centre=float(movement_centre[0]),
            movement_spread=float(movement_spread[0]),
        )

    def prices(self, features: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Features in spreads from their centre, 0 where they are not known."""
        return np.where(known[..., None], (features - self.centre) / self.spread, np.float32(0)).astype(np.float32)

    def texts(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Vectors of groups in spreads from their centre; the first row, no text, stays 0."""
        assert self.text_centre is not None and self.text_spread is not None
        scaled: NDArray[np.float32] = (vectors - self.text_centre) / self.text_spread
        scaled[0] = 0
        return scaled

    def dates(self, days: NDArray[np.datetime64]) -> NDArray[np.float32]:
        """Day of the month, month and year, each from -0.5 to 0.5; later years count as the last training year."""
        months = days.astype("datetime64[M]")
        first, last = self.years
        day = (days - months.astype("datetime64[D]")).astype(np.int64) / 30 - 0.5
        month = months.astype(np.int64) % 12 / 11 - 0.5
        year = (np.clip(years_of(days), first, last) - first) / max(last - first, 1) - 0.5
        return np.stack([day, month, year], axis=-1).astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, exact."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }  # fmt: skip

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Undo `to_dict`."""
        arrays = {
            name: None if state[name] is None else np.array(state[name], np.float32)
            for name in ("centre", "spread", "text_centre", "text_spread")
        }
        return cls(**{**state, **arrays, "years": tuple(state["years"])})


def years_of(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Calendar years."""
    return days.astype("datetime64[Y]").astype(np.int64) + 1970


def _days_seen(samples: StockSamples, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """`(days, stocks)`: some of these samples shows the network this day of this stock."""
    seen = np.zeros_like(samples.known)
    for row in rows:
        slots = samples.slots[row]
        seen[slots[slots >= 0]] |= samples.slot_valid[row][:, slots >= 0].T
    return seen & samples.known


def _moments(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not len(values):
        return np.zeros(values.shape[1], np.float32), np.ones(values.shape[1], np.float32)
    centre = values.mean(0, dtype=np.float64)
    spread = values.std(0, dtype=np.float64)
    return centre.astype(np.float32), np.where(spread > SMALLEST, spread, 1.0).astype(np.float32)
