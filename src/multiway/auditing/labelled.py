"""The labels of a protocol one after another, and facts that say nothing of a movement."""

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks import FIELDS, StockPanel, StockSamples
from multiway.data.stocks.windows import day_numbers, months, weekdays

ADJUSTED = FIELDS.index("adj_close")
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Labelled:
    """Every label: its split, sample, ticker and class."""

    samples: StockSamples
    split: NDArray[np.str_]
    sample: Ints
    ticker: Ints
    label: Ints

    @classmethod
    def of(cls, samples: StockSamples) -> Self:
        """Labels of every split, in the order of splits and days."""
        pairs = {split: np.argwhere(samples.labels[rows] >= 0) for split, rows in samples.splits.items()}
        sample = np.concatenate([samples.splits[split][found[:, 0]] for split, found in pairs.items()])
        ticker = np.concatenate([found[:, 1] for found in pairs.values()])
        split = np.concatenate([np.full(len(found), split) for split, found in pairs.items()])
        return cls(samples, split, sample, ticker, samples.labels[sample, ticker].astype(np.int64))

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, place: int) -> str:
        """Ticker and target day."""
        return f"{self.samples.tickers[self.ticker[place]]} {self.samples.target_days[self.sample[place]]}"

    def names(self) -> list[str]:
        """Of all labels."""
        return [self[place] for place in range(len(self))]

    def take(self, chosen: Flags | Ints) -> Self:
        """Some of the labels."""
        arrays = {name: getattr(self, name)[chosen] for name in ("split", "sample", "ticker", "label")}
        return dataclasses.replace(self, **arrays)

    def part(self, split: str) -> Self:
        """Labels of one split."""
        return self.take(self.split == split)

    @property
    def target(self) -> Ints:
        """Position of the target day."""
        return self.samples.targets[self.sample]

    @property
    def last(self) -> Ints:
        """Position of the window's last day before it; -1 without one."""
        return self.samples.last_days(self.sample)

    def traded(self, day: Ints) -> Flags:
        """Whether the ticker has a price that day."""
        return self.samples.traded[day, self.ticker] & (day >= 0)


def facts_of(labelled: Labelled) -> dict[str, Ints]:
    """What says nothing of a movement: dates, trading days, and which inputs are there."""
    samples, last, target = labelled.samples, labelled.last, labelled.target
    day, weekday = day_numbers(samples.days), weekdays(samples.days)
    bits = 1 << np.arange(samples.slots.shape[1])
    texts = (samples.text_rows[labelled.sample, labelled.ticker] > 0) @ bits
    known = samples.known[samples.slots[labelled.sample], labelled.ticker[:, None]]
    prices = (samples.slot_valid[labelled.sample, labelled.ticker] & known) @ bits
    return {
        "whether the last day traded": labelled.traded(last).astype(np.int64),
        "whether the next day trades": labelled.traded(target).astype(np.int64),
        "weekday of the last day": np.where(last >= 0, weekday[last], 7),
        "weekday of the next day": weekday[target],
        "month": months(samples.days)[target],
        "days between": np.where(last >= 0, day[target] - day[last], -1),
        "which days have texts": texts.astype(np.int64),
        "which days have prices": prices.astype(np.int64),
    }


def true_movements(panel: StockPanel, labelled: Labelled) -> NDArray[np.float64]:
    """Change of the adjusted close from the window's last day to the target day; NaN where one has no price."""
    days = labelled.samples.days.astype("datetime64[D]")
    column = np.minimum(np.searchsorted(panel.days, days), len(panel.days) - 1)
    close = np.where(panel.days[column] == days, panel.prices[:, column, ADJUSTED], np.nan)
    base = np.where(labelled.last >= 0, close[labelled.ticker, labelled.last], np.nan)
    return np.asarray(close[labelled.ticker, labelled.target] / base - 1)
