"""The next session of every stock, and scores on prices that came later."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.stocks import FIELDS, StockPanel, StockTexts
from multiway.data.stocks.prepared import PreparedStocks, match_stocks
from multiway.data.writing import check_target
from multiway.errors import DataError
from multiway.metrics.movements import MIDDLE
from multiway.tasks.answers import Answer, written
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run
from multiway.tasks.stocks.evaluation import Scored, predicted, rises_and_levels, score_rows, scored
from multiway.tasks.stocks.prepared import prepared_within, read_for
from multiway.training.devices import best_device

CLOSE = FIELDS.index("close")


def predict_next(run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
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
    return written(prediction_table(run, *read_for(run, data, options.get("texts"))), out)


def prediction_table(run: Run, panel: StockPanel, texts: StockTexts | None) -> pd.DataFrame:
    """One row per stock, in the order of the run's: what is expected of the next session.

    date, ticker, p_up, predicted (1 rise, 0 fall), last_close, last_day of the prices, days and texts of the window
    that were there to be read; with quantiles a column for each.
    """
    prepared = match_stocks(run.state, panel, texts, run.config.protocol, run.config.text, ahead=True)
    samples = prepared.samples
    rises, levels = rises_and_levels(of_network(run, prepared, np.array([0]))[0], run.config)
    last = [int(np.flatnonzero(row)[-1]) for row in panel.traded]
    columns = {
        "date": np.full(len(panel.tickers), samples.days[samples.targets[0]]).astype("datetime64[ms]"),
        "ticker": list(panel.tickers),
        "p_up": rises,
        "predicted": (rises > MIDDLE).astype(np.int64),
        "last_close": panel.prices[np.arange(len(last)), last, CLOSE],
        "last_day": panel.days[last].astype("datetime64[ms]"),
        "days": samples.price_valid(np.array([0]))[0].sum(1),
        "texts": samples.groups.sizes[samples.text_rows[0]].sum(1),
    }
    return pd.concat([pd.DataFrame(columns), levels], axis=1)


def predict_split(run: Run, prepared: PreparedStocks, split: str) -> Scored:
    """What every model says of the target movements of a split.

    Raises:
        DataError: There are no days of that split.
    """
    rows = prepared.samples.splits[split]
    if not prepared.target_mask[rows].any():
        raise DataError(f"{prepared.source}: {split} has no movement to score. Give prices that reach further.")
    baselines: dict[str, Any] = {name: model for name, model in run.models.items() if name != OURS}
    said = {name: model.says(prepared, rows) for name, model in baselines.items()}
    outputs = {OURS: of_network(run, prepared, rows), **said}
    return scored(prepared.samples, rows, prepared.target_mask[rows], outputs)


def evaluate_stocks(run: Run, panel: StockPanel, texts: StockTexts | None, split: str) -> list[Row]:
    """Scores on a split of other data of the same stocks, with the run's own borders: no training day is a test."""
    return score_rows(predict_split(run, prepared_within(run, panel, texts), split), split, run.config)


def of_network(run: Run, prepared: PreparedStocks, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the network says of every stock, `(rows, stocks)`, or with quantiles a third axis.

    Raises:
        DataError: It gives no finite number.
    """
    with best_device(run.model):
        outputs = predicted(run.model, prepared.inputs(rows), run.config, prepared.scale)
    if not np.isfinite(outputs).all():
        raise DataError(f"{prepared.source}: the network gives no finite number. Look at the last prices.")
    return outputs
