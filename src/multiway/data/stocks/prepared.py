"""From prices and texts to samples, scale and vectors: what every later step of a run starts from."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.encoders import Encoded, TextOptions
from multiway.data.findings import listed
from multiway.data.stocks.cutting import build_samples, tomorrow
from multiway.data.stocks.encoding import encode_shown, group_means
from multiway.data.stocks.features import NEEDED
from multiway.data.stocks.inputs import StockInputs
from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.protocols import SPLITS, StockProtocol
from multiway.data.stocks.samples import StockSamples
from multiway.data.stocks.scale import StockScale
from multiway.data.stocks.texts import StockTexts
from multiway.errors import DataError, RunError


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedStocks:
    """Samples with everything that turns them into batches.

    encoded: Vectors of single texts; None where prices alone are read.
    vectors: `(groups, text features)` float32, means of the texts of each group, standardised by the training groups,
        zeros first; None where prices alone are read.
    target_mask: `(samples, stocks)`, which are learnt from and scored.
    notes: What a reader of the scores should know, one line each.
    """

    panel: StockPanel
    texts: StockTexts | None
    samples: StockSamples
    scale: StockScale
    encoded: Encoded | None
    vectors: NDArray[np.float32] | None
    target_mask: NDArray[np.bool_]
    notes: tuple[str, ...]

    @property
    def source(self) -> str:
        """Where the prices came from."""
        return self.panel.source

    @property
    def encoded_by(self) -> tuple[str | None, str | None]:
        """Name and digest of what made the vectors; None without."""
        return (None, None) if self.encoded is None else (self.encoded.name, self.encoded.digest)

    def content(self) -> Iterator[object]:
        """Everything that was read, and what encoded the texts."""
        panel, texts = self.panel, self.texts
        yield panel.tickers
        yield from (panel.days, panel.prices, panel.traded, panel.movement)
        if texts is not None:
            yield from (texts.ticker, texts.day, texts.stamp, texts.vectors)
            yield from texts.text or ()
        yield self.encoded_by

    def batches(self, split: str) -> StockInputs:
        """Samples of a split."""
        return self.inputs(self.samples.splits[split])

    def inputs(self, rows: NDArray[np.int64]) -> StockInputs:
        """Any samples."""
        return self.every.only(rows)

    @functools.cached_property
    def every(self) -> StockInputs:
        """All samples."""
        return StockInputs(self.samples, self.scale, self.vectors, self.target_mask)

    def text_vectors(self, items: NDArray[np.int64]) -> Tensor:
        """Vectors of single texts, standardised as the means of groups are; of no length where none are read."""
        if self.encoded is None:
            return torch.empty(len(items), 0)
        return torch.from_numpy(self.scale.standardised(self.encoded.vectors[self.encoded.rows[items]]))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockState:
    """What a run has learnt of its stocks.

    tickers: The stocks, in the order of the network's.
    sizes: Stocks, slots, price features and text features, None without texts.
    scale: Of the training days.
    encoder, encoder_digest: What made vectors of the texts; None where prices alone were read.
    borders: First target days of validation and test.
    columns: Columns of prices that were read, of those that features are made of; None in a run that does not say it.
    """

    tickers: tuple[str, ...]
    sizes: dict[str, Any]
    scale: StockScale
    encoder: str | None
    encoder_digest: str | None
    borders: tuple[str, str]
    columns: tuple[str, ...] | None = None

    @classmethod
    def of(cls, prepared: PreparedStocks) -> Self:
        """Names, sizes and scale of the training."""
        samples, vectors = prepared.samples, prepared.vectors
        first = [str(samples.target_days[samples.splits[split]].min()) for split in SPLITS[1:]]
        encoder, digest = prepared.encoded_by
        return cls(
            tickers=samples.tickers, scale=prepared.scale, encoder=encoder, encoder_digest=digest,
            borders=(first[0], first[1]), columns=needed_columns(prepared.panel),
            sizes={
                "stocks": len(samples.tickers), "slots": int(samples.slots.shape[1]),
                "price_features": len(samples.feature_names),
                "text_features": None if vectors is None else int(vectors.shape[1]),
            },
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Values for JSON."""
        return {**vars(self), "scale": self.scale.to_dict()}

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        tuples = {name: tuple(plain[name]) for name in ("tickers", "borders", "columns") if plain.get(name) is not None}
        return cls(**{**plain, **tuples, "scale": StockScale.from_dict(plain["scale"])})

    def protocol(self, protocol: StockProtocol) -> StockProtocol:
        """The run's protocol, with its borders between splits as days in place of shares."""
        return protocol.replace(borders=self.borders) if protocol.name == "chronological" else protocol


def prepare_stocks(
    panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, options: TextOptions | None = None, *,
    quantiles: tuple[float, ...] = (), date_features: tuple[str, ...], progress: bool = False,
) -> PreparedStocks:  # fmt: skip
    """Cut, encode and scale; whatever can be wrong with the data shows here, before a run is written.

    Args:
        panel: Prices.
        texts: About them.
        protocol: Which days are targets, and of which split.
        options: How texts are encoded; None reads prices alone.
        quantiles: Those of a movement that are predicted; its direction is where there are none.
        date_features: What of a date is read.
        progress: Say on stderr how far encoding is.

    Raises:
        DataError: A split has no target.
        ConfigError: The encoder is not installed.
    """
    samples = build_samples(panel, texts, protocol)
    target_mask = target_mask_of(samples, bool(quantiles))
    check_labels(samples, target_mask, panel.source, bool(quantiles))
    encoded = None if options is None else encode_shown(texts, samples, options, progress=progress)
    means = None if encoded is None else group_means(samples, encoded)
    scale = StockScale.fit(samples, means, target_mask, quantiles, date_features)
    return PreparedStocks(
        panel=panel, texts=texts, samples=samples, scale=scale, target_mask=target_mask, encoded=encoded,
        vectors=None if means is None else scale.texts(means),
        notes=(*panel.notes, *(() if texts is None else texts.notes), *samples.notes),
    )  # fmt: skip


def match_stocks(
    state: StockState, panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, options: TextOptions, *,
    ahead: bool = False, progress: bool = False,
) -> PreparedStocks:  # fmt: skip
    """Samples of any data of the run's stocks, scaled and encoded as those that it was trained on.

    Args:
        state: What was learnt.
        panel: Prices.
        texts: About them.
        protocol: Which days are targets.
        options: How texts are encoded.
        ahead: Cut the one sample of the session after the last day.
        progress: Say on stderr how far encoding is.

    Raises:
        DataError: The stocks or columns are others, or the run reads texts and there are none.
        RunError: What encodes the texts is not what encoded those of the training.
    """
    check_tickers(state, panel)
    check_columns(state, panel)
    samples = (tomorrow if ahead else build_samples)(panel, texts, protocol)
    encoded = None if state.encoder is None else encode_shown(texts, samples, options, progress=progress)
    if state.encoder is not None and encoded is None:
        raise DataError(f"{panel.source}: the run reads texts, and there are none. Give them (--texts FILE).")
    _check_encoder(state, encoded)
    means = None if encoded is None else group_means(samples, encoded)
    return PreparedStocks(
        panel=panel, texts=texts, samples=samples, scale=state.scale, encoded=encoded,
        target_mask=target_mask_of(samples, bool(state.scale.movement_levels)),
        vectors=None if means is None else state.scale.texts(means), notes=(*panel.notes, *samples.notes),
    )  # fmt: skip


def target_mask_of(samples: StockSamples, of_quantiles: bool) -> NDArray[np.bool_]:
    """`(samples, stocks)`: which are learnt from and scored; of quantiles every movement whose window shows a price."""
    if of_quantiles:
        return samples.price_valid(np.arange(len(samples.targets))).any(-1) & np.isfinite(samples.returns)
    labelled: NDArray[np.bool_] = samples.labels >= 0
    return labelled


def check_tickers(state: StockState, panel: StockPanel) -> None:
    """Whether the data is of the run's stocks, all of them and no others.

    Raises:
        DataError: A stock is missing or unknown.
    """
    if panel.tickers == state.tickers:
        return
    missing = sorted(set(state.tickers) - set(panel.tickers))
    unknown = sorted(set(panel.tickers) - set(state.tickers))
    parts = [f"{listed(names)} {word}" for names, word in ((missing, "missing"), (unknown, "unknown")) if names]
    raise DataError(
        f"{panel.source}: the run was trained on {len(state.tickers)} stocks, and needs those. Got "
        f"{len(panel.tickers)}: {', '.join(parts)}. Give prices of the same stocks, or train on these."
    )


def needed_columns(panel: StockPanel) -> tuple[str, ...]:
    """Columns that features are made of and that were there to be read."""
    return tuple(name for name in NEEDED if name in panel.read)


def check_columns(state: StockState, panel: StockPanel) -> None:
    """Whether the close stands in for the same columns as in the training.

    Raises:
        DataError: A column that training read is not there, or one is there that it did not read.
    """
    found = needed_columns(panel)
    if state.columns is not None and state.columns != found:
        raise DataError(
            f"{panel.source}: the run was trained on the prices {listed(state.columns)}, and needs those. Got "
            f"{listed(found) or 'none'}. Give the same columns, or train on these."
        )


def _check_encoder(state: StockState, encoded: Encoded | None) -> None:
    if encoded is None or (encoded.name, encoded.digest) == (state.encoder, state.encoder_digest):
        return
    raise RunError(
        f"the texts of the training were encoded by {state.encoder} ({str(state.encoder_digest)[:12]}). Got "
        f"{encoded.name} ({encoded.digest[:12]}). Install that encoder, or train again."
    )


def check_labels(samples: StockSamples, target_mask: NDArray[np.bool_], source: str, of_quantiles: bool) -> None:
    """Whether there is something to learn, to choose by and to score.

    Raises:
        DataError: A split has no target, or every training label is the same.
    """
    for split in SPLITS:
        rows = samples.splits.get(split, np.empty(0, np.int64))
        if not target_mask[rows].any():
            counts = ", ".join(f"{name} {int(target_mask[part].sum())}" for name, part in samples.splits.items())
            raise DataError(
                f"{source}: {split} has no labelled movement. Got {counts}. Give more days, or change the "
                f"protocol (--set protocol.validation=0.2 --set protocol.test=0.2)."
            )
    rows = samples.splits["train"]
    if not of_quantiles and len(np.unique(samples.labels[rows][target_mask[rows]])) < 2:
        raise DataError(f"{source}: every training day goes the same way. Give days of rise and of fall.")
