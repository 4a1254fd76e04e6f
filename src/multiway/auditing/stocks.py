"""Audit of stocks: prices, texts and the protocol that makes labels of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.agreement import check_agreement
from multiway.auditing.duplicates import MANY, check_duplicates, digest_of
from multiway.auditing.encoders import check_encoder
from multiway.auditing.groups import check_groups
from multiway.auditing.labelled import Ints, Labelled, facts_of, true_movements
from multiway.auditing.lookahead import check_prices, check_texts
from multiway.auditing.lookup import check_lookup
from multiway.auditing.quotes import check_quotes
from multiway.auditing.report import AuditReport, Verdict, found
from multiway.auditing.spans import Spans, check_order, check_overlap
from multiway.auditing.statistics import check_statistics
from multiway.auditing.texts import check_shown
from multiway.data.stocks import StockPanel, StockProtocol, StockSamples, StockTexts, build_samples
from multiway.data.stocks.scale import StockScale

UNTRADED = 0.01
"""Share of labels whose target day may have no price."""
MOST_COPIES = 200_000
"""Windows that are compared with each other, evenly chosen where there are more."""
STILL = 1e-6
"""Movements smaller than this have no direction."""


def audit_stocks(
    panel: StockPanel,
    texts: StockTexts | None,
    protocol: StockProtocol,
    scale: StockScale | None = None,
    encoder: str | None = None,
) -> AuditReport:
    """Whether windows overlap, inputs know the future, the calendar tells the labels, and the labels are movements.

    Args:
        panel: Prices.
        texts: About them.
        protocol: What makes labels of them.
        scale: What a run learnt; that of the training samples if not given.
        encoder: What encodes the texts, as users call it; None where nothing does.

    Raises:
        DataError: The protocol labels nothing.
    """
    samples = build_samples(panel, texts, protocol)
    counts = ", ".join(f"{split} {count:,}" for split, count in samples.counts().items())
    title = f"{panel.source}: {len(samples.tickers):,} tickers; labels {counts}; {protocol.name}"
    labelled = Labelled.of(samples)
    verdicts = (
        *_spans(samples),
        _scale(samples, scale or StockScale.fit(samples, None)),
        check_prices(protocol, panel, texts, samples),
        check_texts(samples, texts),
        _calendar(labelled),
        check_quotes(panel, samples.days, labelled),
        *check_shown(samples, texts, labelled),
        None if encoder is None else _encoder(samples, encoder),
        _traded(labelled),
        _movements(panel, labelled),
        _ticker_days(labelled),
        _copies(labelled),
    )
    return AuditReport.of(title, verdicts)


def _spans(samples: StockSamples) -> Iterator[Verdict | None]:
    """Days of training windows, and the target days of the others."""
    slots = np.where(samples.slots >= 0, samples.slots, samples.targets[:, None])

    def spans(rows: Ints, starts: Ints) -> Spans:
        return Spans(starts[rows], samples.targets[rows] + 1)

    training = spans(samples.splits["train"], slots.min(1))
    for split, rows in samples.splits.items():
        if split != "train":
            targets = spans(rows, samples.targets)
            yield check_overlap(training, targets, split, lambda day: str(samples.days[day]))
            yield check_order(training, targets, split, lambda day: str(samples.days[day]))


def _scale(samples: StockSamples, scale: StockScale) -> Verdict:
    """Whether prices are scaled by the training windows alone."""

    def numbers(rows: Ints) -> dict[str, NDArray[np.float64]]:
        values = samples.features[samples.days_seen(rows)].astype(np.float64)
        spread = values.std(0)
        return {"centre": values.mean(0), "spread": np.where(spread > 1e-9, spread, 1.0)}

    used = {"centre": scale.centre.astype(np.float64), "spread": scale.spread.astype(np.float64)}
    everything = numbers(np.concatenate(list(samples.splits.values())))
    training = numbers(samples.splits["train"])
    return check_statistics(used, training, everything, samples.feature_names, rows="training windows")


def _calendar(labelled: Labelled) -> Verdict | None:
    """Whether the labels can be looked up in dates, trading days and what is missing."""
    train, test = labelled.part("train"), labelled.part("test")
    return check_lookup(
        facts_of(train), train.label, facts_of(test), test.label,
        what="the calendar, or what is missing,", groups=(train.target, test.target), block=5,
    )  # fmt: skip


def _encoder(samples: StockSamples, name: str) -> Verdict:
    """Whether what encodes the texts may have read of the test days."""
    days = samples.days[samples.targets[samples.splits["test"]]]
    return check_encoder(name, days.min(), days.max())


def _traded(labelled: Labelled) -> Verdict:
    """Whether the target days have prices at all."""
    both = labelled.traded(labelled.target) & (labelled.traded(labelled.last) | (labelled.last < 0))
    absent = labelled.take(~both)
    share = len(absent) / max(len(labelled), 1)
    if share <= UNTRADED:
        return f"{1 - share:.2%} of {len(labelled):,} labels are of days with prices"
    return found(
        "untraded", "error",
        f"{share:.1%} of {len(labelled):,} labels compare days of which one has no price, such as {absent[0]}",
        "Use trading days only.", count=len(absent),
    )  # fmt: skip


def _movements(panel: StockPanel, labelled: Labelled) -> Verdict | None:
    """Labels beside the direction of the adjusted close from the window's last day to the target day."""
    true = true_movements(panel, labelled)
    moved = np.isfinite(true) & (np.abs(true) > STILL)
    kept, what = labelled.take(moved), "the direction of the adjusted close where both days traded"
    return check_agreement(kept.label, (true[moved] > 0).astype(np.int64), what, kept)


def _ticker_days(labelled: Labelled) -> Verdict:
    """Whether a label is in two splits; names are made only for those that are."""
    splits = labelled.samples.splits
    key = labelled.target * len(labelled.samples.tickers) + labelled.ticker
    each = [np.unique(key[labelled.split == split]) for split in splits]
    days, count = np.unique(np.concatenate(each), return_counts=True)
    if (count == 1).all():
        return f"none of {len(days):,} ticker-days is in two splits"
    torn = labelled.take(np.isin(key, days[count > 1]))
    return check_groups({split: torn.part(split).names() for split in splits}, "ticker-day")


def _copies(labelled: Labelled) -> Verdict:
    """Windows of prices that are the same to the last digit in two splits."""
    chosen = labelled.take(np.arange(len(labelled))[:: -(-len(labelled) // MOST_COPIES)])
    parts = {split: chosen.part(split) for split in labelled.samples.splits}
    digests = {split: [digest_of(window) for window in _windows(part)] for split, part in parts.items()}
    names = {split: part.names() for split, part in parts.items()}
    return check_duplicates(digests, names, "windows of prices that vary", tolerated=MANY)


def _windows(labelled: Labelled) -> NDArray[np.float32]:
    """`(labels, slots, features)`, 0 in slots that are not of the window."""
    samples, ticker = labelled.samples, labelled.ticker
    shown = samples.slot_valid[labelled.sample, ticker]
    features = samples.features[samples.slots[labelled.sample], ticker[:, None]]
    return np.where(shown[..., None], features, np.float32(0))
