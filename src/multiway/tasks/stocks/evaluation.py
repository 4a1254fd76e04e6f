"""Probabilities of a rise, or quantiles of a movement, and their scores with intervals over blocks of days."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.stocks import StockSamples
from multiway.data.stocks.inputs import StockInputs
from multiway.data.stocks.scale import StockScale
from multiway.metrics import classes, movements, quantiles, resampling
from multiway.metrics.movements import MIDDLE
from multiway.metrics.resampling import Metric
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig
from multiway.training.devices import device_of

INPUTS = ("prices", "price_valid", "dates", "text", "text_valid")
"""What the network takes of a batch, in its order."""
Values = NDArray[np.float64]
SEED = 0
"""Of the bootstrap: every model and seed is measured on the same draws."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """Movements of a split, with what the models said of it.

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


def outputs_of(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """What the network says of every stock, `(batch, stocks, outputs)` float32."""
    found: Tensor = model(*(batch.get(name) for name in INPUTS))
    return found.float()


@torch.no_grad()
def predicted(model: nn.Module, source: StockInputs, config: StockConfig, scale: StockScale) -> Values:
    """What the network says of every sample and stock: `(samples, stocks)`, or with quantiles a third axis."""
    model.eval()
    device = device_of(model)
    size = config.training.validation_batch_size or config.training.batch_size
    found = []
    for index in torch.arange(len(source)).split(size):
        batch = {name: tensor.to(device) for name, tensor in source.gather(index).items()}
        outputs = outputs_of(model, batch).double()
        found.append((outputs.softmax(-1)[..., 1] if config.target == "movement" else scale.levels(outputs)).cpu())
    return np.asarray(torch.cat(found).numpy())


def scored(
    samples: StockSamples, rows: NDArray[np.int64], chosen: NDArray[np.bool_], found: dict[str, Values]
) -> Scored:
    """Take the chosen movements, `(rows, stocks)`, out of what the models say, `(rows, stocks)` each."""
    day, stock = np.nonzero(chosen)
    return Scored(
        days=samples.target_days[rows][day],
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
    if config.target == "movement":
        names = {"acc": movements.accuracy, "f1": movements.f1, "macro_f1": movements.macro_f1, "mcc": movements.mcc}
        return {**names, "auc": auc}
    metrics: dict[str, Metric] = {
        "pinball": partial(quantiles.pinball, quantiles=config.quantiles),
        "mae": partial(quantiles.median_error, quantiles=config.quantiles),
    }
    return metrics | {name: quantiles.coverage for name in coverage_names(config.quantiles)}


def coverage_names(levels: Sequence[float]) -> tuple[str, ...]:
    """What the coverage is called, by the share that it should be: `coverage_80`; none of a single level."""
    return (f"coverage_{round(100 * (levels[-1] - levels[0]))}",) if len(levels) > 1 else ()


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


def labelled_rows(run: Run, model: str = OURS, split: str = "test") -> pd.DataFrame:
    """What a run predicted of the labelled movements of a split."""
    rows = run.tables["predictions"]
    return rows[(rows["model"] == model) & (rows["split"] == split) & (rows["label"] >= 0)]


def rises_and_levels(found: Values, config: StockConfig) -> tuple[Values, pd.DataFrame]:
    """Probability of a rise, and a table of the quantiles, without columns where there are none."""
    if config.target == "movement":
        return found, pd.DataFrame(index=range(len(found)))
    names = [f"q{level:g}" for level in config.quantiles]
    return quantiles.share_above_zero(found, config.quantiles), pd.DataFrame(found, columns=names)
