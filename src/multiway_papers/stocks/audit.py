"""Audit of stocks: prices, texts and the protocol that makes labels of them."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.agreement import check_agreement, check_statistics
from multiway.auditing.duplicates import MANY, check_duplicates, check_groups, sample_digest
from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import AuditReport, Verdict, finding
from multiway.auditing.spans import Spans, check_order, check_overlap
from multiway.data import Finding
from multiway.data.encoders import HashedEncoder
from multiway.data.samples import SPLITS, Splits
from multiway_papers.stocks.config import StockProtocol
from multiway_papers.stocks.panel import ADJUSTED, FIELDS, StockPanel, StockTexts, day_numbers, months, weekdays
from multiway_papers.stocks.samples import StockWindows, cut
from multiway_papers.stocks.state import StockScale, moments
from multiway_papers.stocks.text_audit import check_encoder, check_vectors, check_words

UNTRADED = 0.01
"""Share of labels whose target day may have no price."""
MOST_COPIES = 200_000
"""Windows that are compared with each other, evenly chosen where there are more."""
MOST_TEXTS = 8000
STILL = 1e-6
"""Movements smaller than this have no direction."""
BINS = 20
BLOCK = 5
"""Days that are drawn together for the interval."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def labels_of(windows: StockWindows, splits: Splits) -> pd.DataFrame:
    """Every label in the order of splits and days: split, sample, ticker, label, name, target day and last day before.

    Days are positions; the last one is -1 without one.
    """
    parts = []
    for split, rows in splits.items():
        sample, ticker = np.nonzero(windows.labels[rows] >= 0)
        parts.append(pd.DataFrame({"sample": rows[sample], "ticker": ticker}).assign(split=split))
    labels = pd.concat(parts, ignore_index=True)
    sample, ticker = labels["sample"].to_numpy(), labels["ticker"].to_numpy()
    days = windows.target_days[sample]
    return labels.assign(
        label=windows.labels[sample, ticker].astype(np.int64),
        target=windows.targets[sample],
        last=windows.last_days[sample],
        name=[f"{windows.tickers[stock]} {day}" for stock, day in zip(ticker, days, strict=True)],
    )


def _part(labels: pd.DataFrame, split: str) -> pd.DataFrame:
    return labels[labels["split"] == split]


def audit_stocks(
    windows: StockWindows,
    splits: Splits,
    protocol: StockProtocol,
    scale: StockScale | None = None,
    encoder: str | None = None,
) -> AuditReport:
    """Whether windows overlap, inputs know the future, the calendar tells the labels, and the labels are movements.

    scale: What a run learnt; that of the training samples if not given.
    encoder: What encodes the texts, as users call it; None where nothing does.
    """
    panel, texts, labels = windows.panel, windows.texts, labels_of(windows, splits)
    counts = ", ".join(f"{split} {(labels['split'] == split).sum():,}" for split in splits)
    title = f"{panel.source}: {len(windows.tickers):,} tickers; labels {counts}; {protocol.name}"
    test_days = windows.target_days[splits["test"]]
    verdicts = (
        *_spans(windows, splits),
        _scale(windows, splits, scale or StockScale.fit(windows[splits["train"]], None)),
        check_prices(protocol, windows, splits),
        check_stock_texts(windows, texts),
        check_facts(label_facts(windows, labels), labels, "the calendar, or what is missing,"),
        _quotes(panel, windows, labels),
        *_shown(texts, windows, labels),
        None if encoder is None else check_encoder(encoder, test_days.min(), test_days.max()),
        _untraded(windows, labels),
        _movements(panel, windows, labels),
        _ticker_days(labels),
        _copies(windows, labels),
    )
    return AuditReport.of(title, verdicts)


def _spans(windows: StockWindows, splits: Splits) -> Iterator[Verdict | None]:
    """Days of training windows, and the target days of the others."""
    slots = np.where(windows.slots >= 0, windows.slots, windows.targets[:, None])

    def spans(rows: Ints, starts: Ints) -> Spans:
        return Spans(starts[rows], windows.targets[rows] + 1)

    training = spans(splits["train"], slots.min(1))
    for split, rows in splits.items():
        if split != "train":
            targets = spans(rows, windows.targets)
            yield check_overlap(training, targets, split, lambda day: str(windows.days[day]))
            yield check_order(training, targets, split, lambda day: str(windows.days[day]))


def _scale(windows: StockWindows, splits: Splits, scale: StockScale) -> Verdict:
    """Whether prices are scaled by the training windows alone."""

    def numbers(centre: NDArray[np.float32], spread: NDArray[np.float32]) -> dict[str, Floats]:
        return {"centre": centre.astype(np.float64), "spread": spread.astype(np.float64)}

    every = np.concatenate(list(splits.values()))
    seen = (windows.features[windows[rows].days_seen] for rows in (splits["train"], every))
    right, whole = (numbers(*moments(values)) for values in seen)
    used = numbers(scale.centre, scale.spread)
    return check_statistics(used, right, whole, windows.feature_names, rows="training windows")


def check_prices(protocol: StockProtocol, windows: StockWindows, splits: Splits) -> Verdict:
    """Change every price from the first validation day on, and see whether anything earlier changes with it."""
    first, rows = windows.targets[splits["validation"]].min(), splits["train"]
    day = windows.days[first]
    panel, later = windows.panel, (windows.panel.days >= day)[None, :]
    factor = np.where(later, np.random.default_rng(0).uniform(0.5, 1.5, panel.traded.shape), 1.0)
    movement = np.where(later & np.isfinite(panel.movement), factor - 1, panel.movement)
    other = dataclasses.replace(panel, prices=panel.prices * factor[:, :, None], movement=movement)
    changed = cut(other, windows.texts, protocol)
    own_day = not protocol.of_movements  # elsewhere, features of a day are what is known before it
    kept = slice(0, int(first) + (0 if own_day else 1))
    before = dict.fromkeys(("features", "known"), (kept, kept))
    training = dict.fromkeys(("targets", "slots", "labels"), (rows, slice(len(rows))))
    cuts = (before | training).items()
    if all(np.array_equal(getattr(windows, name)[own], getattr(changed, name)[same]) for name, (own, same) in cuts):
        return f"with every price from {day} on changed, earlier inputs and training labels stay what they are"
    return finding(
        "future",
        "error",
        f"with every price from {day} on changed, inputs or training labels from before it change",
        "Use only what is known before the target day.",
    )


def check_stock_texts(windows: StockWindows, texts: StockTexts | None) -> Verdict | None:
    """Whether a text of the target day, or a later one, is among its inputs."""
    if texts is None or not len(windows.groups.items):
        return None
    groups = windows.groups
    days = day_numbers(texts.day[groups.items])
    latest = np.full(groups.num_rows, np.iinfo(np.int64).min)
    filled = groups.sizes > 0
    latest[filled] = np.maximum.reduceat(days, groups.starts[:-1][filled])
    target = day_numbers(windows.target_days)
    late = np.argwhere((latest[windows.text_rows] >= target[:, None, None]) & (windows.text_rows > 0))
    if not len(late):
        shown = f"{len(np.unique(groups.items)):,} texts"
        return f"each of the {shown} that are shown is from a day before the target day"
    sample, ticker, _ = late[0]
    return finding(
        "future",
        "error",
        f"{len(late):,} windows show a text of the target day or later; the first is {windows.tickers[ticker]} "
        f"{windows.target_days[sample]}",
        "Put each text on the first trading day after it.",
        count=len(late),
    )


def _columns(panel: StockPanel, days: NDArray[np.datetime64]) -> Ints:
    """Position among the panel's days of each day; -1 for one that is not there, and at the end for no day at all."""
    position = np.minimum(np.searchsorted(panel.days, days), len(panel.days) - 1)
    return np.append(np.where(panel.days[position] == days, position, -1), -1)


def _quotes(panel: StockPanel, windows: StockWindows, labels: pd.DataFrame) -> Verdict | None:
    """Whether each field of the last row, relative to the close of its day, tells the movement."""
    fields = {name: panel.prices[:, :, position] for position, name in enumerate(FIELDS)}
    day, training = _columns(panel, windows.days)[labels["last"]], (labels["split"] == "train").to_numpy()
    facts = quote_facts(fields, labels["ticker"].to_numpy(), day, training)
    verdict = check_facts(facts, labels, "the row of prices before the target day", draws=200)
    return dataclasses.replace(verdict, kind="quotes") if isinstance(verdict, Finding) else verdict


def _shown(texts: StockTexts | None, windows: StockWindows, labels: pd.DataFrame) -> Iterator[Verdict]:
    """Whether the texts that are shown last before a target day tell its movement."""
    if texts is None or not len(windows.groups.items):
        return
    labels = labels.assign(group=windows.text_rows[labels["sample"], labels["ticker"], -1])
    shown = labels[labels["group"] > 0]
    shown = shown.iloc[:: max(-(-len(shown) // MOST_TEXTS), 1)]
    items = [windows.groups.of(group) for group in shown["group"]]
    parts = ((shown["split"] == split).to_numpy() for split in ("train", "test"))
    rest = (shown["label"].to_numpy(), shown["target"].to_numpy(), *parts)
    if texts.vectors is not None:
        yield check_vectors(np.array([texts.vectors[rows].mean(0) for rows in items]), *rest)
    elif texts.text is not None:
        words = ["\n".join(texts.text[row] for row in rows) for rows in items]
        yield check_words(words, *rest)
        yield check_vectors(HashedEncoder().encode(words), *rest)


def _untraded(windows: StockWindows, labels: pd.DataFrame) -> Verdict:
    """Whether the target days have prices at all."""
    no_last = (labels["last"] < 0).to_numpy()
    both = traded(windows, labels, "target") & (traded(windows, labels, "last") | no_last)
    absent = labels["name"][~both]
    share = len(absent) / max(len(labels), 1)
    if share <= UNTRADED:
        return f"{1 - share:.2%} of {len(labels):,} labels are of days with prices"
    return finding(
        "untraded",
        "error",
        f"{share:.1%} of {len(labels):,} labels compare days of which one has no price, such as {absent.iloc[0]}",
        "Use trading days only.",
        count=len(absent),
    )


def _movements(panel: StockPanel, windows: StockWindows, labels: pd.DataFrame) -> Verdict | None:
    """Labels and the direction of the adjusted close from the window's last day to the target day."""
    column = _columns(panel, windows.days)
    close = np.where(column >= 0, panel.prices[:, column, ADJUSTED], np.nan)  # the last column stands for no day
    true = close[labels["ticker"], labels["target"]] / close[labels["ticker"], labels["last"]] - 1
    moved = np.isfinite(true) & (np.abs(true) > STILL)
    what, names = "the direction of the adjusted close where both days traded", labels["name"][moved].tolist()
    return check_agreement(labels["label"].to_numpy()[moved], (true[moved] > 0).astype(np.int64), what, names)


def _ticker_days(labels: pd.DataFrame) -> Verdict:
    """Whether a label is in two splits."""
    once = labels.drop_duplicates(["split", "target", "ticker"])
    is_torn = once.duplicated(["target", "ticker"], keep=False)
    if not is_torn.any():
        return f"none of {len(once):,} ticker-days is in two splits"
    torn = once[is_torn]
    return check_groups({split: _part(torn, split)["name"].tolist() for split in SPLITS}, "ticker-day")


def _copies(windows: StockWindows, labels: pd.DataFrame) -> Verdict:
    """Windows of prices that are the same to the last digit in two splits."""
    chosen = labels.iloc[:: -(-len(labels) // MOST_COPIES)]
    parts = {split: _part(chosen, split) for split in SPLITS}
    digests = {split: [sample_digest(window) for window in _windows(windows, part)] for split, part in parts.items()}
    names = {split: part["name"].tolist() for split, part in parts.items()}
    return check_duplicates(digests, names, "windows of prices that vary", tolerated=MANY)


def _windows(windows: StockWindows, labels: pd.DataFrame) -> NDArray[np.float32]:
    """`(labels, slots, features)`, 0 in slots that are not of the window."""
    sample, ticker = labels["sample"].to_numpy(), labels["ticker"].to_numpy()
    features = windows.features[windows.slots[sample], ticker[:, None]]
    return np.where(windows.slot_valid[sample, ticker][..., None], features, np.float32(0))


def check_facts(facts: Mapping[str, Ints], labels: pd.DataFrame, what: str, draws: int = 1000) -> Verdict | None:
    """Whether the labels of the test days can be looked up in facts of each, as the training labels have them."""
    train, test = ((labels["split"] == split).to_numpy() for split in ("train", "test"))
    seen, later = ({name: codes[part] for name, codes in facts.items()} for part in (train, test))
    label, target = labels["label"].to_numpy(), labels["target"].to_numpy()
    groups = target[train], target[test]
    return check_lookup(seen, label[train], later, label[test], what=what, groups=groups, block=BLOCK, draws=draws)


def traded(windows: StockWindows, labels: pd.DataFrame, day: str) -> Flags:
    """Whether each label's ticker has a price on its `target` or `last` day."""
    position = labels[day].to_numpy()
    return np.asarray(windows.traded[position, labels["ticker"]] & (position >= 0))


def label_facts(windows: StockWindows, labels: pd.DataFrame) -> dict[str, Ints]:
    """What says nothing of a movement: dates, trading days, and which inputs are there."""
    sample, ticker, target, last = (labels[name].to_numpy() for name in ("sample", "ticker", "target", "last"))
    day, weekday = day_numbers(windows.days), weekdays(windows.days)
    bits = 1 << np.arange(windows.slots.shape[1])
    texts = (windows.text_rows[sample, ticker] > 0) @ bits
    prices = (windows.slot_valid[sample, ticker] & windows.known[windows.slots[sample], ticker[:, None]]) @ bits
    return {
        "whether the last day traded": traded(windows, labels, "last").astype(np.int64),
        "whether the next day trades": traded(windows, labels, "target").astype(np.int64),
        "weekday of the last day": np.where(last >= 0, weekday[last], 7),
        "weekday of the next day": weekday[target],
        "month": months(windows.days)[target],
        "days between": np.where(last >= 0, day[target] - day[last], -1),
        "which days have texts": texts.astype(np.int64),
        "which days have prices": prices.astype(np.int64),
    }


def quote_facts(fields: Mapping[str, Floats], ticker: Ints, day: Ints, training: Flags) -> dict[str, Ints]:
    """In which twentieth of the training rows each field lies; a volume is relative to the ticker's usual one.

    fields: Prices and volume by name, `(tickers, days)` each, NaN without a row.
    ticker, day, training: `(labels,)`, of which stock, the last row before the target day (-1 without one), and which
        bound the bins.
    """
    facts = {}
    for name, column in fields.items():
        if name != "close":
            usual = pd.DataFrame(column).median(axis=1).to_numpy(np.float64)[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.log(column / (usual if name == "volume" else fields["close"]))
            cases = np.where(day >= 0, ratio[ticker, day], np.nan)
            known = cases[training & np.isfinite(cases)]
            edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else np.empty(0)
            bins = np.where(np.isfinite(cases), np.searchsorted(edges, cases), BINS + 1)  # the last for what is missing
            facts[f"{name} of the day before"] = bins.astype(np.int64)
    return facts
