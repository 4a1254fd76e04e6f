"""What a check says of prices and texts: how far they reach, and what is odd about their days."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.checking import Hook, judge_marks
from multiway.data.findings import Findings, Place, list_some
from multiway.data.options import Shares
from multiway.data.samples import Samples
from multiway.data.sources.frames import pair_of
from multiway.data.splitting import split
from multiway.tasks.kind import SampleKind
from multiway_papers.stocks.config import StockConfig, StockProtocol
from multiway_papers.stocks.panel import FIELDS, StockPanel, StockTexts
from multiway_papers.stocks.samples import StockWindows, samples_of
from multiway_papers.stocks.source import looks_like_stocks, market_of, source_label

if TYPE_CHECKING:  # what needs torch
    from multiway_papers.stocks.state import StockState

FEWEST = 10
MAX_MONTHS = 36
"""Months that are shown one by one; more are shown by year."""
Counts = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Coverage:
    """Counts by ticker and month.

    months: `(months,)` datetime64[M], from the first day to the last.
    days: `(months,)` trading days.
    traded: `(tickers, months)` stock-days with a price.
    texts: `(tickers, months)` texts; those of the days before the first month and after the last are not in it.
    with_text: `(tickers, months)` stock-days with a price on which at least one text is put.
    """

    tickers: tuple[str, ...]
    months: NDArray[np.datetime64]
    days: Counts
    traded: Counts
    texts: Counts
    with_text: Counts


def text_coverage(panel: StockPanel, texts: StockTexts | None) -> Coverage:
    """Count prices and texts by ticker and month."""
    month = panel.days.astype("datetime64[M]")
    months = np.arange(month[0], month[-1] + np.timedelta64(1, "M"))
    in_month = (month[:, None] == months).astype(np.int64)
    counts, written = np.zeros((len(panel.tickers), len(months)), np.int64), np.zeros(panel.traded.shape, bool)
    if texts is not None:
        of_text = (texts.day.astype("datetime64[M]") - months[0]).astype(np.int64)
        inside = (of_text >= 0) & (of_text < len(months))
        np.add.at(counts, (texts.ticker[inside], of_text[inside]), 1)
        day = np.searchsorted(panel.days, texts.day, side="right")  # a text is put on the first day after its own
        inside = day < len(panel.days)
        written[texts.ticker[inside], day[inside]] = True
    return Coverage(
        tickers=panel.tickers,
        months=months,
        days=in_month.sum(0),
        traded=panel.traded @ in_month,
        texts=counts,
        with_text=(panel.traded & written) @ in_month,
    )


def odd_days(panel: StockPanel) -> Counts:
    """Days on which fewer than half of the tickers listed then have a row."""
    traded = panel.traded
    listed = np.logical_or.accumulate(traded, axis=1) & np.logical_or.accumulate(traded[:, ::-1], axis=1)[:, ::-1]
    return np.flatnonzero(traded.sum(0) * 2 < listed.sum(0))


def describe_market(samples: Samples[StockWindows]) -> Plain:
    """How many prices and texts there are, by ticker, by month or year."""
    panel, texts = samples.inputs.panel, samples.inputs.texts
    by_month = text_coverage(panel, texts)
    stock_days, with_text = int(by_month.traded.sum()), int(by_month.with_text.sum())
    about: Plain = {}
    if texts is not None:
        share = f"{with_text:,} of {stock_days:,} ({with_text / stock_days:.0%})"
        about = {
            "texts": f"{texts.count:,}",
            "features of a text": None if texts.vectors is None else texts.vectors.shape[1],
            "stock-days with a text": f"{share}, the rest is masked",
            "texts left out": ", ".join(f"{why} {count:,}" for why, count in texts.dropped.items()) or "none",
        }
    return {
        "tickers": f"{len(panel.tickers)} ({list_some(panel.tickers, 6)})",
        "days": f"{len(panel.days)}, {panel.days[0]} to {panel.days[-1]}",
        "next session": str(panel.next_session),
        "rows of prices": f"{stock_days:,} of {panel.traded.size:,} stock-days ({panel.traded.mean():.1%})",
        **about,
        "fewest prices": _fewest(by_month.tickers, by_month.traded.sum(1), len(panel.days)),
        "fewest texts": None if texts is None else _fewest(by_month.tickers, by_month.texts.sum(1)),
        **_periods(by_month, texts is not None),
    }


def _fewest(tickers: tuple[str, ...], counts: Counts, most: int | None = None) -> str | None:
    """Tickers with the lowest counts; None where all have what there is."""
    order = [row for row in np.argsort(counts, kind="stable") if most is None or counts[row] < most]
    return list_some((f"{tickers[row]} {counts[row]:,}" for row in order), FEWEST) if order else None


def _periods(counts: Coverage, has_texts: bool) -> dict[str, str]:
    """One line for each month, or for each year where there are many."""
    unit = "M" if len(counts.months) <= MAX_MONTHS else "Y"
    periods = counts.months.astype(f"datetime64[{unit}]")
    lines = {}
    for period in np.unique(periods):
        rows = periods == period
        traded, texts, days = counts.traded[:, rows], counts.texts[:, rows].sum(), int(counts.days[rows].sum())
        line = f"{days} days, {(traded.sum(1) > 0).sum()} tickers, {traded.sum():,} prices"
        if has_texts:
            share = counts.with_text[:, rows].sum() / max(traded.sum(), 1)
            line += f", {texts:,} texts, on {share:.0%} of stock-days"
        lines[str(period)] = line
    return lines


def check_days(samples: Samples[StockWindows], findings: Findings) -> None:
    """Days that few tickers share, and days at weekends: a calendar of several exchanges, or of none."""
    panel = samples.inputs.panel
    odd, counts = odd_days(panel), panel.traded.sum(0)
    if len(odd):
        places = [Place(detail=f"{panel.days[day]} ({counts[day]} tickers)") for day in odd[:20]]
        rule = "fewer than half of the tickers have a row on some days"
        fix = "Take holidays of single tickers out, or split exchanges apart, if that is not meant."
        findings.add("calendar", "warning", rule, fix, places, len(odd))
    weekend = panel.days[~np.is_busday(panel.days)]
    if panel.trades_daily:
        findings.add("weekend", "note", "the market has no weekends: its next day is the next session")
    elif len(weekend):
        rule = "there are prices on Saturdays or Sundays"
        places = [Place(detail=str(day)) for day in weekend[:20]]
        findings.add("weekend", "warning", rule, "Check the dates.", places, len(weekend))
    if len(panel.tickers) == 1:
        findings.add("tickers", "note", "there is one ticker, so nothing can be learnt between stocks")


def count_labels(samples: Samples[StockWindows], findings: Findings, how: Shares, protocol: StockProtocol) -> Plain:
    """Labels in each split and their share of rises."""
    if any(finding.kind == "split" and finding.severity == "error" for finding in findings.found):
        return {}
    lines = []
    for name, rows in split(samples, how).items():
        part = samples.inputs[rows].counted(samples.inputs.labels[rows] >= 0)
        rises = part["rises"] / max(part["count"], 1)
        lines.append(f"{name} {part['count']:,} ({rises:.1%} rises, {part['first']} to {part['last']})")
    return {f"labels under the protocol {protocol.name}": "; ".join(lines)}


def read_with_flaws(
    config: StockConfig,
    source: object,
    findings: Findings,
    state: "StockState | None" = None,
    *,
    has_target: bool = True,
) -> Samples[StockWindows]:
    """Target days of prices and texts; later ones of the run's stocks, or the next session where none is known."""
    if state is None:
        panel, _ = market = market_of(source, config.read, findings)
        columns = ((name, prices[:, FIELDS.index(name)]) for prices in panel.prices for name in panel.read)
        judge_marks(columns, config.read.sentinels, findings)
        return samples_of(market, config.protocol)
    market = market_of(source, config.read.replace(start=None, end=None), findings)
    state.check(market[0])
    return samples_of(market, state.protocol(config.protocol), ahead=not has_target)


def list_checks(config: StockConfig) -> Sequence[Hook]:
    """Odd days, and what the labels of the protocol are."""
    return check_days, functools.partial(count_labels, how=config.split, protocol=config.protocol)


MARKET = SampleKind(
    recognises=lambda source: looks_like_stocks(source if isinstance(source, str | Path) else pair_of(source)[0]),
    read=read_with_flaws,
    label=source_label,
    describe=describe_market,
    hooks=list_checks,
)
