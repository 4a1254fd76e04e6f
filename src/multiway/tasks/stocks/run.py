"""A run that predicts movements of stocks: started, continued, stored and taken up again."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from multiway import files
from multiway.errors import RunError
from multiway.tasks.processes import is_main
from multiway.tasks.run_folders import continued, open_finished, readable, started
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.fitting import OURS, Fitted, build_network, check_model, fit, network_sizes
from multiway.tasks.stocks.prepared import SPLITS, Prepared, locate, prepare
from multiway.tasks.stocks.scale import StockScale
from multiway.training import RunFolder

NAME = "stocks"
PREPROCESSING, SCORES, PREDICTIONS = "preprocessing.json", "scores.json", "predictions.parquet"


@dataclasses.dataclass(kw_only=True)
class StockRun:
    """A fitted network with all that is needed to use it on later prices and texts.

    tickers: The stocks, in the order of the network's.
    sizes: Arguments of `StockConfig.network_fields`.
    encoder, encoder_digest: What made vectors of the texts; None where prices alone were read.
    threshold: None: a rise is predicted above one half.
    scores: One row per model, split and metric, with its interval.
    predictions: One row per day and stock of validation and test that is asked about, and model.
    facts: What a report says of data and fit.
    """

    config: StockConfig
    model: nn.Module
    tickers: tuple[str, ...]
    sizes: dict[str, Any]
    scale: StockScale
    encoder: str | None
    encoder_digest: str | None
    scores: list[dict[str, Any]]
    predictions: pd.DataFrame
    facts: dict[str, Any]
    threshold: float | None = None
    folder: RunFolder | None = None


def start(config: StockConfig, path: Path, *, progress: bool = False) -> StockRun:
    """Read and encode the data, then make the folder, then fit: an error in the data leaves nothing behind."""
    if config.data is None:
        raise RunError("a run on disk needs data: give a file or folder of prices, or the name of a known data set.")
    prepared = prepare(config, locate(config.data), progress=progress)
    check_model(prepared, config)
    with started(path, NAME, prepared.digest, config) as folder:
        return _fit_into(folder, prepared, config, progress)


def resume(path: Path, *, progress: bool = False) -> StockRun:
    """Continue an interrupted run to the same weights; a finished one is only loaded.

    Raises:
        RunError: The data or the encoder changed since the start, or the folder is no run of this task.
    """
    folder = RunFolder.open(path)
    if folder.is_finished:
        return load(path)
    with continued(folder, NAME, StockConfig) as (config, digest):
        prepared = prepare(config, locate(config.data or ""), progress=progress)
        if prepared.digest != digest:
            raise RunError(
                f"{path}: {config.data}, or what encodes its texts, changed since the run was started. Start a new "
                f"run, or restore the data."
            )
        return _fit_into(folder, prepared, config, progress)


def _fit_into(folder: RunFolder, prepared: Prepared, config: StockConfig, progress: bool) -> StockRun:
    fitted = fit(prepared, config, run=folder, progress=progress)
    run = from_fitted(config, prepared, fitted)
    run.folder = folder
    if is_main():
        store(run, folder, prepared.digest)
    return run


def from_fitted(config: StockConfig, prepared: Prepared, fitted: Fitted) -> StockRun:
    """Gather what a run keeps."""
    return StockRun(
        config=config,
        model=fitted.model,
        tickers=prepared.samples.tickers,
        sizes=network_sizes(prepared),
        scale=prepared.scale,
        encoder=prepared.encoder,
        encoder_digest=prepared.encoder_digest,
        scores=fitted.scores,
        predictions=fitted.predictions,
        facts=_facts(prepared, fitted),
    )


def _facts(prepared: Prepared, fitted: Fitted) -> dict[str, Any]:
    texts, history = prepared.texts, fitted.history
    return {
        "source": prepared.panel.source,
        "tickers": len(prepared.samples.tickers),
        "days": [str(prepared.panel.days[0]), str(prepared.panel.days[-1])],
        "texts": 0 if texts is None else len(texts.day),
        "texts_dropped": {} if texts is None else texts.dropped,
        "encoder": prepared.encoder,
        "notes": list(prepared.notes),
        "splits": {split: _split_facts(prepared, split) for split in SPLITS},
        "parameters": {OURS: sum(tensor.numel() for tensor in fitted.model.parameters())},
        "best": {
            OURS: {
                "epoch": history.best_epoch,
                "validation_loss": history.best_loss,
                "validation_score": history.best_score,
            }
        },
        "seconds": {name: round(value, 3) for name, value in fitted.seconds.items()},
        **fitted.facts,
    }


def _split_facts(prepared: Prepared, split: str) -> dict[str, Any]:
    samples, rows = prepared.samples, prepared.samples.splits[split]
    asked = prepared.asked[rows]
    days = samples.days[samples.targets[rows]]
    rises = samples.labels[rows][asked] == 1
    return {
        "days": len(rows),
        "first": str(days.min()),
        "last": str(days.max()),
        "count": int(asked.sum()),
        "rises": int(rises.sum()),
        "tickers": int(asked.any(0).sum()),
        "with_text": int((asked & (samples.text_rows[rows] > 0).any(-1)).sum()),
    }


def store(run: StockRun, folder: RunFolder, digest: str | None) -> None:
    """Write every file of a finished run, then seal it."""
    folder.save_weights(run.model)
    folder.write_json(
        PREPROCESSING,
        {
            "tickers": run.tickers,
            "sizes": run.sizes,
            "scale": run.scale.to_dict(),
            "encoder": run.encoder,
            "encoder_digest": run.encoder_digest,
            "facts": run.facts,
        },
    )
    folder.write_json(SCORES, run.scores)
    files.write_with(folder.path / PREDICTIONS, lambda path: run.predictions.to_parquet(path, index=False))
    folder.finish({"task": NAME, "data_sha256": digest, "seed": run.config.training.seed})


def load(path: Path) -> StockRun:
    """Take up a finished run; every file is checked against its hash first.

    Raises:
        RunError: It is unfinished, damaged, or no run of this task.
    """
    folder, config = open_finished(path, NAME, StockConfig)
    state, scores = folder.read_json(PREPROCESSING), folder.read_json(SCORES)
    with readable(path, "run of stocks"):
        model = build_network(config, state["sizes"])
        folder.load_weights(model)
        return StockRun(
            config=config,
            model=model.eval(),
            tickers=tuple(state["tickers"]),
            sizes=state["sizes"],
            scale=StockScale.from_dict(state["scale"]),
            encoder=state["encoder"],
            encoder_digest=state["encoder_digest"],
            scores=scores,
            predictions=pd.read_parquet(folder.path / PREDICTIONS),
            facts=state["facts"],
            folder=folder,
        )
