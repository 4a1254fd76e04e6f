"""The data of a run once more, the next session of every stock, and explanations on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from multiway.config import Plain
from multiway.data.findings import list_some
from multiway.data.samples import Prepared, Samples
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, Fix
from multiway.explain import ModeMap, deletion_line, draw_maps, last_block, save_maps, strongest
from multiway.files import atomic_folder
from multiway.metrics.classes import MIDDLE
from multiway.tasks.answers import Answer, write_answer
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway_papers.stocks.encode import PreparedStocks, StockInputs
from multiway_papers.stocks.explain import (
    NOT_ATTRIBUTION,
    DayExplanation,
    TickerExplanation,
    average_attention,
    chosen_pairs,
    explain_pairs,
)
from multiway_papers.stocks.network import answer_chances, rises_and_levels
from multiway_papers.stocks.options import has_calendar
from multiway_papers.stocks.panel import CLOSE, STALE, StockPanel
from multiway_papers.stocks.samples import StockWindows
from multiway_papers.stocks.source import Market, read_stocks

GRADIENTS, HIDDEN = "gradient x input", "falls without them"
"""How much prices and texts moved an answer: of the network, and of any other model."""
MAX_TEXTS = 200
"""Texts listed per ticker and day, the strongest first."""


def reload(run: Run) -> PreparedStocks:
    """The samples that the run was trained, chosen and scored on, and no later ones."""
    return cast(PreparedStocks, reread(run))


def market_for(run: Run, data: str | None, texts: str | None = None) -> Market:
    """Prices and texts of a path, all days of them; or of the run's own, those that it was limited to."""
    source, read = data or run.config.data, run.config.read
    if source is None:
        rule = "this run was fitted on tables in memory, which are gone. Train on a file, or give one ("
        raise ConfigError(rule, Fix("data", like="FILE"), ").")
    return read_stocks(
        run.task.locate(source), read if data is None else read.replace(start=None, end=None), texts=texts
    )


def predict_next(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """One row per stock for the session after the last day of the data; those of the run if none are given.

    options: `texts`, a file of texts in place of what the data or the run's settings name; `far`, whether prices that
    lie far outside the training are answered too.
    """
    check_target(out)
    market = market_for(run, data, options.get("texts"))
    frame, far = next_sessions(run, market, far=bool(options.get("far")))
    return write_answer(frame, out, (*far, *remarks_on(market[0])))


def remarks_on(panel: StockPanel) -> list[str]:
    """Tickers that have ended, and whether the next session may be a holiday."""
    ended = [ticker for ticker, listed in zip(panel.tickers, panel.is_listed, strict=True) if not listed]
    lines = [f"no forecast for {list_some(ended)}: no price in the last {STALE} trading days"] if ended else []
    if not (panel.trades_daily or has_calendar(panel.exchange)):
        rest = "install exchange-calendars to know holidays" if panel.exchange else "name its calendar in read.exchange"
        lines.append(f"{panel.next_session} is the next weekday, which may be a holiday of the exchange; {rest}")
    return lines


def next_sessions(run: Run, source: object, *, far: bool) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """See `prediction_table`; and which prices lie far outside the training."""
    samples = _next(run, source)
    far_notes = run.check_far(samples, samples.source, far=far)
    return prediction_table(run, samples), far_notes


def _next(run: Run, source: object) -> Samples[StockInputs]:
    """The session after the last day of some prices."""
    later: Prepared[StockWindows, Any] = run.task.prepare(run.config, source, run.state, labelled=False)
    encoded: Samples[StockInputs] = later.encoded
    return encoded


def prediction_table(run: Run, source: object) -> pd.DataFrame:
    """One row per stock that still trades, in the order of the run's: what is expected of the next session.

    date, ticker, p_up, predicted (1 rise, 0 fall), last_close, last_day of the prices, days and texts of the window
    that were there to be read; with quantiles a column for each.
    """
    inputs = (source if isinstance(source, Samples) else _next(run, source)).inputs
    windows, panel = inputs.windows, inputs.windows.panel
    rises, levels = rises_and_levels(answer_chances(run, inputs)[0], run.config)
    last = [int(np.flatnonzero(traded)[-1]) for traded in panel.traded]
    columns = {
        "date": np.full(len(panel.tickers), windows.target_days[0]).astype("datetime64[ms]"),
        "ticker": list(panel.tickers),
        "p_up": rises,
        "predicted": (rises > MIDDLE).astype(np.int64),
        "last_close": panel.prices[np.arange(len(last)), last, CLOSE],
        "last_day": panel.days[last].astype("datetime64[ms]"),
        "days": windows.price_valid[0].sum(1),
        "texts": windows.groups.sizes[windows.text_rows[0]].sum(1),
    }
    return pd.concat([pd.DataFrame(columns), levels], axis=1)[panel.is_listed].reset_index(drop=True)


def explain_stocks(run: Run, out: Path | None, options: Plain) -> Answer:
    """Explain a date and tickers (`options`), or the most confident test errors, into a folder or next to the run.

    `maps.npz` holds the attention per mode, averaged over the test days and of each day explained, and `*.png` shows
    it; `texts.csv` lists the texts with their contributions, `stocks.csv` those of every stock's days.
    """
    prepared = reload(run)
    days = explain_pairs(
        run, prepared.encoded.inputs, chosen_pairs(run, prepared, options.get("date"), options.get("tickers"))
    )
    average = average_attention(run, prepared)
    tables = {"texts.csv": texts_frame(days), "stocks.csv": stocks_frame(days)}
    with atomic_folder(run.explanation(out), replace=True) as made:
        files = _write_maps(made, average, days)
        for name in (name for name, frame in tables.items() if len(frame)):
            write_table(tables[name], made / name)
            files.append(made / name)
    items = [item for day in days for item in day.tickers]
    notes = [
        *(strongest(last_block(average)) if average else []),
        *(sentence(item, GRADIENTS if run.answer.name == NETWORK else HIDDEN) for item in items),
        *deletion_line([item.deletion for item in items if item.deletion is not None], "answers", "texts"),
        *([NOT_ATTRIBUTION] if average else []),
    ]
    return Answer(files=files, notes=notes).within(run.explanation(out))


def texts_frame(days: Sequence[DayExplanation]) -> pd.DataFrame:
    """One row per text and ticker explained, the strongest 200 of each."""
    return pd.DataFrame(
        {
            "date": str(item.date),
            "ticker": item.ticker,
            "p_up": item.p_up,
            "text_ticker": part.ticker,
            "text_day": str(part.day),
            "read_on": str(part.slot_day),
            "contribution": part.share,
            "text": part.text,
        }
        for day in days
        for item in day.tickers
        for part in item.texts[:MAX_TEXTS]
    )


def stocks_frame(days: Sequence[DayExplanation]) -> pd.DataFrame:
    """One row per ticker explained, stock and day, with what its prices and its texts contributed."""
    return pd.DataFrame(
        {
            "date": str(item.date),
            "ticker": item.ticker,
            "of_ticker": name,
            "day": str(slot_day),
            "prices": float(moved.prices[stock, slot]),
            "texts": float(moved.texts[stock, slot]),
        }
        for day in days
        for item in day.tickers
        for moved in [item.contributions]
        for stock, name in enumerate(item.names)
        for slot, slot_day in enumerate(day.slot_days)
        if moved.prices[stock, slot] or moved.texts[stock, slot]
    )


def _write_maps(folder: Path, average: Sequence[ModeMap], days: Sequence[DayExplanation]) -> list[Path]:
    """Write the arrays of all maps, and pictures: of the average every block, of a day the last one."""
    maps = [*average, *(item for day in days for item in day.maps)]
    if not maps:
        return []
    paths = [folder / "maps.npz"]
    save_maps(paths[0], maps)
    paths += draw_maps(folder, average, "average-")
    return paths + [path for day in days for path in draw_maps(folder, last_block(day.maps), f"{day.date}-")]


def sentence(item: TickerExplanation, how: str = GRADIENTS) -> str:
    """One ticker and day: the answer, what was true, what moved it, and its strongest text."""
    actual = "" if item.movement is None else f", moved {item.movement:+.2%}"
    prices, texts = float(item.contributions.prices.sum()), float(item.contributions.texts.sum())
    parts = f"prices {prices:+.3f}" + (f", texts {texts:+.3f}" if item.texts else "")
    line = f"{item.ticker} on {item.date}: rise with {item.p_up:.0%}{actual}; {how}: {parts}"
    if not item.texts:
        return line
    first = item.texts[0]
    words = " ".join(first.text.split())[:80]
    return f"{line}; strongest text {first.share:+.4f} ({first.ticker}, {first.day}) {words}".rstrip()
