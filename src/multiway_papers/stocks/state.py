"""What training learns of stocks: their names and sizes, and what the training days say of prices, texts and years."""

import math
from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ConfigDict, PlainSerializer, PlainValidator
from torch import Tensor
from torch.nn import functional as F

from multiway.config import Config
from multiway.data.encoders import Encoded
from multiway.data.encoders.hashed import frequent_words
from multiway.data.findings import list_some
from multiway.data.samples import SPLITS, Splits
from multiway.data.scaling import Scaler
from multiway.errors import DataError, Fix, RunError
from multiway_papers.stocks.config import StockProtocol, TextScale
from multiway_papers.stocks.panel import StockPanel, months, weekdays, years_of
from multiway_papers.stocks.samples import NEEDED, StockWindows

VOCABULARY = 20_000
"""Different words of all texts that are counted at most."""
SMALLEST = 1e-9
USUAL_DATES = ("day", "month", "year")
SMALLEST_GAP = 1e-3
"""Between two levels of the training days, in spreads, so that a network can widen it."""


def _numbers(values: object) -> NDArray[np.float32]:
    array = np.array(values, np.float32)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("a list of finite numbers is needed")
    return array


Numbers = Annotated[NDArray[np.float32], PlainValidator(_numbers), PlainSerializer(np.ndarray.tolist, when_used="json")]


class StockScale(Config):
    """Means and spreads of the training days' inputs, and the spread and quantiles of their movements."""

    model_config = ConfigDict(allow_inf_nan=False)

    centre: Numbers
    """Of the price features."""
    spread: Numbers
    text_centre: Numbers | None
    """Of the text features; None without texts."""
    text_spread: Numbers | None
    years: tuple[int, int]
    """First and last year of the training days' windows."""
    movement_spread: float
    """Standard deviation of the target movements."""
    movement_levels: tuple[float, ...]
    """Their quantiles, those that are predicted; none where directions are."""
    date_features: tuple[str, ...] = USUAL_DATES
    """What of a date the network reads, of day, month, year and weekday."""

    @classmethod
    def fit(
        cls,
        windows: StockWindows,
        vectors: NDArray[np.float32] | None,
        quantiles: Sequence[float] = (),
        date_features: tuple[str, ...] = USUAL_DATES,
        text_scale: TextScale = "each",
    ) -> Self:
        """Learn from training windows: each day of a stock counts once, and so does each of the groups' vectors."""
        centre, spread = moments(windows.features[windows.days_seen])
        text_centre = text_spread = None
        if vectors is not None:
            used = np.unique(windows.text_rows)
            seen = vectors[used[used > 0]]
            text_centre, text_spread = moments(seen)
            if text_scale == "one" and len(seen):
                text_spread = np.full_like(text_spread, max(np.sqrt(seen.var(0, dtype=np.float64).mean()), SMALLEST))
        years = years_of(windows.days[windows.slots[windows.slots >= 0]])
        moved = windows.returns[windows.targets_of(quantiles=bool(quantiles))].astype(np.float64)
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

    @property
    def of_prices(self) -> Scaler:
        """Of the price features."""
        constant = tuple(np.flatnonzero(self.spread == 1).tolist())
        return Scaler(self.centre.astype(np.float64), self.spread.astype(np.float64), constant)

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
        parts = {
            "day": (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64) / 30 - 0.5,
            "month": months(days) / 11 - 0.5,
            "year": (np.clip(years_of(days), first, last) - first) / max(last - first, 1) - 0.5,
            "weekday": weekdays(days) / 6 - 0.5,
        }
        chosen = [parts[name] for name in self.date_features]
        return np.stack(chosen, axis=-1).astype(np.float32) if chosen else np.zeros((len(days), 0), np.float32)

    def levels(self, outputs: Tensor) -> Tensor:
        """Ascending levels of movement: the first moved from that of the training days, each gap stretched from theirs.

        A network that says 0 says the quantiles of the training days.
        """
        base = torch.tensor(self.movement_levels, dtype=outputs.dtype, device=outputs.device)
        first = base[:1] + outputs[..., :1] * self.movement_spread
        gaps = base.diff().clamp_min(SMALLEST_GAP * self.movement_spread) * F.softplus(outputs[..., 1:]) / math.log(2)
        return torch.cat([first, gaps], dim=-1).cumsum(-1)


class Sizes(Config):
    """What the network is built for; no text features without texts."""

    num_stocks: int
    num_slots: int
    price_features: int
    text_features: int | None


class StockState(Config):
    """What a run has learnt of its stocks."""

    tickers: tuple[str, ...]
    """The stocks, in the order of the network's."""
    sizes: Sizes
    scale: StockScale
    """Of the training days."""
    encoder: str | None
    """What made vectors of the texts; None where prices alone were read."""
    encoder_digest: str | None
    borders: tuple[str, str]
    """First target days of validation and test."""
    words: tuple[str, ...] = ()
    """Frequent words of the training texts; none where texts are not read as words."""
    columns: tuple[str, ...] | None = None
    """Columns of prices that were read, of those that features are made of; None in a run that does not say it."""
    target_name: str | None = None
    """What is predicted of which column of prices; None in a run that does not say it."""

    @classmethod
    def of(
        cls,
        windows: StockWindows,
        splits: Splits,
        scale: StockScale,
        encoded: Encoded | None,
    ) -> Self:
        """Names, sizes and words of the training."""
        first, second = (str(windows.target_days[splits[name]].min()) for name in SPLITS[1:])
        sizes = Sizes(
            num_stocks=len(windows.tickers),
            num_slots=windows.slots.shape[1],
            price_features=len(windows.feature_names),
            text_features=None if encoded is None else encoded.vectors.shape[1],
        )
        words, columns = () if encoded is None else training_words(windows[splits["train"]]), _columns_of(windows.panel)
        what = "movement" if scale.movement_levels else "direction"
        return cls(
            tickers=windows.tickers,
            sizes=sizes,
            scale=scale,
            encoder=encoded and encoded.name,
            words=words,
            encoder_digest=encoded and encoded.digest,
            borders=(first, second),
            columns=columns,
            target_name=f"{what} of {'adj_close' if 'adj_close' in columns else 'close'}",
        )

    @property
    def digest(self) -> str | None:
        """Of what made vectors of the texts."""
        return self.encoder and f"{self.encoder} {self.encoder_digest}"

    def protocol(self, protocol: StockProtocol) -> StockProtocol:
        """The run's protocol, with its borders between splits as days in place of shares."""
        return protocol.replace(borders=self.borders) if protocol.rules is None else protocol

    def check(self, panel: StockPanel) -> None:
        """Whether prices are of the run's stocks, all and no others, and the close stands in for the same columns."""
        if panel.tickers != self.tickers:
            missing, unknown = set(self.tickers) - set(panel.tickers), set(panel.tickers) - set(self.tickers)
            parts = {"missing": missing, "unknown": unknown}.items()
            words = ", ".join(f"{list_some(sorted(names))} {word}" for word, names in parts if names)
            raise DataError(
                f"{panel.source}: the run was trained on {len(self.tickers)} stocks, and needs those. Got "
                f"{len(panel.tickers)}: {words}. Give prices of the same stocks, or train on these."
            )
        columns = _columns_of(panel)
        if self.columns not in (None, columns):
            raise DataError(
                f"{panel.source}: the run was trained on the prices {list_some(self.columns or ())}, and needs "
                "those. Got "
                f"{list_some(columns) or 'none'}. Give the same columns, or train on these."
            )

    def check_encoder(self, encoded: Encoded | None, source: str) -> None:
        """Whether texts are encoded as those of the training."""
        if encoded is None:
            give = Fix("read.texts", like="FILE")
            raise DataError(f"{source}: the run reads texts, and there are none. Give them (", give, ").")
        if (encoded.name, encoded.digest) != (self.encoder, self.encoder_digest):
            raise RunError(
                f"the texts of the training were encoded by {self.encoder} ({str(self.encoder_digest)[:12]}). Got "
                f"{encoded.name} ({encoded.digest[:12]}). Install that encoder, or train again."
            )


def _columns_of(panel: StockPanel) -> tuple[str, ...]:
    """Columns that features are made of and that were there to be read."""
    return tuple(name for name in NEEDED if name in panel.read)


def training_words(windows: StockWindows) -> tuple[str, ...]:
    """Frequent words of the texts that windows show."""
    if windows.texts is None or windows.texts.text is None:
        return ()
    shown = np.unique(np.concatenate([windows.groups.of(row) for row in np.unique(windows.text_rows)]))
    return frequent_words([windows.texts.text[item] for item in shown], VOCABULARY, min_count=2)


def moments(values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and spread of each column, of which one that never varies is 1."""
    if not len(values):
        return np.zeros(values.shape[1], np.float32), np.ones(values.shape[1], np.float32)
    centre = values.mean(0, dtype=np.float64)
    spread = values.std(0, dtype=np.float64)
    return centre.astype(np.float32), np.where(spread > SMALLEST, spread, 1.0).astype(np.float32)
