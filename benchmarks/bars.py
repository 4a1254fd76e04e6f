"""Two runs that bars name: a panel of 300 series x 800 rows, and a market whose news tell the next day."""

import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forked import forked
from multiway.tasks import lifecycle
from multiway.tasks.run import load
from multiway.tasks.scores import score_of
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.task import TASK as STOCKS
from papers.stocks.planted_market import planted_market

SERIES, STEPS, HORIZON = 300, 800, 14


def panel(series: int = SERIES, steps: int = STEPS) -> dict[str, Any]:
    """CPU seconds and bytes of the whole `train forecast`, and the answer's test MSE over ridge's, scaled."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / "panel.csv", Path(folder) / "run"
        made_panel(series, steps).to_csv(data)
        before = _cpu_of_children()
        done = forked(["train", "forecast", "--data", data, "--horizon", HORIZON, "--out", run])
        if done.code:
            raise SystemExit(done.err)
        scores = {row["model"]: row["value"] for row in load(run).scores if is_decisive(row)}
        return {
            "bar": "panel",
            "series": series,
            "steps": steps,
            "cpu_seconds": round(_cpu_of_children() - before, 1),
            "bytes": done.bytes,
            "mse_over_ridge": round(scores["multiway"] / scores["ridge"], 4),
            "answer": load(run).line,
        }


def is_decisive(row: dict[str, Any]) -> bool:
    """Whether a row is the scaled squared error of test rows."""
    return (row["split"], row["metric"], row["scale"]) == ("test", "mse", "scaled")


def made_panel(series: int, steps: int, seed: int = 0) -> pd.DataFrame:
    """Daily sales of shops: a level that drifts, a week, and noise that one day hands on to the next."""
    draw = np.random.default_rng(seed)
    level = np.exp(draw.normal(3, 0.7, series))
    drift = np.cumsum(draw.normal(0, 0.01, (steps, series)), axis=0)
    week = draw.normal(0, 0.25, (7, series))[np.arange(steps) % 7]
    noise = draw.normal(0, 0.15, (steps, series))
    for step in range(1, steps):
        noise[step] += 0.5 * noise[step - 1]
    values = np.round(level * np.exp(drift + week + noise), 2)
    days = pd.date_range("2022-01-03", periods=steps, name="date")
    return pd.DataFrame(values, index=days, columns=[f"shop {place:03d}" for place in range(series)])


def market(**changes: Any) -> dict[str, Any]:
    """Test accuracy on the stock-days with texts, of the answer, the network and the bags of words."""
    prices, texts = planted_market(**changes)
    config = StockConfig.parse({"text": {"encoder": "hashed"}, "draws": 0, "baselines": ["majority", "tfidf"]})
    run = lifecycle.fit_in_memory(STOCKS, config, read_stocks(prices, config.read, texts=texts))
    found = {model: score_of(run, model, "acc_texts")["value"] for model in (*run.models, run.answer.name)}
    return {"bar": "market", "answer": run.answer.name, "acc_texts": found}


def _cpu_of_children() -> float:
    """Seconds of processors that ended children took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
