"""Scores of forecasting runs as tables: one row per model, and the row of a published cell."""

import statistics
from collections.abc import Sequence
from typing import Any

from multiway.tasks.forecasting.run import ForecastRun
from multiway.tasks.protocol import Cell, Row
from multiway.tasks.tables import cell_head, cell_tail

SHOWN = ("mse", "mae", "smape", "mase")


def score_table(runs: Sequence[ForecastRun], split: str) -> list[Row]:
    """One row per model: mean scaled scores, then the original scale's MSE and MAE."""
    scores = [row for row in _mean_scores(runs) if row["split"] == split]
    cell = {(row["model"], row["scale"], row["metric"]): row["value"] for row in scores}
    return [
        {
            "model": model,
            **{metric: cell[model, "scaled", metric] for metric in SHOWN},
            **{f"{metric} (original)": cell[model, "original", metric] for metric in ("mse", "mae")},
        }
        for model in dict.fromkeys(row["model"] for row in scores)
    ]


def _mean_scores(runs: Sequence[ForecastRun]) -> list[dict[str, Any]]:
    """Mean over runs of every score."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        for row in run.scores:
            key = (row["model"], row["split"], row["scale"], row["metric"])
            groups.setdefault(key, []).append(row["value"])
    return [
        {"model": model, "split": split, "scale": scale, "metric": metric, "value": statistics.fmean(values)}
        for (model, split, scale, metric), values in groups.items()
    ]


def cell_row(name: str, cell: Cell, runs: Sequence[ForecastRun], seeds: int) -> Row:
    """One row of results: published, measured with its spread, ridge beside it, and how it was measured."""
    chosen = [scores_of(run, "multiway") for run in runs]
    ridge, naive = ([scores_of(run, model) for run in runs] for model in ("ridge", "naive"))
    network = [scores_of(run, "network") for run in runs if run.model.network is not None]
    return {
        **cell_head(name, cell, seeds),
        "mse": statistics.fmean(mse for mse, _ in chosen),
        "mae": statistics.fmean(mae for _, mae in chosen),
        "mse_sd": statistics.stdev(mse for mse, _ in chosen) if len(chosen) > 1 and len(cell.horizons) == 1 else None,
        "ridge_mse": statistics.fmean(mse for mse, _ in ridge),
        "ridge_mae": statistics.fmean(mae for _, mae in ridge),
        "naive_mse": statistics.fmean(mse for mse, _ in naive),
        "naive_mae": statistics.fmean(mae for _, mae in naive),
        "network_mse": statistics.fmean(mse for mse, _ in network) if network else None,
        "network_mae": statistics.fmean(mae for _, mae in network) if network else None,
        "seconds": round(sum(sum(run.facts["seconds"].values()) for run in runs), 1),
        "each": [{"mse": mse, "mae": mae} for mse, mae in chosen],
        "selections": [run.selection["sentence"] for run in runs],
        **cell_tail(runs),
    }


def scores_of(run: ForecastRun, model: str, split: str = "test", scale: str = "scaled") -> tuple[float, float]:
    """MSE and MAE of one model of a run."""
    cell = {
        row["metric"]: row["value"]
        for row in run.scores
        if (row["model"], row["split"], row["scale"]) == (model, split, scale)
    }
    return cell["mse"], cell["mae"]
