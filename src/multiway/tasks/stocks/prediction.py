"""The next session of every stock, and scores on prices that came later."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.stocks import (
    FIELDS,
    StockOptions,
    StockPanel,
    StockProtocol,
    StockTexts,
    build_samples,
    read_stocks,
    tomorrow,
)
from multiway.errors import DataError
from multiway.metrics.movements import MIDDLE
from multiway.tasks.answers import check_target
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.beside import fit_baselines
from multiway.tasks.stocks.evaluation import (
    best_device,
    predicted,
    rises_and_levels,
    score_rows,
    scored,
)
from multiway.tasks.stocks.prepared import Prepared, check_tickers, locate, prepared_for, reload, source_of

CLOSE = FIELDS.index("close")


def predict_next(run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write one row per stock for the session after the last day of the data; return what the user reads.

    Args:
        run: A finished run.
        data: Prices of the same stocks; the run's own data if not given.
        out: A .csv, .csv.gz or .parquet; the rows themselves are returned if not given.
        options: `texts`, a file of texts in place of what the data or the run's settings name.

    Raises:
        ConfigError: The ending of `out` is unknown, or the run's protocol cannot look ahead.
        DataError: The data is not sound, or of other stocks.
    """
    if out is not None:
        check_target(out)
    frame = prediction_table(run, *read_for(run, data, options.get("texts")))
    if out is None:
        return [frame.to_csv(index=False).rstrip()]
    write_frame(frame, out)
    return [f"{len(frame)} rows written to {out}"]


def read_for(run: Run, data: str | None, texts: str | None = None) -> tuple[StockPanel, StockTexts | None]:
    """Prices and texts of a path, read as the run's; of other data all days, whatever the run was limited to."""
    return read_stocks(source_of(run) if data is None else locate(data), reading_of(run, data is not None, texts))


def reading_of(run: Run, is_other: bool, texts: str | None = None) -> StockOptions:
    """How the run reads its data, or other data."""
    read = run.config.read
    if is_other:
        read = read.replace(start=None, end=None)
    return read if texts is None else read.replace(texts=str(texts))


def prediction_table(run: Run, panel: StockPanel, texts: StockTexts | None) -> pd.DataFrame:
    """One row per stock, in the order of the run's: what is expected of the next session.

    date, ticker, p_up, predicted (1 rise, 0 fall), last_close, last_day of the prices, days and texts of the window
    that were there to be read; with quantiles a column for each.
    """
    check_tickers(run, panel)
    samples = tomorrow(panel, texts, run.config.protocol)
    prepared = prepared_for(run, panel, texts, samples)
    found = _network(run, prepared, np.array([0]))[0]
    rises, levels = rises_and_levels(found, run.config)
    last = [int(np.flatnonzero(row)[-1]) for row in panel.traded]
    shown = samples.text_rows[0]
    counts = np.diff(samples.groups.starts)[shown].sum(1)
    columns = {
        "date": np.full(len(panel.tickers), samples.days[samples.targets[0]]).astype("datetime64[ms]"),
        "ticker": list(panel.tickers),
        "p_up": rises,
        "predicted": (rises > MIDDLE).astype(np.int64),
        "last_close": panel.prices[np.arange(len(last)), last, CLOSE],
        "last_day": panel.days[last].astype("datetime64[ms]"),
        "days": samples.price_valid(np.array([0]))[0].sum(1),
        "texts": counts,
    }
    return pd.concat([pd.DataFrame(columns), levels], axis=1)


def evaluate_data(run: Run, data: str, split: str) -> list[dict[str, Any]]:
    """Scores of the network and its baselines on a split of other data of the same stocks.

    The days are those of the run's own borders, so that nothing of its training is scored as a test; the baselines
    are fitted again on the training days of the run's own data.
    """
    panel, texts = read_for(run, data)
    return evaluate_stocks(run, panel, texts, split)


def evaluate_stocks(run: Run, panel: StockPanel, texts: StockTexts | None, split: str) -> list[dict[str, Any]]:
    """The same, of prices and texts that are read.

    Raises:
        DataError: There are no days of that split.
    """
    prepared = prepared_within(run, panel, texts)
    rows = prepared.samples.splits[split]
    if not prepared.target_mask[rows].any():
        raise DataError(f"{panel.source}: {split} has no movement to score. Give prices that reach further.")
    found = {OURS: _network(run, prepared, rows)}
    if run.config.data is not None:
        others, _ = fit_baselines(reload(run), run.config)
        found |= {name: other(prepared, rows) for name, other in others.items()}
    return score_rows(scored(prepared.samples, rows, prepared.target_mask, found), split, run.config)


def prepared_within(run: Run, panel: StockPanel, texts: StockTexts | None) -> Prepared:
    """Samples of any prices of the run's stocks, split where the run's own are."""
    check_tickers(run, panel)
    return prepared_for(run, panel, texts, build_samples(panel, texts, same_borders(run)))


def same_borders(run: Run) -> StockProtocol:
    """The run's protocol, with its borders between splits as days in place of shares."""
    protocol = run.config.protocol
    if protocol.name != "chronological":
        return protocol
    splits = run.facts["splits"]
    return protocol.replace(borders=(splits["validation"]["first"], splits["test"]["first"]))


def _network(run: Run, prepared: Prepared, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    run.model.to(best_device())
    try:
        found = predicted(run.model, prepared.inputs(rows), run.config, run.state.scale)
    finally:
        run.model.to("cpu")
    if not np.isfinite(found).all():
        raise DataError(f"{prepared.panel.source}: the network gives no finite number. Look at the last prices.")
    return found
