"""`check_stocks`: what is in prices and texts, how far they reach, and what is wrong with them."""

from typing import Any

import numpy as np

from multiway.data.findings import CheckReport, Finding, Findings, Place, Unreadable, listed
from multiway.data.stocks.coverage import Coverage, coverage, odd_days
from multiway.data.stocks.cutting import build_samples
from multiway.data.stocks.joining import absorb
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.protocols import StockProtocol
from multiway.data.stocks.reading import name_of, read_into
from multiway.data.stocks.texts import StockTexts
from multiway.errors import MultiwayError

ORDER = {"error": 0, "warning": 1, "note": 2}
FEWEST = 10
MAX_MONTHS = 36
"""Months that are shown one by one; more are shown by year."""


def check_stocks(
    source: Any, options: StockOptions | None = None, protocol: StockProtocol | None = None, *, texts: Any = None
) -> CheckReport:
    """Read prices and texts, and report all that is wrong with them under these options.

    Args:
        source: As for `read_stocks`.
        options: How to read.
        protocol: What is labelled, for the balance of labels in each split.
        texts: A frame or path of texts, which wins over `options.texts`.
    """
    findings, of_texts = Findings(name_of(source)), Findings("texts")
    summary: dict[str, Any] = {}
    try:
        panel, found = read_into(source, options or StockOptions(), texts, findings, of_texts)
        summary = _summary(panel, found)
        _look_at_days(panel, findings)
        summary |= _labels(panel, found, protocol or StockProtocol(), findings)
    except Unreadable:
        pass
    except MultiwayError as error:
        findings.add("source", "error", str(error).rstrip("."))
    every = [*findings.found, *_named(of_texts)]
    return CheckReport(
        source=findings.source, summary=summary,
        findings=tuple(sorted(every, key=lambda finding: ORDER[finding.severity])),
    )  # fmt: skip


def _named(of_texts: Findings) -> list[Finding]:
    """Findings of the texts, with their file's name in front."""
    named = Findings("")
    absorb(of_texts, named)
    return named.found


def _summary(panel: StockPanel, texts: StockTexts | None) -> dict[str, Any]:
    by_month = coverage(panel, texts)
    stock_days, with_text = int(by_month.traded.sum()), int(by_month.with_text.sum())
    about = {} if texts is None else {
        "texts": f"{texts.count:,}",
        "features of a text": None if texts.vectors is None else texts.vectors.shape[1],
        "stock-days with a text": f"{with_text:,} of {stock_days:,} ({with_text / stock_days:.0%}), the rest is masked",
        "texts left out": ", ".join(f"{why} {count:,}" for why, count in texts.dropped.items()) or "none",
    }  # fmt: skip
    return {
        "tickers": f"{len(panel.tickers)} ({listed(panel.tickers, 6)})",
        "days": f"{len(panel.days)}, {panel.days[0]} to {panel.days[-1]}",
        "next session": str(panel.next_session),
        "rows of prices": f"{stock_days:,} of {panel.traded.size:,} stock-days ({panel.traded.mean():.1%})",
        **about,
        "fewest prices": _fewest(by_month.tickers, by_month.traded.sum(1), len(panel.days)),
        "fewest texts": None if texts is None else _fewest(by_month.tickers, by_month.texts.sum(1)),
        **_periods(by_month, texts is not None),
    }


def _fewest(tickers: tuple[str, ...], counts: Any, most: int | None = None) -> str | None:
    """Tickers with the lowest counts; None where all have what there is."""
    order = [row for row in np.argsort(counts, kind="stable") if most is None or counts[row] < most]
    return listed((f"{tickers[row]} {counts[row]:,}" for row in order), FEWEST) if order else None


def _periods(found: Coverage, has_texts: bool) -> dict[str, str]:
    """One line for each month, or for each year where there are many."""
    unit = "M" if len(found.months) <= MAX_MONTHS else "Y"
    periods = found.months.astype(f"datetime64[{unit}]")
    lines = {}
    for period in np.unique(periods):
        rows = periods == period
        traded, texts, days = found.traded[:, rows], found.texts[:, rows].sum(), int(found.days[rows].sum())
        line = f"{days} days, {(traded.sum(1) > 0).sum()} tickers, {traded.sum():,} prices"
        if has_texts:
            share = found.with_text[:, rows].sum() / max(traded.sum(), 1)
            line += f", {texts:,} texts, on {share:.0%} of stock-days"
        lines[str(period)] = line
    return lines


def _look_at_days(panel: StockPanel, findings: Findings) -> None:
    """Days that few tickers share, and days at weekends: a calendar of several exchanges, or of none."""
    odd = odd_days(panel)
    if len(odd):
        counts = panel.traded.sum(0)
        places = [Place(detail=f"{panel.days[day]} ({counts[day]} tickers)") for day in odd[:20]]
        rule = "fewer than half of the tickers have a row on some days"
        fix = "Take holidays of single tickers out, or split exchanges apart, if that is not meant."
        findings.add("calendar", "warning", rule, fix, places, len(odd))
    weekend = panel.days[~np.is_busday(panel.days)]
    if len(weekend):
        rule = "there are prices on Saturdays or Sundays"
        places = [Place(detail=str(day)) for day in weekend[:20]]
        findings.add("weekend", "warning", rule, "Check the dates.", places, len(weekend))
    if len(panel.tickers) == 1:
        findings.add("tickers", "note", "there is one ticker, so nothing can be learnt between stocks")


def _labels(panel: StockPanel, texts: StockTexts | None, protocol: StockProtocol, findings: Findings) -> dict[str, str]:
    """Labels in each split and their share of rises."""
    try:
        samples = build_samples(panel, texts, protocol)
    except MultiwayError as error:
        findings.add("labels", "warning", str(error).rstrip("."))
        return {}
    lines = []
    for name, rows in samples.splits.items():
        labels = samples.labels[rows]
        count = int((labels >= 0).sum())
        first, last = (samples.days[samples.targets[row]] for row in (rows[0], rows[-1]))
        lines.append(f"{name} {count:,} ({(labels == 1).sum() / max(count, 1):.1%} rises, {first} to {last})")
    return {f"labels of {protocol.name}": "; ".join(lines)}
