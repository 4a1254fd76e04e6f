"""From prices and texts to samples, vectors and batches: what every later step of a run starts from."""

import copy
import dataclasses
import functools
from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.config import Plain
from multiway.data.encoders import Encoded, EncoderOptions, chosen_encoder, encode_texts
from multiway.data.samples import SPLITS
from multiway.data.sources.bytes import free_memory
from multiway.data.words import frequent_words, longest, word_ids
from multiway.errors import DataError, Fix
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.panel import StockPanel, StockTexts
from multiway.tasks.stocks.protocols import StockProtocol
from multiway.tasks.stocks.samples import StockSamples, build_samples, tomorrow
from multiway.tasks.stocks.source import Market
from multiway.tasks.stocks.state import StockScale, StockState

READY = "ready vectors"
"""Name of the encoder where the texts came as vectors."""
VOCABULARY, MOST_WORDS = 20_000, 2048
"""Words that are counted at most: different ones of all texts, and those of a stock's day."""
COPIES = 3
"""Of the vectors of groups while they are averaged and scaled."""
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]


class StockInputs:
    """Samples as a source of batches, gathered from contiguous tables, a few days at a time.

    vectors: One per group of texts, standardised; None where the network reads prices alone.
    target_mask: `(samples, stocks)`, which are learnt from and scored.
    """

    def __init__(
        self, samples: StockSamples, scale: StockScale, vectors: NDArray[np.float32] | None, target_mask: Marks
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

    def only(self, rows: Rows) -> Self:
        """Some of the samples, from the same tables."""
        part = copy.copy(self)
        part.rows = _tensor(rows)
        return part

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""
        return torch.linspace(0, len(self) - 1, min(most, len(self))).round().long()

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
        targets = {"label": self.labels, "target_mask": self.target_mask, "returns": self.returns}
        return batch | {name: values[rows] for name, values in targets.items()}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedStocks:
    """Samples with everything that turns them into batches.

    encoded: Vectors of single texts; None where prices alone are read.
    vectors: `(groups, text features)` float32, means of the texts of each group, standardised by the training groups,
        zeros first; None where prices alone are read.
    target_mask: `(samples, stocks)`, which are learnt from and scored.
    words: Frequent words of the training texts; none where texts are not read as words.
    notes: What a reader should know.
    """

    panel: StockPanel
    texts: StockTexts | None
    samples: StockSamples
    scale: StockScale
    encoded: Encoded | None
    vectors: NDArray[np.float32] | None
    target_mask: Marks
    words: tuple[str, ...]
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
        yield (None, None) if self.encoded is None else (self.encoded.name, self.encoded.digest)

    def part(self, split: str) -> StockInputs:
        """Samples of a split."""
        return self.inputs(self.samples.splits[split])

    def inputs(self, rows: Rows) -> StockInputs:
        """Some samples."""
        return self.every.only(rows)

    @functools.cached_property
    def every(self) -> StockInputs:
        """All samples."""
        return StockInputs(self.samples, self.scale, self.vectors, self.target_mask)

    def counts(self, split: str) -> Plain:
        """Days of a split, and the movements on them."""
        samples, rows = self.samples, self.samples.splits[split]
        mask, days = self.target_mask[rows], samples.target_days[rows]
        return {
            "days": len(rows), "first": str(days.min()), "last": str(days.max()), "count": int(mask.sum()),
            "rises": int((samples.labels[rows][mask] == 1).sum()), "tickers": int(mask.any(0).sum()),
            "with_text": int((mask & (samples.text_rows[rows] > 0).any(-1)).sum()),
        }  # fmt: skip

    @functools.cached_property
    def word_ids(self) -> Tensor:
        """Ids `(groups, words)` of the words of each group of texts."""
        said, groups = (self.texts and self.texts.text) or (), self.samples.groups
        joined = ["\n".join(said[item] for item in groups.of(row)) for row in range(groups.num_rows)]
        return torch.from_numpy(word_ids(joined, self.words, longest(joined, MOST_WORDS)))

    def text_vectors(self, items: Rows) -> Tensor:
        """Vectors of single texts, standardised as the means of groups are; of no length where none are read."""
        if self.encoded is None:
            return torch.empty(len(items), 0)
        return torch.from_numpy(self.scale.standardised(self.encoded.vectors[self.encoded.rows[items]]))


def prepare_stocks(config: StockConfig, market: Market, *, progress: bool = False) -> PreparedStocks:
    """Cut, encode and scale; whatever can be wrong with the data shows here, before a run is written."""
    panel, texts = market
    if config.modality in ("multimodal", "text") and (texts is None or not texts.count):
        raise DataError(
            f"{panel.source}: model.modality={config.modality} needs texts, and there are none. Give them (",
            Fix("read.texts", like="FILE"), "), or ", Fix("model.modality", "price"), ".",
        )  # fmt: skip
    samples = build_samples(panel, texts, config.protocol)
    target_mask = target_mask_of(samples, bool(config.levels))
    _check_labels(samples, target_mask, panel.source, bool(config.levels))
    encoded = None if config.modality == "price" else encode_shown(texts, samples, config.text, progress=progress)
    means = None if encoded is None else group_means(samples, encoded)
    scale = StockScale.fit(samples, means, target_mask, config.levels, config.dates, config.text_scale)
    return PreparedStocks(
        panel=panel, texts=texts, samples=samples, scale=scale, target_mask=target_mask, encoded=encoded,
        vectors=None if means is None else scale.texts(means), words=training_words(texts, samples, encoded),
        notes=(*panel.notes, *(() if texts is None else texts.notes), *samples.notes),
    )  # fmt: skip


def match(
    state: StockState, config: StockConfig, market: Market, protocol: StockProtocol | None = None, *,
    ahead: bool = False, progress: bool = False,
) -> PreparedStocks:  # fmt: skip
    """Samples of any data of the run's stocks, scaled and encoded as those that it was trained on.

    protocol: Which days are targets; the run's, with its borders, if not given.
    ahead: Cut the one sample of the session after the last day.
    """
    panel, texts = market
    state.check(panel)
    samples = (tomorrow if ahead else build_samples)(panel, texts, protocol or state.protocol(config.protocol))
    encoded = None if state.encoder is None else encode_shown(texts, samples, config.text, progress=progress)
    if state.encoder is not None and encoded is None:
        texts_of = Fix("read.texts", like="FILE")
        raise DataError(f"{panel.source}: the run reads texts, and there are none. Give them (", texts_of, ").")
    if encoded is not None:
        state.check_encoder(encoded)
    return PreparedStocks(
        panel=panel, texts=texts, samples=samples, scale=state.scale, encoded=encoded,
        target_mask=target_mask_of(samples, bool(state.scale.movement_levels)), words=state.words,
        vectors=None if encoded is None else state.scale.texts(group_means(samples, encoded)),
        notes=(*panel.notes, *samples.notes),
    )  # fmt: skip


def target_mask_of(samples: StockSamples, of_quantiles: bool) -> Marks:
    """`(samples, stocks)`: which are learnt from and scored; of quantiles every movement whose window shows a price."""
    if of_quantiles:
        return samples.price_valid(np.arange(len(samples.targets))).any(-1) & np.isfinite(samples.returns)
    labelled: Marks = samples.labels >= 0
    return labelled


def _check_labels(samples: StockSamples, target_mask: Marks, source: str, of_quantiles: bool) -> None:
    """Whether there is something to learn, to choose by and to score."""
    counts = {name: int(target_mask[rows].sum()) for name, rows in samples.splits.items()}
    for split in SPLITS:
        if not counts.get(split):
            words = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise DataError(
                f"{source}: {split} has no labelled movement. Got {words}. Give more days, or change the protocol (",
                Fix("protocol.validation", 0.2), " ", Fix("protocol.test", 0.2), ").",
            )  # fmt: skip
    rows = samples.splits["train"]
    if not of_quantiles and len(np.unique(samples.labels[rows][target_mask[rows]])) < 2:
        raise DataError(f"{source}: every training day goes the same way. Give days of rise and of fall.")


def training_words(texts: StockTexts | None, samples: StockSamples, encoded: Encoded | None) -> tuple[str, ...]:
    """Frequent words of the texts that training samples show."""
    if texts is None or texts.text is None or encoded is None:
        return ()
    groups = np.unique(samples.text_rows[samples.splits["train"]])
    shown = np.unique(np.concatenate([samples.groups.of(row) for row in groups]))
    return frequent_words([texts.text[item] for item in shown], VOCABULARY, min_count=2)


def encoder_of(texts: StockTexts, options: EncoderOptions) -> str:
    """Name of what encodes these texts."""
    return READY if texts.text is None else chosen_encoder(options)


def encode_shown(
    texts: StockTexts | None, samples: StockSamples, options: EncoderOptions, *, progress: bool = False
) -> Encoded | None:
    """Vectors of the texts that a window shows, from the cache as far as they are there; None without texts."""
    if texts is None or not texts.count:
        return None
    if texts.vectors is not None:
        rows = np.arange(len(texts.vectors))
        return Encoded(vectors=texts.vectors, rows=rows, name=READY, digest=str(texts.vectors.shape[1]))
    assert texts.text is not None
    shown = np.unique(samples.groups.items)
    encoded = encode_texts([texts.text[row] for row in shown], options, progress=progress)
    rows = np.zeros(texts.count, np.int64)
    rows[shown] = encoded.rows
    return dataclasses.replace(encoded, rows=rows)


def group_means(samples: StockSamples, encoded: Encoded) -> NDArray[np.float32]:
    """Mean vector of each group of texts, `(groups, text features)`; zeros for a group without a text."""
    groups, features = samples.groups.num_rows, encoded.vectors.shape[1]
    needed, free = COPIES * 4 * groups * features, free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {groups:,} stock-days with texts would take {needed / 1e9:.2g} GB, and {free / 1e9:.2g} GB "
            f"are free. Choose a smaller encoder (", Fix("text.hashed_dim", 128), "), or keep fewer days.",
        )  # fmt: skip
    rows, starts = _tensor(encoded.rows[samples.groups.items]).long(), _tensor(samples.groups.starts[:-1]).long()
    vectors = _tensor(encoded.vectors).float()
    return np.asarray(F.embedding_bag(rows, vectors, starts, mode="mean").numpy())


def _tensor(array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
