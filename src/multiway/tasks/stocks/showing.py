"""Which answers a report shows and tests, and how they and a backtest are put for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multiway.report import AnswerView, BacktestView, TextView
from multiway.tasks.stocks.backtest import WORDS, Backtest
from multiway.tasks.stocks.explanation import TickerExplanation, explain_day, interesting, named_sample
from multiway.tasks.stocks.explanation_inputs import ExplainedData

if TYPE_CHECKING:
    from multiway.tasks.stocks.run import StockRun

WRONG, RIGHT = 4, 2
TESTED = 24
"""Test answers behind the deletion test, evenly over those whose stock has texts to hide."""
STRONGEST = 5
LONGEST = 300
"""Characters of a text that are shown."""


def explained_answers(
    run: StockRun, data: ExplainedData
) -> tuple[list[tuple[str, TickerExplanation]], list[TickerExplanation]]:
    """Answers to show, with their headings, and answers for the deletion test."""
    shown = []
    for heading, day, name in interesting(run, WRONG, RIGHT):
        stock = run.tickers.index(name)
        found = explain_day(run, data, named_sample(data, day), [stock], deletion=False)
        shown.append((heading, found.tickers[0]))
    return shown, _tested(run, data)


def _tested(run: StockRun, data: ExplainedData) -> list[TickerExplanation]:
    samples = data.prepared.samples
    if data.encoded is None:
        return []
    rows = samples.splits["test"]
    sizes = samples.groups.sizes[samples.text_rows[rows]].sum(axis=2)
    day, stock = np.nonzero(data.prepared.asked[rows] & (sizes >= 2))
    places = np.unique(np.linspace(0, len(day) - 1, min(TESTED, len(day))).round().astype(int))
    found = []
    for place in places:
        found += explain_day(run, data, int(rows[day[place]]), [int(stock[place])]).tickers
    return found


def view_of_answer(heading: str, item: TickerExplanation) -> AnswerView:
    """One answer as the report shows it."""
    of_stocks = item.found.of_stocks
    order = [int(place) for place in np.argsort(-np.abs(of_stocks), kind="stable")[:STRONGEST] if of_stocks[place]]
    return AnswerView(
        ticker=item.ticker,
        date=str(item.date),
        group=heading,
        p_up=item.p_up,
        actual=None if item.label is None else ("fall", "rise")[item.label],
        movement=item.movement,
        prices=float(item.found.prices.sum()),
        texts=float(item.found.texts.sum()),
        strongest=[
            TextView(ticker=part.ticker, day=str(part.day), text=part.text[:LONGEST], share=part.share)
            for part in item.texts[:STRONGEST]
        ],
        moved_by=[(item.names[place], float(of_stocks[place])) for place in order],
        looks_at=item.looks,
    )


def view_of_backtest(found: Backtest) -> BacktestView:
    """A backtest as the report shows it."""
    return BacktestView(
        days=found.days,
        lines={"long-short": found.track.wealth - 1, "buy and hold": found.hold.wealth - 1},
        band=found.band(),
        rows=found.table(),
        sentence=found.sentence(),
        assumptions=found.assumptions(),
        words=WORDS,
    )
