"""Which answers a report shows and tests, and how they and a backtest are put for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from multiway.explain import DeletionCurves
from multiway.report import AnswerView, BacktestView, TextView
from multiway.tasks.run import Run
from multiway.tasks.stocks.backtest import WORDS, Backtest
from multiway.tasks.stocks.explanation import TickerExplanation, explain_day, interesting, named_sample
from multiway.tasks.stocks.explanation_inputs import ExplainedData

WRONG, RIGHT = 4, 2
TESTED = 16
"""Test answers behind the deletion test, evenly over those whose stock has texts."""
STRONGEST = 5
LONGEST = 300
"""Characters of a text that are shown."""


def explained_answers(
    run: Run, data: ExplainedData
) -> tuple[list[tuple[str, TickerExplanation]], list[TickerExplanation]]:
    """Answers to show, with their headings, and answers for the deletion test."""
    chosen = [
        (heading, named_sample(data, day), run.state.tickers.index(name))
        for heading, day, name in interesting(run, WRONG, RIGHT)
    ]
    tested = _tested(data)
    data.load({sample for _, sample, _ in chosen} | {sample for sample, _ in tested})
    shown = [
        (heading, explain_day(run, data, sample, [stock], deletion=False).tickers[0])
        for heading, sample, stock in chosen
    ]
    return shown, [explain_day(run, data, sample, [stock]).tickers[0] for sample, stock in tested]


def _tested(data: ExplainedData) -> list[tuple[int, int]]:
    """Samples and stocks of the deletion test."""
    samples = data.prepared.samples
    if not data.has_texts:
        return []
    rows = samples.splits["test"]
    sizes = samples.groups.sizes[samples.text_rows[rows]].sum(axis=2)
    day, stock = np.nonzero(data.prepared.target_mask[rows] & (sizes >= 2))
    places = np.unique(np.linspace(0, len(day) - 1, min(TESTED, len(day))).round().astype(int))
    return [(int(rows[day[place]]), int(stock[place])) for place in places]


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


def deletion_note(curves: Sequence[DeletionCurves]) -> str:
    """Difference between hiding what is marked and hiding at random, with its standard error over answers."""
    if len(curves) < 2:
        return ""
    apart = np.array([item.area("gradients") - item.area() for item in curves])
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    return _true_minus(
        f"The mean difference from random is {apart.mean():+.4f}, its standard error over answers {error:.4f}; below 0 "
        "what is marked matters more than texts at random."
    )


def view_of_backtest(found: Backtest, remarks: Sequence[str] = ()) -> BacktestView:
    """A backtest as the report shows it, with more that it supposes."""
    return BacktestView(
        days=found.days,
        lines={"long-short": found.track.wealth - 1, "buy and hold": found.hold.wealth - 1},
        band=found.band(),
        rows=found.table(),
        sentence=_true_minus(found.sentence()),
        assumptions=[*found.assumptions(), *remarks],
        words=WORDS,
    )


def _true_minus(words: str) -> str:
    """Signs before numbers as the rest of the page has them; hyphens stay."""
    return re.sub(r"(?<!\w)-(?=\d)", "\u2212", words)
