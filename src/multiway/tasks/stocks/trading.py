"""A finished run's predictions as a backtest: every ticker of the test days, whatever its label was to be."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.stocks import StockPanel, StockProtocol, StockSamples, StockTexts
from multiway.data.stocks.prepared import PreparedStocks, match_stocks
from multiway.data.writing import check_target, write_table
from multiway.errors import ConfigError, DataError
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.backtest import COST_BPS, WORDS, Backtest, backtest, check_settings
from multiway.tasks.stocks.evaluation import predicted, prediction_frame, scored
from multiway.tasks.stocks.prepared import read_for


def backtest_run(run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
    """Trade the test days by a run; the returns day by day are written where a path is given.

    Args:
        run: A finished run.
        data: Later prices of the same tickers; the run's own data if not given.
        out: A .csv, .csv.gz, .parquet or .xlsx for the returns day by day.
        options: `top` and `cost_bps`, see `backtest`.

    Raises:
        ConfigError: The run's labels are no movements, or an option is out of range.
        DataError: The data is not sound, or holds no day to test.
    """
    check_target(out)
    settings = {"top": options.get("top"), "cost_bps": options.get("cost_bps", COST_BPS)}
    check_settings(**settings)
    traded = backtest(tradable_predictions(run, data), **settings)
    if out is not None:
        write_table(traded.frame(), out)
    notes = [traded.sentence(), *traded.assumptions(), *evening_texts(run), WORDS]
    return Answer(frame=pd.DataFrame(traded.table()), files=() if out is None else (out,), notes=notes)


def evening_texts(run: Run) -> list[str]:
    """What to know of a run whose protocol reads texts by their day alone, one sentence or none."""
    if run.state.encoder is None or run.config.protocol.name != "stocknet":
        return []
    read = "The protocol stocknet reads texts by their calendar day, so those of the evening before are read too"
    return [f"{read}, though the position is taken at that day's close."]


def backtest_reloaded(run: Run, prepared: PreparedStocks) -> Backtest | None:
    """The same of data that is read already; None where the run's labels are no movements."""
    if run.config.protocol.name == "published-code":
        return None
    if _every_day(run) == run.config.protocol.replace(borders=_every_day(run).borders):
        return backtest(_predictions(run, prepared))
    return backtest(_tradable(run, prepared.panel, prepared.texts))


def tradable_predictions(run: Run, data: str | None = None) -> pd.DataFrame:
    """Columns date, ticker, p_up and movement, of every ticker that could be traded on the test days.

    Movements too small to be labelled are among them: nobody knows at the close before which these will be.

    Raises:
        ConfigError: The run's labels are no movements.
        DataError: The data is not sound, or holds no day to test.
    """
    if run.config.protocol.name == "published-code":
        raise ConfigError(
            "backtest: the labels of the protocol published-code are no movements of prices, so there is nothing to "
            "trade. Got a run of published-code. Train with the protocol chronological or stocknet."
        )
    return _tradable(run, *read_for(run, data))


def _tradable(run: Run, panel: StockPanel, texts: StockTexts | None) -> pd.DataFrame:
    return _predictions(run, match_stocks(run.state, panel, texts, _every_day(run), run.config.text))


def _every_day(run: Run) -> StockProtocol:
    """The run's protocol and borders without its dead zone, so that no day is left out for how little it moved."""
    protocol: StockProtocol = run.state.protocol(run.config.protocol)
    return protocol.replace(down=0.0, up=0.0) if protocol.name == "chronological" else protocol


def _predictions(run: Run, prepared: PreparedStocks) -> pd.DataFrame:
    samples = prepared.samples
    rows = samples.splits["test"]
    chosen = tradable(samples, rows, complete=run.config.protocol.complete)
    if not chosen.any():
        raise DataError(f"{prepared.panel.source}: no ticker can be traded on the test days. Give later prices.")
    found = predicted(run.model, prepared.inputs(rows), run.config, run.state.scale)
    these = scored(samples, rows, chosen, {OURS: found})
    return prediction_frame(these, "test", run.config)[["date", "ticker", "p_up", "movement"]]


def tradable(samples: StockSamples, rows: NDArray[np.int64], *, complete: bool = False) -> NDArray[np.bool_]:
    """`(rows, stocks)`: the movement is known and the window showed a price before it, or all that `complete` needs."""
    shown = samples.is_complete(rows) if complete else samples.price_valid(rows).any(axis=2)
    return np.asarray(shown & np.isfinite(samples.returns[rows]))
