"""From prices and texts to samples, scale and vectors: what every later step of a run starts from."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.data.encoders import Encoded, encode_texts
from multiway.data.findings import listed
from multiway.data.stocks import StockPanel, StockProtocol, StockSamples, StockTexts, build_samples, read_stocks
from multiway.errors import DataError, RunError
from multiway.tasks.protocol import SPLITS
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.inputs import StockInputs, group_means, target_mask_of
from multiway.tasks.stocks.scale import StockScale

READY = "ready vectors"
"""Name of the encoder where the texts came as vectors."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Samples with everything that turns them into batches.

    vectors: `(groups, text features)` float32, standardised by the training groups, zeros first; None where the
        network reads prices alone.
    encoder, encoder_digest: Where the vectors are from; None without.
    target_mask: `(samples, stocks)`, which are learnt from and scored.
    notes: What a reader of the scores should know, one line each.
    """

    panel: StockPanel
    texts: StockTexts | None
    samples: StockSamples
    scale: StockScale
    vectors: NDArray[np.float32] | None
    encoder: str | None
    encoder_digest: str | None
    target_mask: NDArray[np.bool_]
    notes: tuple[str, ...]

    @property
    def source(self) -> str:
        """Where the prices came from."""
        return self.panel.source

    def content(self) -> Iterator[object]:
        """Everything that was read, and what encoded the texts."""
        panel, texts = self.panel, self.texts
        yield panel.tickers
        yield from (panel.days, panel.prices, panel.traded, panel.movement)
        if texts is not None:
            yield from (texts.ticker, texts.day, texts.stamp, texts.vectors)
            yield from texts.text or ()
        yield self.encoder, self.encoder_digest

    @property
    def text_features(self) -> int | None:
        """Numbers per text; None without texts."""
        return None if self.vectors is None else int(self.vectors.shape[1])

    def batches(self, split: str) -> StockInputs:
        """Samples of a split."""
        return self.inputs(self.samples.splits[split])

    def inputs(self, rows: NDArray[np.int64]) -> StockInputs:
        """Any samples."""
        vectors = None if self.vectors is None else torch.from_numpy(self.vectors)
        return StockInputs(self.samples, rows, self.scale, vectors, self.target_mask)


Source = str | Path | tuple[StockPanel, StockTexts | None]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockState:
    """What a run has learnt of its stocks.

    tickers: The stocks, in the order of the network's.
    sizes: Arguments of `StockConfig.network_fields`.
    scale: Of the training days.
    encoder, encoder_digest: What made vectors of the texts; None where prices alone were read.
    borders: First target days of validation and test.
    """

    tickers: tuple[str, ...]
    sizes: dict[str, Any]
    scale: StockScale
    encoder: str | None
    encoder_digest: str | None
    borders: tuple[str, str]

    def plain(self) -> dict[str, Any]:
        """Values for JSON."""
        return {**vars(self), "scale": self.scale.to_dict()}

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        tuples = {name: tuple(plain[name]) for name in ("tickers", "borders")}
        return cls(**{**plain, **tuples, "scale": StockScale.from_dict(plain["scale"])})

    def protocol(self, protocol: StockProtocol) -> StockProtocol:
        """The run's protocol, with its borders between splits as days in place of shares."""
        return protocol.replace(borders=self.borders) if protocol.name == "chronological" else protocol


def learn(prepared: Prepared) -> StockState:
    """Names, sizes and scale of the training."""
    samples = prepared.samples
    first = [str(samples.days[samples.targets[samples.splits[split]]].min()) for split in ("validation", "test")]
    return StockState(
        tickers=samples.tickers, scale=prepared.scale, encoder=prepared.encoder,
        encoder_digest=prepared.encoder_digest, borders=(first[0], first[1]),
        sizes={
            "stocks": len(samples.tickers), "slots": int(samples.slots.shape[1]),
            "price_features": len(samples.feature_names), "text_features": prepared.text_features,
        },
    )  # fmt: skip


def read(config: StockConfig, source: Source) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, or those given."""
    return source if isinstance(source, tuple) else read_stocks(source, config.read)


def prepare(config: StockConfig, source: Source, *, progress: bool = False) -> Prepared:
    """Read and encode everything; whatever can be wrong with the data shows here, before a run is written.

    Raises:
        DataError: A file is not sound, or a split has no target.
        ConfigError: An option does not fit the data, or the encoder is not installed.
    """
    panel, texts = read(config, source)
    check_modality(config, panel, texts)
    samples = build_samples(panel, texts, config.protocol)
    target_mask = target_mask_of(samples, config.target)
    check_labels(samples, target_mask, panel.source, config.target)
    encoded = encode(config, texts, samples, progress=progress)
    means = None if encoded is None else group_means(samples, encoded)
    quantiles = config.quantiles if config.target == "quantiles" else ()
    scale = StockScale.fit(samples, means, target_mask, quantiles, config.dates)
    return Prepared(
        panel=panel, texts=texts, samples=samples, scale=scale, target_mask=target_mask,
        vectors=None if means is None else scale.texts(means),
        encoder=None if encoded is None else encoded.name,
        encoder_digest=None if encoded is None else encoded.digest,
        notes=(*panel.notes, *(() if texts is None else texts.notes), *samples.notes),
    )  # fmt: skip


def prepare_later(
    config: StockConfig, state: StockState, panel: StockPanel, texts: StockTexts | None, samples: StockSamples,
    *, progress: bool = False,
) -> Prepared:  # fmt: skip
    """Samples of any data of the run's stocks, scaled and encoded as those that it was trained on.

    Raises:
        DataError: The stocks are others, or the run reads texts and there are none.
        RunError: What encodes the texts is not what encoded those of the training.
    """
    check_tickers(state, panel)
    if state.encoder is not None and (texts is None or not len(texts.day)):
        raise DataError(f"{panel.source}: the run reads texts, and there are none. Give them (--texts FILE).")
    encoded = None if state.encoder is None else encode(config, texts, samples, progress=progress)
    _check_encoder(state, encoded)
    means = None if encoded is None else group_means(samples, encoded)
    return Prepared(
        panel=panel, texts=texts, samples=samples, scale=state.scale,
        target_mask=target_mask_of(samples, config.target),
        vectors=None if means is None else state.scale.texts(means),
        encoder=state.encoder, encoder_digest=state.encoder_digest, notes=(*panel.notes, *samples.notes),
    )  # fmt: skip


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


def _check_encoder(state: StockState, encoded: Encoded | None) -> None:
    if encoded is None or (encoded.name, encoded.digest) == (state.encoder, state.encoder_digest):
        return
    raise RunError(
        f"the texts of the training were encoded by {state.encoder} ({str(state.encoder_digest)[:12]}). Got "
        f"{encoded.name} ({encoded.digest[:12]}). Install that encoder, or train again."
    )


def check_modality(config: StockConfig, panel: StockPanel, texts: StockTexts | None) -> None:
    """Whether there is what the network is to read.

    Raises:
        DataError: It is to read texts, and there are none.
    """
    wanted = config.modality
    if wanted in ("multimodal", "text") and (texts is None or not len(texts.day)):
        raise DataError(
            f"{panel.source}: model.modality={wanted} needs texts, and there are none. Give them (--texts FILE), or "
            f"--set model.modality=price."
        )


def encode(
    config: StockConfig, texts: StockTexts | None, samples: StockSamples, *, progress: bool = False
) -> Encoded | None:
    """Vectors of the texts that a window shows, from the cache as far as they are there.

    None where the network reads prices alone, or there are no texts.
    """
    if texts is None or not len(texts.day) or config.modality == "price":
        return None
    if texts.vectors is not None:
        rows = np.arange(len(texts.vectors))
        return Encoded(vectors=texts.vectors, rows=rows, name=READY, digest=str(texts.vectors.shape[1]))
    assert texts.text is not None
    shown = np.unique(samples.groups.items)
    found = encode_texts([texts.text[row] for row in shown], config.text, progress=progress)
    rows = np.zeros(len(texts.day), np.int64)
    rows[shown] = found.rows
    return dataclasses.replace(found, rows=rows)


def check_labels(samples: StockSamples, target_mask: NDArray[np.bool_], source: str, target: str) -> None:
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
    if target == "movement" and len(np.unique(samples.labels[rows][target_mask[rows]])) < 2:
        raise DataError(f"{source}: every training day goes the same way. Give days of rise and of fall.")
