"""The data of a run once more, other data of its stocks, and the next session of every stock."""

from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from multiway.config import Plain
from multiway.data.writing import check_target
from multiway.errors import ConfigError, Fix
from multiway.metrics.classes import MIDDLE
from multiway.tasks.answers import Answer, written
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.encode import Market, PreparedStocks, match
from multiway.tasks.stocks.network import of_network
from multiway.tasks.stocks.panel import CLOSE
from multiway.tasks.stocks.scores import rises_and_levels
from multiway.tasks.stocks.source import read_stocks


def read(config: StockConfig, source: object, *, later: bool = False) -> Market:
    """Prices and texts of a path, or those given; of later data all days, whatever the run was limited to."""
    if isinstance(source, tuple):
        return cast(Market, source)
    return read_stocks(source, config.read.replace(start=None, end=None) if later else config.read)


def read_for(run: Run, data: str | None, texts: str | None = None) -> Market:
    """Prices and texts of a path, or of the run's own.

    Raises:
        ConfigError: No path is given, and the run was fitted on tables in memory.
    """
    source, config = data or run.config.data, run.config
    if source is None:
        raise ConfigError(
            "this run was fitted on tables in memory, which are gone. Train on a file, or give one (",
            Fix("data", like="FILE"),
            ").",
        )
    if texts is not None:
        config = config.replace(read=config.read.replace(texts=str(texts)).plain())
    return read(config, run.task.locate(source), later=data is not None)


def reload(run: Run) -> PreparedStocks:
    """The samples that the run was trained, chosen and scored on.

    Raises:
        ConfigError: It was fitted on tables in memory.
        DataError: The data is no longer there, or no longer sound.
        RunError: What encoded the texts is no longer the same.
    """
    return match(run.state, run.config, read_for(run, None), run.config.protocol)


def predict_next(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """One row per stock for the session after the last day of the data.

    Args:
        run: A finished run.
        data: Prices of the same stocks; the run's own data if not given.
        out: A .csv, .csv.gz, .parquet or .xlsx.
        options: `texts`, a file of texts in place of what the data or the run's settings name.

    Raises:
        ConfigError: The ending of `out` is unknown, or the run's protocol cannot look ahead.
        DataError: The data is not sound, or of other stocks.
    """
    check_target(out)
    return written(prediction_table(run, read_for(run, data, options.get("texts"))), out)


def prediction_table(run: Run, market: Market) -> pd.DataFrame:
    """One row per stock, in the order of the run's: what is expected of the next session.

    date, ticker, p_up, predicted (1 rise, 0 fall), last_close, last_day of the prices, days and texts of the window
    that were there to be read; with quantiles a column for each.
    """
    prepared = match(run.state, run.config, market, ahead=True)
    samples, panel, row = prepared.samples, prepared.panel, np.array([0])
    rises, levels = rises_and_levels(of_network(run, prepared, row)[0], run.config)
    last = [int(np.flatnonzero(traded)[-1]) for traded in panel.traded]
    columns = {
        "date": np.full(len(panel.tickers), samples.target_days[0]).astype("datetime64[ms]"),
        "ticker": list(panel.tickers),
        "p_up": rises,
        "predicted": (rises > MIDDLE).astype(np.int64),
        "last_close": panel.prices[np.arange(len(last)), last, CLOSE],
        "last_day": panel.days[last].astype("datetime64[ms]"),
        "days": samples.price_valid(row)[0].sum(1),
        "texts": samples.groups.sizes[samples.text_rows[0]].sum(1),
    }
    return pd.concat([pd.DataFrame(columns), levels], axis=1)
