"""The report on movements of stocks, as one HTML file."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from multiway.report import attention, charts, classification_scores, curves, diagnostics, stocks_scores, text
from multiway.report.classification_content import ClassificationReport
from multiway.report.html import render_page
from multiway.report.palette import number
from multiway.report.scales import axis_numbers, axis_ticks, number_ticks, scale_of
from multiway.report.stocks_content import AnswerView, BacktestView, MovementGrid, StockReport
from multiway.report.summary import cost_table

MAX_ANSWERS = 12
MAX_MONTHS = 12
PALE = 10
"""Movements at which a cell of the grid has half its colour."""
LINE_STYLES = ("s0", "s2", "s1", "s4")


def render_stock_report(content: StockReport) -> str:
    """Write the report as one self-contained HTML file, as `render_forecast_report` does."""
    models = [row.model for row in content.scores] + [cost.model for cost in content.costs]
    numbers = number(list(dict.fromkeys([content.chosen, *models])), content.chosen)
    readouts = charts.Readouts()
    table = ClassificationReport(title="", chosen=content.chosen, scores=content.scores)
    return render_page(
        "stocks.html.j2",
        content=content,
        verdict=stocks_scores.verdict(content),
        supporting=stocks_scores.supporting(content),
        summary_bars=classification_scores.bars(table, numbers) if _has_shares(content) else None,
        facts=classification_scores.facts(content, decimals=3 if _has_shares(content) else 5),
        tables=classification_scores.tables(table, numbers),
        costs=cost_table(content.costs, numbers, "day"),
        grid=movement_grid(content.grid) if content.grid is not None and content.grid.counts.any() else None,
        reliability=curves.reliability_chart(content.reliability, readouts)
        if any(item.count for item in content.reliability)
        else None,
        answers=answer_groups(content.answers),
        left_out=max(0, len(content.answers) - MAX_ANSWERS),
        attention=attention.figures(content.maps),
        deletion=_deletion(content, readouts),
        deletion_rows=curves.deletion_rows(content.deletion) if content.deletion else [],
        backtest=backtest_chart(content.backtest, readouts) if content.backtest else None,
        backtest_legend=list(zip(content.backtest.lines, LINE_STYLES, strict=False)) if content.backtest else [],
        backtest_rows=backtest_rows(content.backtest) if content.backtest else [],
        training=diagnostics.training_chart(content.training, readouts) if content.training else None,
        readouts=readouts,
    )


def _deletion(content: StockReport, readouts: charts.Readouts) -> Markup | None:
    if content.deletion is None:
        return None
    return curves.deletion_chart(content.deletion, readouts, hidden="texts", from_zero=False)


def _has_shares(content: StockReport) -> bool:
    """Whether the first metric is a share, which a bar from 0 to 1 suits."""
    return any(row.metric == "ACC" for row in content.scores)


class GridCell(NamedTuple):
    """Share named rightly, how strongly to shade it, and how many movements it is of; empty where there are none."""

    share: str
    shade: float
    is_above: bool
    movements: str


class GridRow(NamedTuple):
    """One ticker, or one month of all tickers."""

    name: str
    movements: str
    rises: str
    cells: list[GridCell]


class Grid(NamedTuple):
    """By month of all tickers, then by ticker and month; the first cell of a ticker is of all months."""

    months: list[str]
    by_month: list[GridRow]
    by_ticker: list[GridRow]
    chance: str
    note: str


def movement_grid(grid: MovementGrid) -> Grid:
    """Set the share named rightly by month, and by ticker and month; the last 12 months, if there are more."""
    counts, right, rises = (np.asarray(array) for array in (grid.counts, grid.right, grid.rises))
    shown = slice(max(0, len(grid.months) - MAX_MONTHS), None)
    by_month = [
        GridRow(month, text.count(int(c)), _share(int(u), int(c)), [_cell(int(r), int(c))])
        for month, c, r, u in zip(grid.months, counts.sum(0), right.sum(0), rises.sum(0), strict=True)
    ]
    by_ticker = [
        GridRow(
            name,
            text.count(int(counts[row].sum())),
            _share(int(rises[row].sum()), int(counts[row].sum())),
            [
                _cell(int(right[row].sum()), int(counts[row].sum())),
                *(_cell(int(r), int(c)) for r, c in zip(right[row][shown], counts[row][shown], strict=True)),
            ],
        )
        for row, name in enumerate(grid.tickers)
        if counts[row].sum()
    ]
    note = f"The last {MAX_MONTHS} of {len(grid.months)} months are shown." if len(grid.months) > MAX_MONTHS else ""
    return Grid(list(grid.months[shown]), by_month, by_ticker, _chance(counts.sum(1), right.sum(1)), note)


def _cell(right: int, count: int) -> GridCell:
    if not count:
        return GridCell("", 0.0, True, "")
    share = right / count
    shade = min(1.0, 2 * abs(share - 0.5)) * count / (count + PALE)
    return GridCell(_share(right, count), round(shade, 3), share >= 0.5, text.count(count))


def _share(part: int, count: int) -> str:
    return text.percent(100 * part / count, 0) if count else ""


def _chance(counts: np.ndarray, right: np.ndarray) -> str:
    """Spread between tickers beside that of tickers that are all alike, each share of so many movements."""
    known = counts >= 5
    if known.sum() < 3:
        return ""
    share = right[known] / counts[known]
    mean = right[known].sum() / counts[known].sum()
    alike = math.sqrt(float((mean * (1 - mean) / counts[known]).mean()))
    spread = float(np.sqrt(((share - mean) ** 2).mean()))
    return (
        f"Between the {int(known.sum())} tickers with at least 5 movements the share has a standard deviation of "
        f"{text.number(100 * spread, 1)} points; if all were alike, chance would give {text.number(100 * alike, 1)}."
    )


class TextLine(NamedTuple):
    """One text as it is set; the bar is in percent of the strongest."""

    share: str
    width: float
    is_for: bool
    ticker: str
    day: str
    words: str


class Answer(NamedTuple):
    """One ticker and day as it is set."""

    name: str
    sentence: str
    is_wrong: bool
    parts: str
    texts: list[TextLine]


def answer_groups(answers: Sequence[AnswerView]) -> list[tuple[str, list[Answer]]]:
    """Answers under their headings."""
    found: dict[str, list[Answer]] = {}
    for item in answers[:MAX_ANSWERS]:
        found.setdefault(item.group, []).append(_answer(item))
    return list(found.items())


def _answer(item: AnswerView) -> Answer:
    named = "rise" if item.p_up > 0.5 else "fall"
    moved = "" if item.movement is None else f" ({_signed_percent(item.movement)})"
    actual = "" if item.actual is None else f"; it was a {item.actual}{moved}"
    most = max((abs(part.share) for part in item.strongest), default=0.0) or 1.0
    return Answer(
        name=f"{item.ticker}, {item.date}",
        sentence=f"named a {named} with {text.percent(100 * max(item.p_up, 1 - item.p_up), 0)}{actual}",
        is_wrong=item.actual is not None and item.actual != named,
        parts=_parts(item),
        texts=[
            TextLine(
                share=text.signed(part.share, 4),
                width=round(100 * abs(part.share) / most, 1),
                is_for=part.share > 0,
                ticker=part.ticker,
                day=part.day,
                words=part.text,
            )
            for part in item.strongest
        ],
    )


def _parts(item: AnswerView) -> str:
    parts = [f"Prices moved it by {text.signed(item.prices, 3)}, texts by {text.signed(item.texts, 3)}."]
    if item.moved_by:
        names = [f"{text.name(name)} {text.signed(value, 3)}" for name, value in item.moved_by]
        parts.append(f"Days of {text.listing(names)} moved it most.")
    if item.looks_at:
        names = [f"{text.name(name)} {text.percent(100 * share)}" for name, share in item.looks_at]
        parts.append(f"Of other stocks it looks most at {text.listing(names)}.")
    return " ".join(parts)


def backtest_chart(view: BacktestView, readouts: charts.Readouts) -> Markup:
    """Return so far of every portfolio, over the band of random rankings."""
    days = pd.DatetimeIndex(view.days)
    places = axis_numbers([days])
    across = scale_of(places, margin=0.01)
    lines = {name: 100 * np.asarray(values, float) for name, values in view.lines.items()}
    low, high = (100 * np.asarray(edge, float) for edge in view.band)
    up = scale_of([*lines.values(), low, high, [0.0]])
    at = across.place(places[0])
    styles = dict(zip(lines, LINE_STYLES, strict=False))
    axis = readouts.axis(at, [str(day.date()) for day in days])
    series = [charts.Series(name, styles[name], lines[name]) for name in styles]
    series.append(charts.Series("random rankings, 5 to 95 %", "b0", low, 0, high))
    drawn = [charts.curve(at, charts.places_of(up, lines[name]), styles[name]) for name in reversed(styles)]
    return charts.frame(
        [charts.band(at, charts.places_of(up, low), charts.places_of(up, high), "b0"), *drawn],
        axis_ticks([days], across, 6),
        number_ticks(up, 5),
        describes=f"Return so far in percent, after costs: {text.listing(list(styles))}.",
        height=260,
        marks=[charts.level(float(up.place(0.0)), "best", "")],
        readout=readouts.chart(axis, series),
    )


def backtest_rows(view: BacktestView) -> list[tuple[str, list[str]]]:
    """Set the table of portfolios."""
    return [(str(row["portfolio"]), _backtest_cells(row)) for row in view.rows]


def _backtest_cells(row: Mapping[str, object]) -> list[str]:
    def known(name: str) -> float | None:
        value = row.get(name)
        return float(value) if isinstance(value, int | float) else None

    ratio, error = known("sharpe"), known("sharpe_error")
    sharpe = text.MISSING if ratio is None else text.number(ratio, 2)
    return [
        *(_signed_percent(known(name)) for name in ("return_gross", "return_net")),
        sharpe if error is None or ratio is None else f"{sharpe} ± {text.number(error, 2)}",
        _plain_percent(known("turnover")),
        _plain_percent(known("max_drawdown")),
    ]


def _signed_percent(share: float | None) -> str:
    return text.MISSING if share is None else f"{text.signed(100 * share, 1)}\u202f%"


def _plain_percent(share: float | None) -> str:
    return text.MISSING if share is None else text.percent(100 * share)
