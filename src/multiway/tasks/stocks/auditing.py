"""Audit of prices, texts and the protocol that makes labels of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multiway.auditing import (
    AuditReport,
    Spans,
    Verdict,
    check_agreement,
    check_duplicates,
    check_groups,
    check_lookup,
    check_order,
    check_overlap,
    check_statistics,
)
from multiway.auditing.duplicates import MANY, digest_of
from multiway.auditing.encoders import check_encoder
from multiway.auditing.quotes import check_quotes
from multiway.auditing.report import found
from multiway.auditing.texts import check_shown
from multiway.data import datasets
from multiway.data.encoders import chosen_encoder
from multiway.data.stocks import StockPanel, StockSamples, StockTexts, build_samples
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.lookahead import check_prices, check_texts
from multiway.tasks.stocks.prepared import READY, read
from multiway.tasks.stocks.scale import StockScale
from multiway.tasks.stocks.targets import Ints, Labelled, Names, facts_of, true_movements

UNTRADED = 0.01
"""Share of labels whose target day may have no price."""
MOST_COPIES = 200_000
"""Windows that are compared with each other, evenly chosen where there are more."""
STILL = 1e-6
"""Movements smaller than this have no direction."""


def audit(config: StockConfig, run: Run | None = None) -> AuditReport:
    """Whether windows overlap, inputs know the future, the calendar tells the labels, and the labels are movements.

    Raises:
        DataError: The data cannot be read, or the protocol labels nothing.
    """
    panel, texts = read(config, datasets.locate(config.data or ""))
    samples = build_samples(panel, texts, config.protocol)
    scale = StockScale.fit(samples, None) if run is None else run.state.scale
    counts = ", ".join(f"{split} {count:,}" for split, count in samples.counts().items())
    title = f"{panel.source}: {len(samples.tickers):,} tickers; labels {counts}; {config.protocol.name}"
    return AuditReport.of(title, _verdicts(config, panel, texts, samples, scale, run))


def _verdicts(
    config: StockConfig,
    panel: StockPanel,
    texts: StockTexts | None,
    samples: StockSamples,
    scale: StockScale,
    run: Run | None,
) -> Iterator[Verdict | None]:
    labelled = Labelled.of(samples)
    yield from _spans(samples)
    yield _scale(samples, scale)
    yield check_prices(config, panel, texts, samples)
    yield check_texts(samples, texts)
    yield _calendar(samples, labelled)
    yield check_quotes(panel, samples.days, labelled)
    yield from check_shown(samples, texts, labelled)
    yield _encoder(config, samples, texts, run)
    yield _traded(samples, labelled)
    yield _movements(panel, labelled)
    yield _ticker_days(samples, labelled)
    yield _copies(samples, labelled)


def _spans(samples: StockSamples) -> Iterator[Verdict | None]:
    """Days of training windows, and the target days of the others."""
    slots = np.where(samples.slots >= 0, samples.slots, samples.targets[:, None])
    first = slots.min(1)

    def spans(rows: Ints, starts: Ints) -> Spans:
        return Spans(starts[rows], samples.targets[rows] + 1)

    training = spans(samples.splits["train"], first)
    for split, rows in samples.splits.items():
        if split != "train":
            targets = spans(rows, samples.targets)
            yield check_overlap(training, targets, split, lambda day: str(samples.days[day]))
            yield check_order(training, targets, split, lambda day: str(samples.days[day]))


def _seen(samples: StockSamples, rows: Ints) -> NDArray[np.float64]:
    """Features of each day and ticker that some of the samples show, each once."""
    valid = samples.price_valid(rows)
    sample, ticker, slot = np.nonzero(valid)
    days = samples.slots[rows][sample, slot]
    pairs = np.unique(np.stack([days, ticker]), axis=1)
    return np.asarray(samples.features[pairs[0], pairs[1]], np.float64)


def _scale(samples: StockSamples, scale: StockScale) -> Verdict:
    """Whether prices are scaled by the training windows alone."""

    def numbers(rows: Ints) -> dict[str, NDArray[np.float64]]:
        values = _seen(samples, rows)
        spread = values.std(0)
        return {"centre": values.mean(0), "spread": np.where(spread > 1e-9, spread, 1.0)}

    used = {"centre": scale.centre.astype(np.float64), "spread": scale.spread.astype(np.float64)}
    everything = numbers(np.concatenate(list(samples.splits.values())))
    training = numbers(samples.splits["train"])
    return check_statistics(used, training, everything, samples.feature_names, rows="training windows")


def _calendar(samples: StockSamples, labelled: Labelled) -> Verdict | None:
    """Whether the labels can be looked up in dates, trading days and what is missing."""
    facts = facts_of(samples, labelled)
    train, test = labelled.split == "train", labelled.split == "test"
    return check_lookup(
        {name: codes[train] for name, codes in facts.items()}, labelled.label[train],
        {name: codes[test] for name, codes in facts.items()}, labelled.label[test],
        what="the calendar, or what is missing,", groups=(labelled.target[train], labelled.target[test]), block=5,
    )  # fmt: skip


def _encoder(config: StockConfig, samples: StockSamples, texts: StockTexts | None, run: Run | None) -> Verdict | None:
    """Whether what encodes the texts may have read of the test days."""
    if texts is None or not len(texts.day) or config.modality == "price":
        return None
    name = run.state.encoder if run is not None else READY if texts.text is None else chosen_encoder(config.text)
    days = samples.days[samples.targets[samples.splits["test"]]]
    return None if name is None else check_encoder(name, days.min(), days.max())


def _traded(samples: StockSamples, labelled: Labelled) -> Verdict:
    """Whether the target days have prices at all."""
    absent = np.flatnonzero(
        ~(labelled.traded(labelled.target) & (labelled.traded(labelled.last) | (labelled.last < 0)))
    )
    share = len(absent) / max(len(labelled.label), 1)
    if share <= UNTRADED:
        return f"{1 - share:.2%} of {len(labelled.label):,} labels are of days with prices"
    return found(
        "untraded", "error",
        f"{share:.1%} of {len(labelled.label):,} labels compare days of which one has no price, such as "
        f"{labelled.name(int(absent[0]))}",
        "Use trading days only.", count=len(absent),
    )  # fmt: skip


def _movements(panel: StockPanel, labelled: Labelled) -> Verdict | None:
    """Labels beside the direction of the adjusted close from the window's last day to the target day."""
    true = true_movements(panel, labelled)
    places = np.flatnonzero(np.isfinite(true) & (np.abs(true) > STILL))
    what = "the direction of the adjusted close where both days traded"
    return check_agreement(labelled.label[places], (true[places] > 0).astype(np.int64), what, Names(labelled, places))


def _ticker_days(samples: StockSamples, labelled: Labelled) -> Verdict:
    """Whether a label is in two splits; names are made only for those that are."""
    key = labelled.target * len(samples.tickers) + labelled.ticker
    each = [np.unique(key[labelled.split == split]) for split in samples.splits]
    days, count = np.unique(np.concatenate(each), return_counts=True)
    if (count == 1).all():
        return f"none of {len(days):,} ticker-days is in two splits"
    torn = np.isin(key, days[count > 1])
    return check_groups(
        {split: labelled.names(torn & (labelled.split == split)) for split in samples.splits}, "ticker-day"
    )


def _copies(samples: StockSamples, labelled: Labelled) -> Verdict:
    """Windows of prices that are the same to the last digit in two splits."""
    chosen = np.arange(len(labelled.label))[:: -(-len(labelled.label) // MOST_COPIES)]
    sample, ticker, split = labelled.sample[chosen], labelled.ticker[chosen], labelled.split[chosen]
    shown = samples.slot_valid[sample, ticker]
    values = np.where(shown[..., None], samples.features[samples.slots[sample], ticker[:, None]], np.float32(0))
    digests = {name: [digest_of(each) for each in values[split == name]] for name in samples.splits}
    names = {name: [labelled.name(int(place)) for place in chosen[split == name]] for name in samples.splits}
    return check_duplicates(digests, names, "windows of prices that vary", tolerated=MANY)
