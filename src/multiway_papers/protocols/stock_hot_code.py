"""The labels that the stock paper's public code makes, so that anyone can see what they say.

Days are calendar days. Days without trading have prices of 0; all prices are then standardised with one mean and
deviation over all tickers. A label is the ratio of two standardised prices, of the last day of the window and of the
next, so most of them tell whether those two days traded. Nothing here is used by the other protocols.
"""

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from multiway.data.samples import SPLITS
from multiway.errors import DataError, Fix
from multiway_papers.stocks.config import PUBLISHED, StockProtocol
from multiway_papers.stocks.panel import FIELDS, Groups, StockPanel, StockTexts, day_numbers, group_texts
from multiway_papers.stocks.protocols import PublishedProtocol
from multiway_papers.stocks.samples import CUTS, StockWindows, row_before

CALENDAR = np.arange("2014-01-01", "2016-01-02", dtype="datetime64[D]")
BLOCKS = np.array(["2014-01-01", "2015-08-01", "2015-10-01", "2016-01-02"], dtype="datetime64[D]")
"""First day of each split, and the day after the last."""
PRICES = ("adj_close", "high", "low")
RISE, FALL = 1.0055, 0.9998
"""Ratios from the first up are labelled 1, those below the second 0, the rest are left out."""
TEXT_DAYS = 5
"""A ticker stays in a split if it has texts on more days of it than these."""
TICKERS = 1
"""A day stays if more tickers than these have a text."""
NOTE = (
    "The protocol published-code does not label movements: its labels are ratios of standardised prices, 0 on days "
    "without trading, and mostly tell whether the next day trades."
)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Windows:
    """Windows of one split: positions of their days, and which tickers stay."""

    slots: NDArray[np.int64]
    targets: NDArray[np.int64]
    kept: NDArray[np.bool_]


def published_samples(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol) -> StockWindows:
    """Cut the samples of the published code.

    Differs from the other protocols: `features` are standardised prices of the day itself, known on every day;
    `returns` are changes of adjusted close from the window's last day to the target day, where both traded; a
    text falls on its own day.
    """
    if texts is None:
        raise DataError(f"{panel.source}: the protocol published-code leaves days without texts out. Give texts.")
    prices, traded = on_calendar(panel)
    parts = [_block_windows(_text_days(panel, texts), block, protocol.look_back) for block in _blocks()]
    counts = [len(part.targets) for part in parts]
    if not all(counts):
        got = ", ".join(f"{name} {count}" for name, count in zip(SPLITS, counts, strict=True))
        raise DataError(
            f"{panel.source}: the protocol published-code needs texts and prices from 2014-01-01 to 2016-01-01. Got "
            f"windows: {got}. Use the protocol chronological for other data (",
            Fix("protocol.name", "chronological"),
            ").",
        )
    slots, targets = (np.concatenate([getattr(part, name) for part in parts]) for name in ("slots", "targets"))
    kept = np.repeat(np.stack([part.kept for part in parts]), counts, axis=0)
    training = prices[: _blocks()[0][1]].reshape(-1, len(PRICES))  # the days before validation, zeros included
    spread = training.std(0, ddof=1)
    features = (prices - training.mean(0)) / np.where(spread > 0, spread, 1.0)
    valid = np.repeat(kept[:, :, None], protocol.look_back, axis=2)
    rows, groups = _texts(texts, slots, valid)
    last = slots[:, -1]
    both = traded[last] & traded[targets]  # the true change of adjusted close is known
    returns = np.where(both, prices[targets, :, 0] / np.where(both, prices[last, :, 0], 1.0) - 1, np.nan)
    labels = _ratio_labels(features[targets, :, 0], features[slots[:, -1], :, 0], protocol.literal)
    return StockWindows(
        panel=panel,
        texts=texts,
        days=CALENDAR,
        targets=targets,
        slots=slots,
        features=features.astype(np.float32),
        known=np.ones(traded.shape, np.bool_),
        slot_valid=valid,
        text_rows=rows,
        groups=groups,
        labels=np.where(kept, labels, -1).astype(np.int8),
        returns=returns.astype(np.float32),
        previous=_previous(panel, slots[:, -1]),
        traded=traded,
        feature_names=PRICES,
        notes=(NOTE,),
    )


def on_calendar(panel: StockPanel) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """`(731, tickers, 3)` prices, 0 on days without a row, and `(731, tickers)` whether there is one."""
    known = np.isin(panel.days, CALENDAR)
    places = np.searchsorted(CALENDAR, panel.days[known])
    traded = np.zeros((len(CALENDAR), len(panel.tickers)), np.bool_)
    traded[places] = panel.traded.T[known]
    prices = np.zeros((*traded.shape, len(PRICES)))
    columns = [FIELDS.index(name) for name in PRICES]
    prices[places] = np.nan_to_num(panel.prices[:, :, columns].swapaxes(0, 1)[known])
    return prices, traded


def _blocks() -> list[tuple[int, int]]:
    cuts = np.searchsorted(CALENDAR, BLOCKS).tolist()
    return list(itertools.pairwise(cuts))


def _text_days(panel: StockPanel, texts: StockTexts) -> NDArray[np.bool_]:
    """`(731, tickers)` whether the ticker has a text that day."""
    result = np.zeros((len(CALENDAR), len(panel.tickers)), np.bool_)
    inside = (texts.day >= CALENDAR[0]) & (texts.day <= CALENDAR[-1])
    result[np.searchsorted(CALENDAR, texts.day[inside]), texts.ticker[inside]] = True
    return result


def _block_windows(has_text: NDArray[np.bool_], block: tuple[int, int], look_back: int) -> _Windows:
    """Windows over the days of a block that stay, taken as if they were adjacent; the last one is left out there."""
    inside = has_text[block[0] : block[1]]
    days = block[0] + np.flatnonzero(inside.sum(1) > TICKERS)
    starts = np.arange(max(len(days) - look_back - 1, 0))
    slots = days[starts[:, None] + np.arange(look_back)]
    return _Windows(slots=slots, targets=days[starts + look_back], kept=inside.sum(0) > TEXT_DAYS)


def _texts(texts: StockTexts, slots: NDArray[np.int64], valid: NDArray[np.bool_]) -> tuple[NDArray[np.int32], Groups]:
    day = day_numbers(CALENDAR)[slots][:, None, :]
    return group_texts(texts, day, day + 1, valid)


def _ratio_labels(next_day: NDArray[np.float64], last: NDArray[np.float64], literal: bool) -> NDArray[np.int8]:
    """1, 0, or -1 for no label; equal prices are no movement unless taken literally."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = next_day / last
    same = (ratio == 1) & literal
    labels: NDArray[np.int8] = np.where((ratio >= RISE) | same, 1, np.where(ratio < FALL, 0, -1)).astype(np.int8)
    return labels


def _previous(panel: StockPanel, last: NDArray[np.int64]) -> NDArray[np.float32]:
    """Movement of each ticker's last row up to the window's last day."""
    following = np.searchsorted(panel.days, CALENDAR[last], side="right")
    source = row_before(panel.traded)[:, following]
    values = np.take_along_axis(panel.movement, np.maximum(source, 0), axis=1)
    return np.where(source >= 0, values, np.nan).astype(np.float32).T


PUBLISHED["published-code"] = PublishedProtocol(
    borders=BLOCKS,
    literal=True,
    of_movements=False,
    refused={
        "complete": "complete belongs to the protocols chronological and stocknet. Got published-code",
        "prices": "published-code has levels of its own. Leave prices out",
    },
)
CUTS["published-code"] = published_samples
