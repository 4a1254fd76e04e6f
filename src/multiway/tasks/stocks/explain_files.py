"""Explanations on disk: maps as arrays and pictures, contributions of texts and stocks as tables."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from multiway.config import Plain
from multiway.data.writing import write_table
from multiway.explain import ModeMap, deletion_line, draw_maps, last_block, save_maps, strongest
from multiway.files import make_folder
from multiway.tasks.answers import Answer
from multiway.tasks.run import Run
from multiway.tasks.stocks.answers import reload
from multiway.tasks.stocks.explain import (
    NOT_ATTRIBUTION,
    DayExplanation,
    TickerExplanation,
    average_attention,
    chosen_pairs,
    explain_pairs,
)

MAX_TEXTS = 200
"""Texts listed per ticker and day, the strongest first."""


def explain_stocks(run: Run, out: Path | None, options: Plain) -> Answer:
    """Explain a date and tickers, or the most confident test errors, beside the run or into a folder.

    `maps.npz` holds the attention per mode, averaged over the test days and of each day explained, and `*.png` shows
    it; `texts.csv` lists the texts with their contributions, `stocks.csv` those of every stock's days.

    Args:
        run: A finished run on a file.
        out: Folder; `explanation` in the run's own if not given.
        options: `date`, a day such as 2015-11-03, and `tickers`, names.

    Raises:
        ConfigError: There is no such ticker or day, or the run was fitted on tables in memory.
    """
    prepared = reload(run)
    days = explain_pairs(run, prepared, chosen_pairs(run, prepared, options.get("date"), options.get("tickers")))
    average = average_attention(run, prepared)
    folder = run.explanation(out)
    make_folder(folder)
    files, tables = (
        _write_maps(folder, average, days),
        {"texts.csv": texts_frame(days), "stocks.csv": stocks_frame(days)},
    )
    for name in (name for name, frame in tables.items() if len(frame)):
        write_table(tables[name], folder / name)
        files.append(folder / name)
    items = [item for day in days for item in day.tickers]
    notes = [
        *strongest(last_block(average)),
        *map(sentence, items),
        *deletion_line([item.deletion for item in items if item.deletion is not None], "answers", "texts"),
        *([NOT_ATTRIBUTION] if average else []),
    ]
    return Answer(files=files, notes=notes)


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
            "prices": float(item.contributions.prices[stock, slot]),
            "texts": float(item.contributions.texts[stock, slot]),
        }
        for day in days
        for item in day.tickers
        for stock, name in enumerate(item.names)
        for slot, slot_day in enumerate(day.slot_days)
        if item.contributions.prices[stock, slot] or item.contributions.texts[stock, slot]
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


def sentence(item: TickerExplanation) -> str:
    """One ticker and day: the answer, what was true, what moved it, and its strongest text."""
    actual = "" if item.movement is None else f", moved {item.movement:+.2%}"
    prices, texts = float(item.contributions.prices.sum()), float(item.contributions.texts.sum())
    parts = f"prices {prices:+.3f}" + (f", texts {texts:+.3f}" if item.texts else "")
    line = f"{item.ticker} on {item.date}: rise with {item.p_up:.0%}{actual}; gradient x input: {parts}"
    if not item.texts:
        return line
    first = item.texts[0]
    words = " ".join(first.text.split())[:80]
    return f"{line}; strongest text {first.share:+.4f} ({first.ticker}, {first.day}) {words}".rstrip()
