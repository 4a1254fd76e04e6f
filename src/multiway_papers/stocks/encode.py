"""From windows to what the network reads: vectors of texts, scaled tables, and batches gathered from them."""

import dataclasses
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.config import Plain
from multiway.data.encoders import Encoded, choose_encoder, encode_texts
from multiway.data.encoders.hashed import longest, word_ids
from multiway.data.options import EncoderOptions
from multiway.data.samples import SPLITS, Prepared, Rows, Splits
from multiway.data.sources.bytes import free_memory
from multiway.errors import DataError, Fix
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.panel import Groups, StockTexts
from multiway_papers.stocks.samples import Marks, StockWindows
from multiway_papers.stocks.state import StockScale, StockState

READY = "ready vectors"
"""Name of the encoder where the texts came as vectors."""
MOST_WORDS = 2048
"""Words of a stock's day that are counted at most."""
COPIES = 3
"""Of the vectors of groups while they are averaged and scaled."""
PreparedStocks = Prepared[StockWindows, StockState]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """What all samples share: features, masks and dates by day, vectors by group of texts.

    vectors: One per group of texts, standardised; None where prices alone are read.
    encoded: Vectors of single texts.
    """

    features: Tensor
    known: Tensor
    dates: Tensor
    vectors: Tensor | None
    encoded: Encoded | None
    scale: StockScale
    words: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockInputs:
    """Windows as the network takes them, a few days at a time."""

    windows: StockWindows
    tables: Tables

    @classmethod
    def of(cls, windows: StockWindows, state: StockState, encoded: Encoded | None) -> Self:
        """Scaled by what training learnt."""
        scale, vectors = state.scale, None
        if encoded is not None:
            vectors = torch.from_numpy(scale.texts(group_means(windows.groups, encoded)))
        tables = Tables(
            features=torch.from_numpy(scale.prices(windows.features, windows.known)),
            known=torch.from_numpy(windows.known),
            dates=torch.from_numpy(scale.dates(windows.days)),
            vectors=vectors,
            encoded=encoded,
            scale=scale,
            words=state.words,
        )
        return cls(windows=windows, tables=tables)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, rows: Rows) -> Self:
        return dataclasses.replace(self, windows=self.windows[rows])

    @property
    def target_mask(self) -> Marks:
        """`(samples, stocks)`, which are learnt from and scored."""
        return self.windows.targets_of(quantiles=bool(self.tables.scale.movement_levels))

    def counts(self) -> Plain:
        """Days, and the movements on them."""
        return self.windows.counted(self.target_mask)

    def batch(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs, labels and movements of samples, the batch axis first, then the stocks.

        prices `(b, N, W, F)`, price_valid `(b, N, W)`, dates `(b, W, D)`, text `(b, N, W, E)` and text_valid
        `(b, N, W)` where the network reads texts, label `(b, N)` with -1 where there is none, target_mask
        and returns.
        """
        windows, tables = self.windows[index.numpy()], self.tables
        slots, texts = torch.from_numpy(windows.slots), torch.from_numpy(windows.text_rows)
        is_day, days = slots >= 0, slots.clamp_min(0)
        valid = torch.from_numpy(windows.slot_valid) & is_day[:, None] & tables.known[days].transpose(1, 2)
        prices = tables.features[days].transpose(1, 2) * valid[..., None]
        batch = {"prices": prices, "price_valid": valid, "dates": tables.dates[days] * is_day[..., None]}
        if tables.vectors is not None:
            vectors = tables.vectors.index_select(0, texts.flatten()).unflatten(0, texts.shape)
            batch |= {"text": vectors, "text_valid": texts > 0}
        return {
            **batch,
            "label": torch.from_numpy(windows.labels).long(),
            "returns": torch.from_numpy(windows.returns),
            "target_mask": torch.from_numpy(dataclasses.replace(self, windows=windows).target_mask),
        }

    def word_ids(self, groups: NDArray[np.int32]) -> Tensor:
        """Ids `(groups, words)` of the words of some groups of texts."""
        said, items = (self.windows.texts and self.windows.texts.text) or (), self.windows.groups.of
        joined = ["\n".join(said[item] for item in items(row)) for row in groups]
        return torch.from_numpy(word_ids(joined, self.tables.words, longest(joined, MOST_WORDS)))

    def text_vectors(self, items: Rows) -> Tensor:
        """Vectors of single texts, standardised as the means of groups are; of no length where none are read."""
        encoded, scale = self.tables.encoded, self.tables.scale
        if encoded is None:
            return torch.empty(len(items), 0)
        return torch.from_numpy(scale.standardised(encoded.vectors[encoded.rows[items]]))


def check_targets(windows: StockWindows, splits: Splits, *, quantiles: bool) -> None:
    """Whether there is something to learn, to choose by and to score."""
    masks = {name: windows[splits[name]].targets_of(quantiles=quantiles) for name in SPLITS}
    source, counts = windows.panel.source, ", ".join(f"{name} {int(mask.sum())}" for name, mask in masks.items())
    for name, mask in masks.items():
        if not mask.any():
            raise DataError(
                f"{source}: {name} has no labelled movement. Got {counts}. Give more days, or change the shares (",
                Fix("split.validation", 0.2),
                " ",
                Fix("split.test", 0.2),
                ").",
            )
    if not quantiles and len(np.unique(windows.labels[splits["train"]][masks["train"]])) < 2:
        raise DataError(f"{source}: every training day goes the same way. Give days of rise and of fall.")


def learn_stocks(config: StockConfig, windows: StockWindows, splits: Splits, encoded: Encoded | None) -> StockState:
    """What the training windows say, and the days on which the other splits begin."""
    means = None if encoded is None else group_means(windows.groups, encoded)
    training = windows[splits["train"]]
    scale = StockScale.fit(training, means, config.levels, config.dates, config.text_scale)
    return StockState.of(windows, splits, scale, encoded)


def encoder_of(texts: StockTexts, options: EncoderOptions) -> str:
    """Name of what encodes these texts."""
    return READY if texts.text is None else choose_encoder(options)


def encode_shown(windows: StockWindows, options: EncoderOptions, *, progress: bool = False) -> Encoded | None:
    """Vectors of the texts that a window shows, from the cache as far as they are there; None without texts."""
    texts = windows.texts
    if texts is None or not texts.count:
        return None
    if texts.vectors is not None:
        rows = np.arange(len(texts.vectors))
        return Encoded(vectors=texts.vectors, rows=rows, name=READY, digest=str(texts.vectors.shape[1]))
    assert texts.text is not None
    shown = np.unique(windows.groups.items)
    encoded = encode_texts([texts.text[row] for row in shown], options, progress=progress)
    rows = np.zeros(texts.count, np.int64)
    rows[shown] = encoded.rows
    return dataclasses.replace(encoded, rows=rows)


def group_means(groups: Groups, encoded: Encoded) -> NDArray[np.float32]:
    """Mean vector of each group of texts, `(groups, text features)`; zeros for a group without a text."""
    needed, free = COPIES * 4 * groups.num_rows * encoded.vectors.shape[1], free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {groups.num_rows:,} stock-days with texts would take {needed / 1e9:.2g} GB, and "
            f"{free / 1e9:.2g} GB are free. Choose a smaller encoder (",
            Fix("text.hashed_dim", 128),
            "), or keep fewer days.",
        )
    rows, starts = torch.from_numpy(encoded.rows[groups.items]).long(), torch.from_numpy(groups.starts[:-1]).long()
    vectors = torch.from_numpy(np.ascontiguousarray(encoded.vectors)).float()
    return np.asarray(F.embedding_bag(rows, vectors, starts, mode="mean").numpy())
