"""Audit of prices, texts and the protocol that makes labels of them."""

import dataclasses
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
from multiway.auditing.report import found
from multiway.data.stocks import FIELDS, StockPanel, StockSamples, StockTexts, build_samples
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.prepared import locate, read
from multiway.tasks.stocks.run import StockRun
from multiway.tasks.stocks.scale import StockScale

ADJUSTED = FIELDS.index("adj_close")
UNTRADED = 0.01
"""Share of labels that may ask about a day without a price."""
STILL = 1e-6
"""Movements smaller than this have no direction."""
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def audit(config: StockConfig, run: StockRun | None = None) -> AuditReport:
    """Whether windows overlap, inputs know the future, the calendar tells the labels, and the labels are movements.

    Raises:
        DataError: The data cannot be read, or the protocol has nothing to ask about.
    """
    panel, texts = read(config, locate(config.data or ""))
    samples = build_samples(panel, texts, config.protocol)
    scale = StockScale.fit(samples, None) if run is None else run.scale
    counts = ", ".join(f"{split} {count:,}" for split, count in samples.counts().items())
    title = f"{panel.source}: {len(samples.tickers):,} tickers; labels {counts}; {config.protocol.name}"
    return AuditReport.of(title, _verdicts(config, panel, texts, samples, scale))


def _verdicts(
    config: StockConfig, panel: StockPanel, texts: StockTexts | None, samples: StockSamples, scale: StockScale
) -> Iterator[Verdict | None]:
    asked = _Asked.of(samples)
    yield from _spans(samples)
    yield _scale(samples, scale)
    yield _later_prices(config, panel, texts, samples)
    yield _later_texts(samples, texts)
    yield _calendar(samples, asked)
    yield _traded(samples, asked)
    yield _movements(panel, samples, asked)
    yield check_groups({split: asked.names(split) for split in samples.splits}, "ticker-day")
    yield _copies(samples, asked)


@dataclasses.dataclass(frozen=True, eq=False)
class _Asked:
    """Every label that is asked: its split, sample, ticker and class."""

    samples: StockSamples
    split: NDArray[np.str_]
    sample: Ints
    ticker: Ints
    label: Ints

    @classmethod
    def of(cls, samples: StockSamples) -> "_Asked":
        """Labels of every split, in the order of splits and days."""
        pairs = {split: np.argwhere(samples.labels[rows] >= 0) for split, rows in samples.splits.items()}
        sample = np.concatenate([samples.splits[split][found[:, 0]] for split, found in pairs.items()])
        ticker = np.concatenate([found[:, 1] for found in pairs.values()])
        split = np.concatenate([np.full(len(found), split) for split, found in pairs.items()])
        return cls(samples, split, sample, ticker, samples.labels[sample, ticker].astype(np.int64))

    def name(self, place: int) -> str:
        """Ticker and day asked about."""
        return f"{self.samples.tickers[self.ticker[place]]} {self.samples.days[self.target[place]]}"

    def names(self, split: str) -> list[str]:
        """Of every label of a split."""
        return [self.name(int(place)) for place in np.flatnonzero(self.split == split)]

    @property
    def target(self) -> Ints:
        """Position of the day asked about."""
        return self.samples.targets[self.sample]

    @property
    def last(self) -> Ints:
        """Position of the window's last day before it; -1 without one."""
        slots = self.samples.slots[self.sample]
        return np.asarray(np.where(slots < self.target[:, None], slots, -1).max(1))

    def traded(self, day: Ints) -> Flags:
        """Whether the ticker has a price that day."""
        return self.samples.traded[day, self.ticker] & (day >= 0)


def _spans(samples: StockSamples) -> Iterator[Verdict | None]:
    """Days of training windows, and the days that the others ask about."""
    slots = np.where(samples.slots >= 0, samples.slots, samples.targets[:, None])
    first = slots.min(1)

    def spans(rows: Ints, starts: Ints) -> Spans:
        return Spans(starts[rows], samples.targets[rows] + 1)

    training = spans(samples.splits["train"], first)
    for split, rows in samples.splits.items():
        if split != "train":
            asked = spans(rows, samples.targets)
            yield check_overlap(training, asked, split, lambda day: str(samples.days[day]))
            yield check_order(training, asked, split, lambda day: str(samples.days[day]))


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


def _later_prices(
    config: StockConfig, panel: StockPanel, texts: StockTexts | None, samples: StockSamples
) -> Verdict | None:
    """Change every price from the first validation day on, and see whether anything earlier changes with it."""
    first = samples.targets[samples.splits["validation"]].min()
    day = samples.days[first]
    again = build_samples(_changed(panel, day), texts, config.protocol)
    rows = samples.splits["train"]
    own_day = config.protocol.name == "published-code"  # elsewhere, features of a day are what is known before it
    kept = slice(0, int(first) + (0 if own_day else 1))
    same = (
        np.array_equal(samples.features[kept], again.features[kept])
        and np.array_equal(samples.known[kept], again.known[kept])
        and np.array_equal(samples.targets[rows], again.targets[: len(rows)])
        and np.array_equal(samples.slots[rows], again.slots[: len(rows)])
        and np.array_equal(samples.labels[rows], again.labels[: len(rows)])
    )
    if same:
        return f"with every price from {day} on changed, earlier inputs and training labels stay what they are"
    return found(
        "future", "error", f"with every price from {day} on changed, inputs or training labels from before it change",
        "Use only what is known before the day asked about.",
    )  # fmt: skip


def _changed(panel: StockPanel, day: np.datetime64) -> StockPanel:
    """The same rows with other prices from a day on."""
    later = panel.days >= day
    chance = np.random.default_rng(0)
    factor = np.where(later[None, :], chance.uniform(0.5, 1.5, panel.traded.shape), 1.0)
    movement = np.where(later[None, :] & np.isfinite(panel.movement), factor - 1, panel.movement)
    return dataclasses.replace(panel, prices=panel.prices * factor[:, :, None], movement=movement)


def _later_texts(samples: StockSamples, texts: StockTexts | None) -> Verdict | None:
    """Whether a text of the day asked about, or a later one, is among its inputs."""
    if texts is None or not len(samples.groups.items):
        return None
    groups = samples.groups
    days = texts.day[groups.items].astype(np.int64)
    latest = np.full(groups.num_rows, np.iinfo(np.int64).min)
    filled = groups.sizes > 0
    latest[filled] = np.maximum.reduceat(days, groups.starts[:-1][filled])
    target = samples.days[samples.targets].astype("datetime64[D]").astype(np.int64)
    late = np.argwhere((latest[samples.text_rows] >= target[:, None, None]) & (samples.text_rows > 0))
    shown = f"{len(np.unique(groups.items)):,} texts"
    if not len(late):
        return f"each of the {shown} that are shown is from a day before the one asked about"
    sample, ticker, _ = late[0]
    return found(
        "future", "error",
        f"{len(late):,} windows show a text of the day asked about or later; the first is {samples.tickers[ticker]} "
        f"{samples.days[samples.targets[sample]]}",
        "Put each text on the first trading day after it.", count=len(late),
    )  # fmt: skip


def _calendar(samples: StockSamples, asked: _Asked) -> Verdict | None:
    """Whether the labels can be looked up in dates, trading days and what is missing."""
    facts = _facts(samples, asked)
    train, test = asked.split == "train", asked.split == "test"
    return check_lookup(
        {name: codes[train] for name, codes in facts.items()}, asked.label[train],
        {name: codes[test] for name, codes in facts.items()}, asked.label[test],
        what="the calendar, or what is missing,", groups=(asked.target[train], asked.target[test]), block=5,
    )  # fmt: skip


def _facts(samples: StockSamples, asked: _Asked) -> dict[str, Ints]:
    """What says nothing of a movement: dates, trading days, and which inputs are there."""
    last, target = asked.last, asked.target
    day = samples.days.astype("datetime64[D]")
    weekday, month = (day.astype(np.int64) + 3) % 7, day.astype("datetime64[M]").astype(np.int64) % 12
    bits = 1 << np.arange(samples.slots.shape[1])
    texts = (samples.text_rows[asked.sample, asked.ticker] > 0) @ bits
    slots = samples.slots[asked.sample]
    prices = (samples.slot_valid[asked.sample, asked.ticker] & samples.known[slots, asked.ticker[:, None]]) @ bits
    return {
        "whether the last day traded": asked.traded(last).astype(np.int64),
        "whether the next day trades": asked.traded(target).astype(np.int64),
        "weekday of the last day": np.where(last >= 0, weekday[last], 7),
        "weekday of the next day": weekday[target],
        "month": month[target],
        "days between": np.where(last >= 0, (day[target] - day[last]).astype(np.int64), -1),
        "which days have texts": texts.astype(np.int64),
        "which days have prices": prices.astype(np.int64),
    }


def _traded(samples: StockSamples, asked: _Asked) -> Verdict:
    """Whether the days asked about have prices at all."""
    absent = np.flatnonzero(~(asked.traded(asked.target) & (asked.traded(asked.last) | (asked.last < 0))))
    share = len(absent) / max(len(asked.label), 1)
    if share <= UNTRADED:
        return f"{1 - share:.2%} of {len(asked.label):,} labels ask about days with prices"
    return found(
        "untraded", "error",
        f"{share:.1%} of {len(asked.label):,} labels compare days of which one has no price, such as "
        f"{asked.name(int(absent[0]))}",
        "Ask about trading days only.", count=len(absent),
    )  # fmt: skip


def _movements(panel: StockPanel, samples: StockSamples, asked: _Asked) -> Verdict | None:
    """Labels beside the direction of the adjusted close since the ticker's trading day before."""
    true = _true_movements(panel, samples.days[asked.target].astype("datetime64[D]"), asked.ticker)
    plain = np.isfinite(true) & (np.abs(true) > STILL) & (asked.traded(asked.last) | (asked.last < 0))
    places = np.flatnonzero(plain)
    what = "the direction of the adjusted close where both days traded"
    return check_agreement(asked.label[places], (true[places] > 0).astype(np.int64), what, _Names(asked, places))


class _Names:
    """Names of some labels, made when asked for."""

    def __init__(self, asked: _Asked, places: Ints) -> None:
        self.asked, self.places = asked, places

    def __getitem__(self, place: int) -> str:
        return self.asked.name(int(self.places[place]))


def _true_movements(panel: StockPanel, days: NDArray[np.datetime64], ticker: Ints) -> NDArray[np.float64]:
    """Change of the adjusted close from the ticker's row before to that of the day; NaN without both."""
    close = panel.prices[:, :, ADJUSTED]
    place = np.where(panel.traded, np.arange(len(panel.days)), -1)
    latest = np.maximum.accumulate(place, axis=1)
    before = np.concatenate([np.full((len(close), 1), -1), latest[:, :-1]], axis=1)
    base = np.where(before >= 0, np.take_along_axis(close, np.maximum(before, 0), axis=1), np.nan)
    moved = close / base - 1
    column = np.minimum(np.searchsorted(panel.days, days), len(panel.days) - 1)
    return np.where(panel.days[column] == days, moved[ticker, column], np.nan)


def _copies(samples: StockSamples, asked: _Asked) -> Verdict:
    """Windows of prices that are the same to the last digit in two splits."""
    shown = samples.slot_valid[asked.sample, asked.ticker]
    slots = samples.slots[asked.sample]
    values = np.where(shown[..., None], samples.features[slots, asked.ticker[:, None]], np.float32(0))
    digests = {split: [digest_of(each) for each in values[asked.split == split]] for split in samples.splits}
    names = {split: asked.names(split) for split in samples.splits}
    return check_duplicates(digests, names, "windows of prices that vary", tolerated=MANY)
