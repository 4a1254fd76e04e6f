"""Whether inputs know the target day: prices from a day on are changed, and texts are looked up."""

import dataclasses

import numpy as np

from multiway.auditing.report import Verdict, found
from multiway.data.stocks import StockPanel, StockProtocol, StockSamples, StockTexts, build_samples
from multiway.data.stocks.windows import day_numbers


def check_prices(
    protocol: StockProtocol, panel: StockPanel, texts: StockTexts | None, samples: StockSamples
) -> Verdict:
    """Change every price from the first validation day on, and see whether anything earlier changes with it."""
    first = samples.targets[samples.splits["validation"]].min()
    day = samples.days[first]
    changed = build_samples(_changed(panel, day), texts, protocol)
    rows = samples.splits["train"]
    own_day = protocol.name == "published-code"  # elsewhere, features of a day are what is known before it
    kept = slice(0, int(first) + (0 if own_day else 1))
    same = (
        np.array_equal(samples.features[kept], changed.features[kept])
        and np.array_equal(samples.known[kept], changed.known[kept])
        and np.array_equal(samples.targets[rows], changed.targets[: len(rows)])
        and np.array_equal(samples.slots[rows], changed.slots[: len(rows)])
        and np.array_equal(samples.labels[rows], changed.labels[: len(rows)])
    )
    if same:
        return f"with every price from {day} on changed, earlier inputs and training labels stay what they are"
    return found(
        "future", "error", f"with every price from {day} on changed, inputs or training labels from before it change",
        "Use only what is known before the target day.",
    )  # fmt: skip


def _changed(panel: StockPanel, day: np.datetime64) -> StockPanel:
    """The same rows with other prices from a day on."""
    later = panel.days >= day
    chance = np.random.default_rng(0)
    factor = np.where(later[None, :], chance.uniform(0.5, 1.5, panel.traded.shape), 1.0)
    movement = np.where(later[None, :] & np.isfinite(panel.movement), factor - 1, panel.movement)
    return dataclasses.replace(panel, prices=panel.prices * factor[:, :, None], movement=movement)


def check_texts(samples: StockSamples, texts: StockTexts | None) -> Verdict | None:
    """Whether a text of the target day, or a later one, is among its inputs."""
    if texts is None or not len(samples.groups.items):
        return None
    groups = samples.groups
    days = day_numbers(texts.day[groups.items])
    latest = np.full(groups.num_rows, np.iinfo(np.int64).min)
    filled = groups.sizes > 0
    latest[filled] = np.maximum.reduceat(days, groups.starts[:-1][filled])
    target = day_numbers(samples.target_days)
    late = np.argwhere((latest[samples.text_rows] >= target[:, None, None]) & (samples.text_rows > 0))
    shown = f"{len(np.unique(groups.items)):,} texts"
    if not len(late):
        return f"each of the {shown} that are shown is from a day before the target day"
    sample, ticker, _ = late[0]
    return found(
        "future", "error",
        f"{len(late):,} windows show a text of the target day or later; the first is {samples.tickers[ticker]} "
        f"{samples.target_days[sample]}",
        "Put each text on the first trading day after it.", count=len(late),
    )  # fmt: skip
