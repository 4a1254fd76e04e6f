"""Single answers, movements by ticker and month, and the backtest as sections of a report."""

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.scaling import evenly
from multiway.explain import DeletionCurves, average_curves
from multiway.report import charts, text
from multiway.report.curves import deletion_sections
from multiway.report.scales import axis_numbers, axis_ticks, scale_of
from multiway.report.sections import CaseAnswer, Chart, PagePart, Section, Table, TableCell, Text
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway_papers.stocks.backtest import WORDS, Backtest
from multiway_papers.stocks.encode import PreparedStocks
from multiway_papers.stocks.explain import TickerExplanation, explain_day, interesting

WRONG, RIGHT = 4, 2
TESTED = 16
"""Test answers behind the deletion test, evenly over those whose stock has texts."""
STRONGEST = 5
LONGEST = 300
"""Characters of a text that are shown."""
LINES = {"long-short": "s0", "buy and hold": "s2"}
CHANCE = "random rankings, 5 to 95 %"
RETURN = "Return so far in percent, after costs"
COUNTS = ["right", "rises", "all"]
MAX_MONTHS = 12
PALE = 10
"""Movements at which a cell has half its colour."""
FEWEST = 5
"""Movements of a ticker whose share says something."""


def next_session(rows: pd.DataFrame) -> Table:
    """What is expected of the session after the last day of the data, the most confident first."""
    order = (rows["p_up"] - 0.5).abs().sort_values(ascending=False, kind="stable").index
    quantiles = [name for name in rows.columns if name.startswith("q")]
    cells = [
        [
            str(row["ticker"]),
            "rise" if row["p_up"] > 0.5 else "fall",
            text.percent(100 * row["p_up"]),
            *(signed_percent(row[name]) for name in quantiles),
            text.number(float(row["last_close"]), 2),
        ]
        for _, row in rows.loc[order].iterrows()
    ]
    columns = ["Ticker", "Direction", "Probability of a rise", *quantiles, "Last close"]
    title = f"The next session, {str(rows['date'].iloc[0])[:10]}"
    return Table(title=title, columns=columns, rows=cells, style="numbers tall")


def interesting_answers(run: Run, prepared: PreparedStocks) -> Iterator[tuple[str, CaseAnswer]]:
    """The most confident errors and right answers of the test days, each with its heading."""
    for heading, sample, stock in interesting(run, prepared, WRONG, RIGHT):
        day = explain_day(run, prepared.encoded.inputs, sample, [stock], deletion=False)
        yield heading, answer(day.tickers[0])


def answer(item: TickerExplanation) -> CaseAnswer:
    """One answer, and what moved it."""
    predicted = "rise" if item.p_up > 0.5 else "fall"
    actual = None if item.label is None else ("fall", "rise")[item.label]
    moved = "" if item.movement is None else f" ({signed_percent(item.movement)})"
    share = text.percent(100 * max(item.p_up, 1 - item.p_up), 0)
    return CaseAnswer(
        name=f"{item.ticker}, {item.date}",
        sentence=f"predicted a {predicted} with {share}" + ("" if actual is None else f"; it was a {actual}{moved}"),
        is_wrong=actual is not None and actual != predicted,
        content=[Text(words=_parts(item)), *_texts(item)],
    )


def _pushes(change: float) -> str:
    """What a sum of contributions does; its size is of another unit than the probability."""
    return f"push the answer towards a {'rise' if change > 0 else 'fall'}" if change else "leave the answer as it is"


def _parts(item: TickerExplanation) -> str:
    """What moved the answer: prices, texts, stocks, and where its attention falls."""
    prices, texts = float(item.contributions.prices.sum()), float(item.contributions.texts.sum())
    of_texts = f"; the texts {_pushes(texts)}" if item.texts else ""
    parts = [f"The prices of the days before {_pushes(prices)}{of_texts}."]
    stocks = item.contributions.of_stocks
    order = [int(row) for row in np.argsort(-np.abs(stocks), kind="stable")[:STRONGEST] if stocks[row]]
    if len(order) > 1:
        names = [f"{text.name(item.names[row])} {text.with_sign(float(stocks[row]), 3)}" for row in order]
        parts.append(f"Days of {text.listing(names)} moved it most.")
    if item.looks:
        names = [f"{text.name(name)} {text.percent(100 * share)}" for name, share in item.looks]
        parts.append(f"Of other stocks it looks most at {text.listing(names)}.")
    return " ".join(parts)


def _texts(item: TickerExplanation) -> list[Table]:
    """Texts that moved it most, with bars in percent of the strongest."""
    shown = item.texts[:STRONGEST]
    most = max((abs(part.share) for part in shown), default=0.0) or 1.0
    bars = [TableCell(width=round(100 * abs(part.share) / most, 1), style=f"f{int(part.share <= 0)}") for part in shown]
    rows: list[list[TableCell | str]] = [
        [text.with_sign(part.share, 4), bar, part.ticker, str(part.day), part.text[:LONGEST]]
        for part, bar in zip(shown, bars, strict=True)
    ]
    return [Table(columns=["Moved it by", "", "About", "Day", "Text"], rows=rows, style="texts")] if rows else []


def deletion_parts(run: Run, prepared: PreparedStocks) -> list[Section]:
    """How fast the probability falls where texts are hidden, and how that differs from hiding them at random."""
    test, tested = prepared.part("test").inputs, []
    if test.tables.vectors is not None:
        sizes = test.windows.groups.sizes[test.windows.text_rows].sum(axis=2)
        day, stock = np.nonzero(test.target_mask & (sizes >= 2))
        places = ((int(day[place]), int(stock[place])) for place in evenly(len(day), TESTED))
        tested = [explain_day(run, test, sample, [of]).tickers[0] for sample, of in places]
    curves = [item.deletion for item in tested if item.deletion is not None]
    if not curves:
        return []
    answers = f"{len(curves)} test answer{'s' if len(curves) > 1 else ''}"
    words = (
        "Texts of a sample, whatever stock they are about, are hidden, those that spoke most for the predicted "
        f"direction first, in the mean over {answers}. If gradient × input marks what matters, the probability falls "
        "faster than with texts at random."
    )
    test = deletion_sections(average_curves(curves), "the predicted direction", hidden="texts", from_zero=False)
    return [Text(words="Deletion test", style="heading"), Text(words=words), *test, *_difference(curves)]


def _difference(curves: Sequence[DeletionCurves]) -> list[Section]:
    """Difference between hiding what is marked and hiding at random, with its standard error over answers."""
    if len(curves) < 2:
        return []
    apart = np.array([item.area("gradients") - item.area() for item in curves])
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    words = (
        f"The mean difference from random is {text.with_sign(apart.mean(), 4)}, its standard error over answers "
        f"{error:.4f}; below 0 what is marked matters more than texts at random."
    )
    return [Text(words=words)]


def backtest_part(traded: Backtest, remarks: Sequence[str] = ()) -> PagePart:
    """Return so far, the table of portfolios, and what the figures suppose."""
    heads = ["Portfolio", "Before costs", "After costs", "Sharpe ratio a year", "Traded a day", "Largest fall"]
    side = [
        "What trading by the predictions would have returned on the test days.",
        "It is set against holding every ticker and against random rankings that trade as often.",
        WORDS,
    ]
    rows = []
    for row in traded.table():
        error = "" if row["sharpe_error"] is None else f" ± {text.number(row['sharpe_error'], 2)}"
        returns = (signed_percent(row[name]) for name in ("return_gross", "return_net"))
        shares = (text.percent(100 * row[name]) for name in ("turnover", "max_drawdown"))
        rows.append([row["portfolio"], *returns, text.number(row["sharpe"], 2) + error, *shares])
    content: list[Section] = [
        Text(words=re.sub(r"(?<!\w)-(?=\d)", "\u2212", traded.sentence()), style="support"),  # hyphens stay
        Chart(drawing=_backtest_drawing(traded), title=RETURN, legend=[*LINES.items(), (CHANCE, "b0")]),
        Table(columns=heads, rows=rows),
        *(Text(words=line) for line in (traded.ranking(), *traded.assumptions(), *remarks)),
    ]
    return PagePart(id="backtest", title="Backtest", side=side, content=content)


def _backtest_drawing(traded: Backtest) -> charts.Drawing:
    """Return so far of every portfolio, over the band of random rankings."""
    days = pd.DatetimeIndex(traded.days)
    (seconds,) = axis_numbers([days])
    across = scale_of([seconds], margin=0.01)
    wealth = {"long-short": traded.track.wealth, "buy and hold": traded.hold.wealth}
    lines = {name: (LINES[name], 100 * (values - 1)) for name, values in wealth.items()}
    low, high = (100 * edge for edge in traded.band())
    up = scale_of([*(values for _, values in lines.values()), low, high, [0.0]])
    return charts.line_drawing(
        lines,
        across.place(seconds),
        [str(day.date()) for day in days],
        up,
        axis_ticks([days], across, 6),
        describes=RETURN,
        bands=[charts.ChartSeries(CHANCE, "b0", low, high)],
        height=260,
        marks=[charts.level(float(up.place(0.0)), "best")],
    )


def signed_percent(share: float) -> str:
    """A share with its sign, in percent."""
    return f"{text.with_sign(100 * share, 1)}\u202f%"


def grid_part(test: pd.DataFrame, model: str = NETWORK) -> PagePart:
    """Tables of the test predictions of a model: date, ticker, label and predicted."""
    months, right = pd.DatetimeIndex(test["date"]).strftime("%Y-%m"), test["predicted"] == test["label"]
    columns = {"ticker": test["ticker"].astype(str), "month": months, "right": right, "rises": test["label"] == 1}
    rows = pd.DataFrame({**columns, "all": 1})
    keys = ("month", "ticker", ["ticker", "month"])
    by_month, by_ticker, by_both = (rows.groupby(key)[COUNTS].sum() for key in keys)
    cells = [_row(month, *counts) for month, *counts in by_month.itertuples()]
    table = Table(columns=["Month", "Accuracy", "Movements", "Rises"], rows=cells, style="numbers confusion")
    side = [
        f"Share of the test movements whose direction {model} classified correctly.",
        "Blue is above one half, orange below; the fewer movements, the paler.",
    ]
    more = _by_ticker(by_ticker, by_both, list(by_month.index)) if len(by_ticker) > 1 else []
    return PagePart(id="grid", title="Tickers and months", side=side, content=[table, *more])


def _by_ticker(sums: pd.DataFrame, by_both: pd.DataFrame, months: list[str]) -> list[Section]:
    """A row per ticker: all months, then the last twelve."""
    shown = months[-MAX_MONTHS:]
    cells = {cell: _cell(right, count) for cell, right, _, count in by_both.itertuples()}
    rows = [
        _row(name, right, rises, count, [cells.get((name, month), TableCell()) for month in shown])
        for name, right, rises, count in sums.itertuples()
    ]
    columns = ["Ticker", "All", *shown, "Movements", "Rises"]
    cut = f"The last {MAX_MONTHS} of {len(months)} months are shown." if len(months) > MAX_MONTHS else ""
    remarks = [words for words in (_chance(sums["all"].to_numpy(), sums["right"].to_numpy()), cut) if words]
    table = Table(title="By ticker", columns=columns, rows=rows, style="numbers confusion tall")
    return [table, *(Text(words=words) for words in remarks)]


def _row(name: str, right: int, rises: int, count: int, cells: Sequence[TableCell] = ()) -> list[TableCell | str]:
    return [name, _cell(right, count), *cells, text.count(count), _share(rises, count)]


def _cell(right: int, count: int) -> TableCell:
    """The share, shaded by how far it is from one half and how many movements it is of."""
    share = right / count
    shade = min(1.0, 2 * abs(share - 0.5)) * count / (count + PALE)
    style = "right" if share >= 0.5 else "wrong"
    return TableCell(_share(right, count), style=style, shade=round(shade, 3), title=f"{text.count(count)} movements")


def _share(part: int, count: int) -> str:
    return text.percent(100 * part / count, 0)


def _chance(counts: NDArray[np.int64], right: NDArray[np.int64]) -> str:
    """Spread between tickers against that of tickers that are all alike, each share of so many movements."""
    known = counts >= FEWEST
    if known.sum() < 3:
        return ""
    share = right[known] / counts[known]
    mean = right[known].sum() / counts[known].sum()
    alike = math.sqrt(float((mean * (1 - mean) / counts[known]).mean()))
    spread = float(np.sqrt(((share - mean) ** 2).mean()))
    return (
        f"Between the {int(known.sum())} tickers with at least {FEWEST} movements the share has a standard deviation "
        f"of {text.number(100 * spread, 1)} points; if all were alike, chance would give {text.number(100 * alike, 1)}."
    )
