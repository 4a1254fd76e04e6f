"""Probabilities of a rise, or quantiles of a movement, and their scores with intervals over blocks of days."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.stocks import StockSamples
from multiway.metrics import classes, movements, resampling
from multiway.metrics.movements import MIDDLE
from multiway.metrics.quantiles import share_above_zero
from multiway.metrics.resampling import Metric
from multiway.tasks.devices import device_of
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.inputs import StockInputs, outputs_of
from multiway.tasks.stocks.quantiles import levels_of, quantile_metrics
from multiway.tasks.stocks.scale import StockScale

Values = NDArray[np.float64]
SEED = 0
"""Of the bootstrap: every model and seed is measured on the same draws."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """Every target movement of a split, with what the models said of it.

    days, tickers: `(movements,)`.
    labels: 1 rise, 0 fall; -1 for quantiles of a movement that the protocol does not label.
    returns: The movements themselves.
    found: By model, the probability of a rise `(movements,)`, or the quantiles `(movements, quantiles)`.
    """

    days: NDArray[np.datetime64]
    tickers: NDArray[Any]
    labels: NDArray[np.int64]
    returns: Values
    found: dict[str, Values]


def batches(source: StockInputs, size: int) -> Iterator[dict[str, Tensor]]:
    """All samples in order."""
    for index in torch.arange(len(source)).split(size):
        yield source.gather(index)


@torch.no_grad()
def predicted(model: nn.Module, source: StockInputs, config: StockConfig, scale: StockScale) -> Values:
    """What the network says of every sample and stock: `(samples, stocks)`, or with quantiles a third axis."""
    model.eval()
    device = device_of(model)
    size = config.training.validation_batch_size or config.training.batch_size
    found = []
    for batch in batches(source, size):
        outputs = outputs_of(model, {name: tensor.to(device) for name, tensor in batch.items()}).double()
        found.append((outputs.softmax(-1)[..., 1] if config.target == "movement" else levels_of(outputs, scale)).cpu())
    return np.asarray(torch.cat(found).numpy())


def scored(
    samples: StockSamples, rows: NDArray[np.int64], target_mask: NDArray[np.bool_], found: dict[str, Values]
) -> Scored:
    """Take the target movements out of what the models say, `(rows, stocks)` by model."""
    chosen = target_mask[rows]
    day, stock = np.nonzero(chosen)
    return Scored(
        days=samples.days[samples.targets[rows][day]],
        tickers=np.array(samples.tickers, dtype=object)[stock],
        labels=samples.labels[rows][chosen].astype(np.int64),
        returns=samples.returns[rows][chosen].astype(np.float64),
        found={name: each[chosen].astype(np.float64) for name, each in found.items()},
    )


def auc(labels: NDArray[Any], probabilities: Values) -> float | None:
    """Area under the ROC curve."""
    return classes.auc(labels, np.stack([1 - probabilities, probabilities], axis=1))


def metrics_of(config: StockConfig) -> dict[str, Metric]:
    """Every metric of a run, by name; of labels and probabilities, or of movements and quantiles."""
    if config.target == "quantiles":
        return quantile_metrics(config.quantiles)
    return {
        "acc": movements.accuracy,
        "f1": movements.f1,
        "macro_f1": movements.macro_f1,
        "mcc": movements.mcc,
        "auc": auc,
    }


def score_rows(these: Scored, split: str, config: StockConfig) -> list[dict[str, Any]]:
    """One row per model and metric: value, and its 95 % interval over blocks of days; then the count."""
    truth = these.labels if config.target == "movement" else these.returns
    options = {"units": these.days, "block": config.block_days, "draws": config.draws, "seed": SEED}
    count = {"metric": "count", "value": len(truth), "low": None, "high": None}
    return [
        {"model": model, "split": split, **row}
        for model, found in these.found.items()
        for row in (*resampling.score_rows(metrics_of(config), truth, found, **options), count)
    ]


def prediction_frame(these: Scored, split: str, config: StockConfig) -> pd.DataFrame:
    """date, ticker, model, split, label, p_up, predicted and movement; with quantiles one column `q0.1` for each.

    A label of -1 is one that the protocol does not give.
    """
    frames = []
    for model, found in these.found.items():
        rises, levels = rises_and_levels(found, config)
        frame = pd.DataFrame(
            {
                "date": these.days.astype("datetime64[ms]"),
                "ticker": these.tickers,
                "model": model,
                "split": split,
                "label": these.labels,
                "p_up": rises,
                "predicted": (rises > MIDDLE).astype(np.int64),
                "movement": these.returns,
            }
        )
        frames.append(pd.concat([frame, levels], axis=1))
    return pd.concat(frames, ignore_index=True)


def rises_and_levels(found: Values, config: StockConfig) -> tuple[Values, pd.DataFrame]:
    """Probability of a rise, and a table of the quantiles, without columns where there are none."""
    if config.target == "movement":
        return found, pd.DataFrame(index=range(len(found)))
    names = [f"q{level:g}" for level in config.quantiles]
    return share_above_zero(found, config.quantiles), pd.DataFrame(found, columns=names)
