"""The next session of every stock, and scores on prices that came later."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.stocks import FIELDS, StockOptions, StockPanel, StockTexts, build_samples, read_stocks, tomorrow
from multiway.errors import ConfigError, DataError
from multiway.metrics.movements import MIDDLE
from multiway.tasks.answers import Answer, check_target, written
from multiway.tasks.devices import best_device
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run
from multiway.tasks.stocks.evaluation import Scored, predicted, rises_and_levels, score_rows, scored
from multiway.tasks.stocks.prepared import Prepared, check_tickers, prepare_later

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


def source_of(run: Run) -> str:
    """Path of the data that the run was trained on.

    Raises:
        ConfigError: It was fitted on tables in memory.
    """
    if run.config.data is None:
        raise ConfigError("this run was fitted on tables in memory, which are gone. Train on a file, or give --data.")
    return run.task.locate(run.config.data)


def read_for(run: Run, data: str | None, texts: str | None = None) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, read as the run's; of other data all days, whatever the run was limited to."""
    source = source_of(run) if data is None else run.task.locate(data)
    return read_stocks(source, reading_of(run, data is not None, texts))


def reading_of(run: Run, is_other: bool, texts: str | None = None) -> StockOptions:
    """How the run reads its data, or other data."""
    read: StockOptions = run.config.read
    if is_other:
        read = read.replace(start=None, end=None)
    return read if texts is None else read.replace(texts=str(texts))


def reload(run: Run) -> Prepared:
    """The samples that the run was trained, chosen and scored on.

    Raises:
        ConfigError: It was fitted on tables in memory.
        DataError: The data is no longer there, or no longer sound.
        RunError: What encoded the texts is no longer the same.
    """
    panel, texts = read_for(run, None)
    return prepare_later(run.config, run.state, panel, texts, build_samples(panel, texts, run.config.protocol))


def prepared_within(run: Run, panel: StockPanel, texts: StockTexts | None) -> Prepared:
    """Samples of any prices of the run's stocks, split where the run's own are."""
    check_tickers(run.state, panel)
    samples = build_samples(panel, texts, run.state.protocol(run.config.protocol))
    return prepare_later(run.config, run.state, panel, texts, samples)


def prediction_table(run: Run, panel: StockPanel, texts: StockTexts | None) -> pd.DataFrame:
    """One row per stock, in the order of the run's: what is expected of the next session.

    date, ticker, p_up, predicted (1 rise, 0 fall), last_close, last_day of the prices, days and texts of the window
    that were there to be read; with quantiles a column for each.
    """
    check_tickers(run.state, panel)
    samples = tomorrow(panel, texts, run.config.protocol)
    prepared = prepare_later(run.config, run.state, panel, texts, samples)
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
        "texts": np.diff(samples.groups.starts)[samples.text_rows[0]].sum(1),
    }
    return pd.concat([pd.DataFrame(columns), levels], axis=1)


def predict_split(run: Run, prepared: Prepared, split: str) -> Scored:
    """What every model says of the target movements of a split.

    Raises:
        DataError: There are no days of that split.
    """
    rows = prepared.samples.splits[split]
    if not prepared.target_mask[rows].any():
        raise DataError(f"{prepared.source}: {split} has no movement to score. Give prices that reach further.")
    outputs = {OURS: of_network(run, prepared, rows)}
    outputs |= {name: _says(model, prepared, rows) for name, model in run.models.items() if name != OURS}
    return scored(prepared.samples, rows, prepared.target_mask, outputs)


def evaluate_stocks(run: Run, panel: StockPanel, texts: StockTexts | None, split: str) -> list[Row]:
    """Scores on a split of other data of the same stocks, with the run's own borders: no training day is a test."""
    return score_rows(predict_split(run, prepared_within(run, panel, texts), split), split, run.config)


def of_network(run: Run, prepared: Prepared, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the network says of every stock, `(rows, stocks)`, or with quantiles a third axis.

    Raises:
        DataError: It gives no finite number.
    """
    with best_device(run.model):
        outputs = predicted(run.model, prepared.inputs(rows), run.config, prepared.scale)
    if not np.isfinite(outputs).all():
        raise DataError(f"{prepared.source}: the network gives no finite number. Look at the last prices.")
    return outputs


def _says(model: Any, prepared: Prepared, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    said: NDArray[np.float64] = model.says(prepared, rows)
    return said
