"""Small panels of stocks with all that goes wrong: holes, a late listing, a delisting, holidays, texts at odd days."""

import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import torch

from multiway.data.splitting import split
from multiway_papers.stocks.config import DaySplit
from multiway_papers.stocks.encode import StockInputs, Tables
from multiway_papers.stocks.panel import FIELDS, StockPanel, StockTexts
from multiway_papers.stocks.samples import StockWindows, samples_of

TICKERS = ("AAA", "BBB", "CCC", "DDD", "NA")
HOLIDAYS = np.array(["2015-07-03", "2015-09-07", "2015-09-08"], dtype="datetime64[D]")


def weekdays(start="2015-06-15", end="2015-10-31"):
    """Trading days: no weekends, no holidays."""
    days = np.arange(start, end, dtype="datetime64[D]")
    return days[np.is_busday(days) & ~np.isin(days, HOLIDAYS)]


def make_panel(seed=0, days=None, tickers=TICKERS, holes=0.1):
    """A panel; the third ticker is listed late, the fourth is delisted early, and days are missing here and there."""
    chance = np.random.default_rng(seed)
    days = weekdays() if days is None else days
    traded = chance.random((len(tickers), len(days))) >= holes
    traded[2, : len(days) // 3] = False
    traded[3, 2 * len(days) // 3 :] = False
    traded[0, ~traded.any(0)] = True  # a day of the calendar is one on which someone traded
    close = 20 * np.exp(np.cumsum(0.02 * chance.standard_normal(traded.shape), axis=1))
    high, low = close * (1 + 0.01 * chance.random(traded.shape)), close * (1 - 0.01 * chance.random(traded.shape))
    adjusted = close * np.array([1, 0.5, 0.9, 1.5, 0.25])[: len(tickers), None]
    prices = np.stack([close, high, low, close, adjusted, 1000 * chance.random(traded.shape)], axis=2)
    prices[~traded] = np.nan
    return StockPanel(
        tickers=tickers, days=days, prices=prices, traded=traded, movement=movements_of(prices, traded), source="made"
    )


def movements_of(prices, traded):
    """Change of the adjusted close since the row before, row by row, in 6 digits."""
    result = np.full(traded.shape, np.nan)
    for stock, rows in enumerate(traded):
        places = np.flatnonzero(rows)
        for before, place in itertools.pairwise(places):
            adjusted = prices[stock, :, FIELDS.index("adj_close")]
            result[stock, place] = round(adjusted[place] / adjusted[before] - 1, 6)
    return result


def make_texts(panel, count=400, seed=0, start=None, end=None):
    """Texts on any day of the week, from before the first day until after the last, many on some days."""
    chance = np.random.default_rng(seed)
    start, end = start or panel.days[0] - 9, end or panel.days[-1] + 9
    day = start + chance.integers((end - start).astype(int), size=count)
    return sorted_texts(chance.integers(len(panel.tickers), size=count), day)


def sorted_texts(ticker, day, words=None):
    """Texts as a file's reading leaves them: sorted by ticker and day."""
    words = np.array([f"text {row}" for row in range(len(day))] if words is None else words, dtype=object)
    order = np.lexsort((day, ticker))
    day = np.asarray(day)[order].astype("datetime64[D]")
    return StockTexts(
        ticker=np.asarray(ticker)[order].astype(np.int64), day=day, stamp=day.astype("datetime64[s]"),
        text=tuple(words[order]), vectors=None, dropped={}, source="made",
    )  # fmt: skip


def some_texts(texts, kept):
    """Those of a mask."""
    return sorted_texts(texts.ticker[kept], texts.day[kept], np.array(texts.text, dtype=object)[kept])


def until(panel, day):
    """The panel as it was before a day."""
    kept = panel.days < day
    return dataclasses.replace(
        panel, days=panel.days[kept], prices=panel.prices[:, kept], traded=panel.traded[:, kept],
        movement=panel.movement[:, kept],
    )  # fmt: skip


def texts_of(samples, texts, sample):
    """Words by ticker and day of slot."""
    found = {}
    for stock, slot in zip(*np.nonzero(samples.text_rows[sample]), strict=True):
        day = samples.days[samples.slots[sample, slot]]
        items = samples.groups.of(samples.text_rows[sample, stock, slot])
        found[samples.tickers[stock], day] = {texts.text[item] for item in items}
    return found


def share_of_rises(samples, split):
    """Of the labels of a split."""
    labels = samples.labels[samples.splits[split]]
    return float((labels[labels >= 0] == 1).mean())


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cut(StockWindows):
    """Windows with the rows of their splits."""

    splits: dict = dataclasses.field(default_factory=dict)

    def labelled(self):
        """Labels in each split."""
        return {name: int((self.labels[rows] >= 0).sum()) for name, rows in self.splits.items()}


def build_samples(panel, texts, protocol):
    """Windows of a market under a protocol, split as a run splits them."""
    samples = samples_of((panel, texts), protocol)
    return Cut(**vars(samples.inputs), splits=split(samples, DaySplit()))


def inputs_of(windows, vectors=None, scale=None):
    """Windows as baselines take them, with vectors of the groups of texts."""
    tables = Tables(
        features=None, known=None, dates=None, vectors=None if vectors is None else torch.from_numpy(vectors),
        encoded=None, scale=scale or SimpleNamespace(movement_levels=()), words=(),
    )  # fmt: skip
    return StockInputs(windows=windows, tables=tables)
