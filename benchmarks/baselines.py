"""Published baselines as they score here: coin and ARIMA on StockNet, forecasters of the literature at look-back 96."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import torch

from multiway.data import datasets
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.config import Peer
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.workflows.recipe import load_recipe

PRICES = {"model": {"modality": "price", "dim": 32, "num_blocks": 1}, "dates": [], "training": {"epochs": 1}}
"""The least that is trained with the baselines of stocks; it is not reported."""
PRINTED = load_recipe("hot-stocks-complete").settings
STOCKS: dict[str, dict[str, Any]] = {
    "stocknet": {"protocol": {"name": "stocknet"}},
    "stocknet complete": {"protocol": {"name": "stocknet", "complete": True}},
    "section 6.1": {name: PRINTED[name] for name in ("read", "protocol")},
}
PUBLISHED = {"random": (0.509, -0.002), "arima": (0.514, -0.021)}
"""ACC and MCC in table 1 of the stock paper."""
FORECASTS = {
    ("ett_h1", "rlinear"): (0.386, 0.395),
    ("ett_h1", "dlinear"): (0.386, 0.400),
    ("ett_h1", "patchtst_paper"): (0.414, 0.419),
    ("ett_h1", "patchtst_small"): (0.414, 0.419),
    ("ett_h1", "itransformer"): (0.386, 0.405),
    ("ett_h1", "olinear"): (0.360, 0.382),
    ("weather", "rlinear"): (0.192, 0.232),
    ("weather", "dlinear"): (0.196, 0.255),
}
"""MSE and MAE at horizon 96 in the tables of the literature."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__)
    rows = [*STOCKS, *dict.fromkeys(data for data, _ in FORECASTS)]
    parser.add_argument("--rows", nargs="*", choices=rows, default=rows)
    parser.add_argument("--models", nargs="*", choices=get_args(Peer), default=["rlinear", "dlinear"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="append one JSON line per score")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    for name in chosen.rows:
        for row in stock_rows(name, chosen.seed) if name in STOCKS else forecast_rows(name, chosen.models, chosen.seed):
            line = json.dumps({**row, "seed": chosen.seed, "threads": chosen.threads})
            print(line, flush=True)
            if chosen.out:
                with chosen.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")


def stock_rows(protocol: str, seed: int) -> Iterator[dict[str, Any]]:
    """Test scores of coin and ARIMA, with intervals over blocks of five days."""
    settings = {**PRICES, **STOCKS[protocol], "training": {"epochs": 1, "seed": seed}}
    run = fitted("stocks", {**settings, "data": "stocknet", "baselines": ["random", "arima"]})
    for model, (acc, mcc) in PUBLISHED.items():
        facts = {"benchmark": "stocks", "data": "stocknet", "protocol": protocol, "model": model}
        orders = run.facts["learnt"][model].get("orders")
        yield {
            **facts, **scores(run, model, ("acc", "f1", "macro_f1", "mcc", "auc", "count")),
            "published_acc": acc, "published_mcc": mcc, "seconds": run.facts["seconds"][model],
            **({"orders": orders} if orders else {}),
        }  # fmt: skip


def forecast_rows(data: str, models: list[str], seed: int) -> Iterator[dict[str, Any]]:
    """Scaled test scores of forecasters that are trained with one budget on the same windows, and of ridge."""
    run = fitted("forecast", {"data": data, "network": False, "baselines": models, "training": {"seed": seed}})
    for model in (*models, "ridge"):
        facts = {"benchmark": "forecast", "data": data, "lookback": 96, "horizon": 96, "model": model}
        mse, mae = FORECASTS.get((data, model), (None, None))
        published = {} if mse is None else {"published_mse": mse, "published_mae": mae}
        best = run.facts["best"].get(model, {})
        costs = {"seconds": run.facts["seconds"][model], "parameters": run.facts["parameters"][model]} if best else {}
        epochs = {"epoch": best["epoch"], "epochs": len(run.facts["histories"][model])} if best else {}
        yield {**facts, **scores(run, model, ("mse", "mae"), scale="scaled"), **published, **costs, **epochs}


def fitted(task: str, settings: dict[str, Any]) -> Run:
    """A run in memory."""
    chosen = task_of(task)
    return lifecycle.fitted(chosen, chosen.configure(settings), datasets.locate(settings["data"]))


def scores(run: Run, model: str, metrics: tuple[str, ...], **where: str) -> dict[str, Any]:
    """Test scores by name, with both ends of their interval where there is one."""
    found = {}
    for row in run.scores:
        if (
            row["split"] == "test"
            and row["model"] == model
            and row["metric"] in metrics
            and where.items() <= row.items()
        ):
            found[row["metric"]] = _rounded(row["value"])
            if row["low"] is not None:
                found |= {f"{row['metric']}_{side}": _rounded(row[side]) for side in ("low", "high")}
    return found


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else round(value, 5)


if __name__ == "__main__":
    main()
