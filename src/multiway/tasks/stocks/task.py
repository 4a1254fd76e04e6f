"""The task `stocks`, as the workflows see it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.config import merge
from multiway.data import CheckReport
from multiway.data.stocks import STOCK_DATASETS, StockOptions, StockProtocol, check_stocks
from multiway.tasks.protocol import Row
from multiway.tasks.stocks.auditing import audit as audit
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.fitting import OURS
from multiway.tasks.stocks.prediction import evaluate_data, predict_next
from multiway.tasks.stocks.prepared import locate
from multiway.tasks.stocks.run import NAME as NAME
from multiway.tasks.stocks.run import StockRun
from multiway.tasks.stocks.run import load as load
from multiway.tasks.stocks.run import resume as resume
from multiway.tasks.stocks.run import start as start
from multiway.tasks.stocks.tables import cell_row as cell_row
from multiway.tasks.stocks.tables import score_table as score_table
from multiway.tasks.tables import models_of, not_earned, score_of


def make_config(settings: dict[str, Any], overrides: dict[str, Any]) -> StockConfig:
    """Settings over what a known data set brings (StockNet its own protocol), overrides over both."""
    given = merge(settings, overrides)
    return StockConfig.parse(merge(_brought(given.get("data")), given), "settings")


def _brought(data: Any) -> dict[str, Any]:
    return {"protocol": {"name": "stocknet"}} if str(data) in STOCK_DATASETS else {}


def sentence(run: StockRun) -> str:
    """Test scores with intervals, the baselines beside them, and whether one of them is as good."""
    if run.config.target == "quantiles":
        return _sentence_of(run, "pinball", "mae", higher=False)
    return _sentence_of(run, "mcc", "acc", higher=True)


def _sentence_of(run: StockRun, metric: str, second: str, *, higher: bool) -> str:
    row, others = score_of(run, OURS, metric), models_of(run)[1:]
    interval = "" if row["low"] is None else f" (95 % interval {_shown(row['low'])} to {_shown(row['high'])})"
    pairs = [f"{name} {' / '.join(_shown(score_of(run, name, each)['value']) for each in (metric, second))}"
             for name in others]  # fmt: skip
    beside = f"; {', '.join(pairs)}" if pairs else ""
    values = {name: score_of(run, name, metric)["value"] for name in (OURS, *others)}
    signed = {name: value if higher or value is None else -value for name, value in values.items()}
    remark = not_earned(signed.pop(OURS), signed)
    figure = f"test {metric.upper()} {_shown(row['value'])}{interval}"
    return f"{figure}, {second.upper()} {_shown(score_of(run, OURS, second)['value'])}{beside}.{remark}"


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}" if abs(value) < 0.01 else f"{value:.3f}"


def evaluate(runs: Sequence[StockRun], data: str | None, split: str) -> list[Row]:
    """Stored scores of a split, or fresh ones of the same split on other data, with the days of the run's borders."""
    if data is None:
        return score_table(runs, split)
    return score_table([dataclasses.replace(run, scores=evaluate_data(run, data, split)) for run in runs], split)


def predict(run: StockRun, data: str | None, out: Path | None, options: dict[str, Any]) -> list[str]:
    """The next session of every stock; the rows themselves are returned where no path is given."""
    return predict_next(run, data, out, options)


def explain(run: StockRun, out: Path | None, options: dict[str, Any]) -> list[str]:
    """Write what moved the answers of some tickers and days; return what is strongest and where the files are."""
    from multiway.tasks.stocks.explanation_files import explain as write

    return write(run, out, options)


def report(runs: Sequence[StockRun]) -> str:
    """One self-contained page."""
    from multiway.tasks.stocks.sections import report as write

    return write(runs)


def compare(groups: Sequence[Sequence[StockRun]]) -> str:
    """One self-contained page that sets groups of runs side by side."""
    from multiway.tasks.stocks.sections import compare as write

    return write(groups)


def check(path: str | Path, options: dict[str, Any]) -> CheckReport:
    """What is in prices and texts, under the settings of a run that concern reading and the protocol."""
    given = merge(_brought(path), options)
    return check_stocks(
        locate(str(path)),
        StockOptions.parse(given.get("read", {}), "reading options"),
        StockProtocol.parse(given.get("protocol", {}), "protocol options"),
    )
