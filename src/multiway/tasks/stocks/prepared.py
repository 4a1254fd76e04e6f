"""From prices and texts to samples, scale and vectors: what every later step of a run starts from."""

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.data.datasets import locate as locate
from multiway.data.encoders import Encoded, encode_texts
from multiway.data.stocks import StockPanel, StockSamples, StockTexts, build_samples, read_stocks
from multiway.errors import DataError
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.inputs import StockInputs, asked_of, group_means
from multiway.tasks.stocks.scale import StockScale

SPLITS = ("train", "validation", "test")
READY = "ready vectors"
"""Name of the encoder where the texts came as vectors."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Samples with everything that turns them into batches.

    vectors: `(groups, text features)` float32, standardised by the training groups, zeros first; None where the
        network reads prices alone.
    encoder, encoder_digest: Where the vectors are from; None without.
    asked: `(samples, stocks)`, which are learnt from and scored.
    digest: Hash of the data and the encoder, to know them again.
    notes: What a reader of the scores should know, one line each.
    """

    panel: StockPanel
    texts: StockTexts | None
    samples: StockSamples
    scale: StockScale
    vectors: NDArray[np.float32] | None
    encoder: str | None
    encoder_digest: str | None
    asked: NDArray[np.bool_]
    digest: str
    notes: tuple[str, ...]

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
        return StockInputs(self.samples, rows, self.scale, vectors, self.asked)


Source = str | Path | tuple[StockPanel, StockTexts | None]


def read(config: StockConfig, source: Source) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, or those given."""
    return source if isinstance(source, tuple) else read_stocks(source, config.read)


def prepare(config: StockConfig, source: Source, *, progress: bool = False) -> Prepared:
    """Read and encode everything; whatever can be wrong with the data shows here, before a run is written.

    Raises:
        DataError: A file is not sound, or a split has nothing to be asked.
        ConfigError: An option does not fit the data, or the encoder is not installed.
    """
    panel, texts = read(config, source)
    check_modality(config, panel, texts)
    samples = build_samples(panel, texts, config.protocol)
    asked = asked_of(samples, config.target)
    check_labels(samples, asked, panel.source, config.target)
    encoded = encode(config, texts, samples, progress=progress)
    means = None if encoded is None else group_means(samples, encoded)
    quantiles = config.quantiles if config.target == "quantiles" else ()
    scale = StockScale.fit(samples, means, asked, quantiles, config.dates)
    return Prepared(
        panel=panel,
        texts=texts,
        samples=samples,
        scale=scale,
        vectors=None if means is None else scale.texts(means),
        encoder=None if encoded is None else encoded.name,
        encoder_digest=None if encoded is None else encoded.digest,
        asked=asked,
        digest=digest_of(panel, texts, encoded),
        notes=(*panel.notes, *(() if texts is None else texts.notes), *samples.notes),
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


def check_labels(samples: StockSamples, asked: NDArray[np.bool_], source: str, target: str) -> None:
    """Whether there is something to learn, to choose by and to score.

    Raises:
        DataError: A split has nothing that is asked, or every training label is the same.
    """
    for split in SPLITS:
        rows = samples.splits.get(split, np.empty(0, np.int64))
        if not asked[rows].any():
            counts = ", ".join(f"{name} {int(asked[part].sum())}" for name, part in samples.splits.items())
            raise DataError(
                f"{source}: {split} has no movement to ask about. Got {counts}. Give more days, or change the "
                f"protocol (--set protocol.validation=0.2 --set protocol.test=0.2)."
            )
    rows = samples.splits["train"]
    if target == "movement" and len(np.unique(samples.labels[rows][asked[rows]])) < 2:
        raise DataError(f"{source}: every training day goes the same way. Give days of rise and of fall.")


def digest_of(panel: StockPanel, texts: StockTexts | None, encoded: Encoded | None) -> str:
    """Hash of prices, texts and encoder."""
    found = hashlib.sha256(repr((panel.tickers, panel.prices.shape)).encode())
    for array in (panel.days.astype(np.int64), panel.prices, panel.traded, panel.movement):
        found.update(np.ascontiguousarray(array).data)
    if texts is not None:
        for stamps in (texts.ticker, texts.day, texts.stamp):
            found.update(np.ascontiguousarray(stamps.astype(np.int64)).data)
        for text in texts.text or ():
            found.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
        if texts.vectors is not None:
            found.update(np.ascontiguousarray(texts.vectors).data)
    found.update(repr(None if encoded is None else (encoded.name, encoded.digest)).encode())
    return found.hexdigest()
