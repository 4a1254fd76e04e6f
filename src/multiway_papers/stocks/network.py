"""What models say of movements: the network and its loss, scores with intervals over blocks of days, tables."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.errors import DataError
from multiway.metrics import classes, quantiles
from multiway.metrics.classes import MIDDLE
from multiway.metrics.resampling import Interval, ScoreFunction, intervals, model_rows
from multiway.tasks.choice import Evidence
from multiway.tasks.protocol import NETWORK, Row
from multiway.tasks.run import Run
from multiway.training import Batch, TrainingConfig
from multiway.training.losses import NO_TARGET, class_loss, class_weights, pinball_terms
from multiway.training.processes import best_device, device_of
from multiway_papers.stocks.baselines import baseline_in
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.encode import StockInputs
from multiway_papers.stocks.metrics import mean_f1, median_error, over_batches, share_above_zero
from multiway_papers.stocks.samples import Marks, StockWindows
from multiway_papers.stocks.state import StockScale

INPUTS = ("prices", "price_valid", "dates", "text", "text_valid")
"""What the network takes of a batch, in its order."""
SEED = 0
"""Of the bootstrap: every model and seed is measured on the same draws."""
Values = NDArray[np.float64]


def stock_outputs(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """What the network says of every stock, `(batch, stocks, outputs)` float32."""
    outputs: Tensor = model(*(batch.get(name) for name in INPUTS))
    return outputs.float()


@torch.no_grad()
def predicted(model: nn.Module, inputs: StockInputs, config: StockConfig) -> Values:
    """What the network says of every sample and stock: `(samples, stocks)`, or with quantiles a third axis."""
    model.eval()
    device, scale = device_of(model), inputs.tables.scale
    size = config.training.validation_batch_size or config.training.batch_size
    parts = []
    for index in torch.arange(len(inputs)).split(size):
        batch = {name: tensor.to(device) for name, tensor in inputs.batch(index).items()}
        outputs = stock_outputs(model, batch).double()
        parts.append((scale.levels(outputs) if config.levels else outputs.softmax(-1)[..., 1]).cpu())
    return np.asarray(torch.cat(parts).numpy())


def chances_of(run: Run, name: str, inputs: StockInputs) -> Values:
    """What a model says of every stock: probability of a rise `(samples, stocks)`, or quantiles along a third axis."""
    if name != NETWORK:
        return baseline_in(run, name).says(inputs)
    with best_device(run.model):
        outputs = predicted(run.model, inputs, run.config)
    if not np.isfinite(outputs).all():
        source = inputs.windows.panel.source
        raise DataError(f"{source}: the network gives no finite number. Look at the last prices.")
    return outputs


def answer_chances(run: Run, inputs: StockInputs) -> Values:
    """What the answer of a run says, as of `chances_of`: that of one model, or of a blend."""
    return run.answer.mix({name: chances_of(run, name, inputs) for name in run.answer.shares})


def rises_of(run: Run, inputs: StockInputs) -> Values:
    """Probability of a rise by the answer of a run, `(samples, stocks)`."""
    said, levels = answer_chances(run, inputs), run.config.levels
    return share_above_zero(said, levels) if levels else said


class MovementLoss:
    """Cross-entropy, or the pinball of quantiles, of the targets; smoothed and weighted in training only."""

    def __init__(
        self,
        config: StockConfig,
        scale: StockScale,
        training: TrainingConfig | None = None,
        weights: Tensor | None = None,
    ) -> None:
        self.config, self.scale, self.weights = config, scale, weights
        self.smoothing = 0.0 if training is None else training.label_smoothing

    @classmethod
    def in_training(cls, config: StockConfig, training: StockInputs) -> "MovementLoss":
        """The one that is minimised."""
        labels = training.windows.labels[training.target_mask]
        return cls(config, training.tables.scale, config.training, class_weights(labels, 2, config.training))

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the target movements, and their number or weight."""
        outputs, mask = stock_outputs(model, batch), batch["target_mask"]
        if self.config.levels:
            returns = torch.where(mask, batch["returns"], 0)
            terms = pinball_terms(self.scale.levels(outputs), returns, self.config.levels)
            return torch.where(mask, terms, 0).sum() / self.scale.movement_spread, mask.sum()
        labels = batch["label"].masked_fill(~mask, NO_TARGET)
        return class_loss(outputs, labels, self.weights, self.smoothing)


def movement_loss(rises: Values, inputs: StockInputs) -> float:
    """Mean cross-entropy of the targets, by probabilities of a rise `(samples, stocks)`."""
    mask = inputs.target_mask
    given, labels = (torch.from_numpy(part[mask].astype(np.float64)) for part in (rises, inputs.windows.labels))
    return float(F.binary_cross_entropy(given, labels))


def validation_score(config: StockConfig, inputs: StockInputs) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, 0 where it is undefined; None where the loss chooses."""
    if config.select == "loss" or config.levels:
        return None
    metric, mask = stock_metrics(config)[config.select], inputs.target_mask
    labels = inputs.windows.labels[mask].astype(np.int64)

    def score(model: nn.Module) -> float:
        rises = predicted(model, inputs, config)
        return (metric(labels, rises[mask]) or 0.0) if np.isfinite(rises).all() else float("nan")

    return score


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """Movements of a split, with what the models said of them.

    days, tickers: `(movements,)`.
    with_text: Whether a text was written since the last session.
    labels: 1 rise, 0 fall; -1 for quantiles of a movement that the protocol does not label.
    returns: The movements themselves.
    outputs: By model, the probability of a rise `(movements,)`, or the quantiles `(movements, quantiles)`.
    """

    config: StockConfig
    days: NDArray[np.datetime64]
    tickers: NDArray[np.object_]
    with_text: NDArray[np.bool_]
    labels: NDArray[np.int64]
    returns: Values
    outputs: dict[str, Values]

    @classmethod
    def of(cls, config: StockConfig, windows: StockWindows, mask: Marks, outputs: Mapping[str, Values]) -> "Scored":
        """Take the movements of a mask, `(samples, stocks)`, out of what the models say of all."""
        day, stock = np.nonzero(mask)
        return cls(
            config=config,
            days=windows.target_days[day],
            tickers=np.array(windows.tickers, dtype=object)[stock],
            with_text=(windows.text_rows[:, :, -1] > 0)[mask],
            labels=windows.labels[mask].astype(np.int64),
            returns=windows.returns[mask].astype(np.float64),
            outputs={name: values[mask].astype(np.float64) for name, values in outputs.items()},
        )

    def scores(self, split: str, draws: int) -> list[Row]:
        """One row per model and metric: value, and its 95 % interval over blocks of days; then the count."""
        truth, metrics = self.returns if self.config.levels else self.labels, stock_metrics(self.config)
        draw = {"units": self.days, "block": self.config.block_days, "draws": draws, "seed": SEED}
        count = {"metric": "count", "value": len(truth), "low": None, "high": None}
        rows: list[Row] = []
        for model, output in self.outputs.items():
            rows += model_rows(metrics, truth, {model: output}, split, **draw)
            own = {"model": model, "split": split}
            if not self.config.levels:  # also those that texts stand before, undefined where there are none
                chosen, of_texts = self.with_text, {f"{name}_texts": metrics[name] for name in WITH_TEXTS}
                options_of_texts = {**draw, "units": self.days[chosen]}
                rows += model_rows(of_texts, self.labels[chosen], {model: output[chosen]}, split, **options_of_texts)
            for name in OVER_BATCHES if self.config.batch_days else ():
                value = over_batches(metrics[name], self.labels, output, self.days, self.config.batch_days)
                rows.append({**own, "metric": f"{name}_batches", "value": value, "low": None, "high": None})
            rows.append({**own, **count})
        return rows

    def evidence(self) -> Evidence:
        """Brier scores of rises and falls, or pinball losses of quantiles, over the blocks of days of the intervals."""
        block, levels = self.config.block_days, self.config.levels
        of: dict[str, Any] = {
            "units": self.days,
            "block": block,
            "unit": "days" if block == 1 else f"blocks of {block} days",
        }
        if levels:
            errors = partial(quantiles.pinball_errors, self.returns, quantiles=levels)
            losses = {name: errors(output).mean(1) for name, output in self.outputs.items()}
            return Evidence(losses=losses, loss="pinball loss", **of)
        chances = {name: np.stack([1 - rises, rises], axis=1) for name, rises in self.outputs.items()}
        return Evidence.from_squares(chances, np.eye(2)[self.labels], loss="Brier", **of)

    def frame(self, split: str) -> pd.DataFrame:
        """date, ticker, model, split, label, p_up, predicted and movement; with quantiles one column `q0.1` for each.

        A label of -1 is one that the protocol does not give.
        """
        frames = []
        for model, output in self.outputs.items():
            rises, levels = rises_and_levels(output, self.config)
            columns = {
                "date": self.days.astype("datetime64[ms]"),
                "ticker": self.tickers,
                "model": model,
                "split": split,
                "label": self.labels,
                "p_up": rises,
                "predicted": (rises > MIDDLE).astype(np.int64),
                "movement": self.returns,
            }
            frames.append(pd.concat([pd.DataFrame(columns), levels], axis=1))
        return pd.concat(frames, ignore_index=True)


OF_RISES: dict[str, ScoreFunction] = {
    "acc": classes.accuracy,
    "f1": classes.f1,
    "macro_f1": mean_f1,
    "mcc": classes.mcc,
    "auc": classes.auc,
}


WITH_TEXTS = ("acc", "mcc")
"""What is scored with texts apart."""
OVER_BATCHES = ("acc", "f1", "mcc")
"""What public code logs as means over batches."""


def of_rises(metric: ScoreFunction, labels: NDArray[np.int64], rises: Values) -> float | None:
    """A metric of two classes, given the probability of a rise."""
    return metric(labels, np.stack([1 - rises, rises], axis=1))


def stock_metrics(config: StockConfig) -> dict[str, ScoreFunction]:
    """Every metric of a run, by name; of labels and probabilities, or of movements and quantiles."""
    if not config.levels:
        return {name: partial(of_rises, metric) for name, metric in OF_RISES.items()}
    metrics: dict[str, ScoreFunction] = {
        "pinball": partial(quantiles.pinball, quantiles=config.levels),
        "mae": partial(median_error, quantiles=config.levels),
    }
    return metrics | {name: quantiles.coverage for name in coverage_names(config.levels)}


def coverage_names(levels: Sequence[float]) -> tuple[str, ...]:
    """What the coverage is called, by the share that it should be: `coverage_80`; none of a single level."""
    return (f"coverage_{round(100 * (levels[-1] - levels[0]))}",) if len(levels) > 1 else ()


def rises_and_levels(output: Values, config: StockConfig) -> tuple[Values, pd.DataFrame]:
    """Probability of a rise, and a table of the quantiles, without columns where there are none."""
    if not config.levels:
        return output, pd.DataFrame(index=range(len(output)))
    names = [f"q{level:g}" for level in config.levels]
    return share_above_zero(output, config.levels), pd.DataFrame(output, columns=names)


def labelled_rows(run: Run, model: str = NETWORK, split: str = "test") -> pd.DataFrame:
    """What a run predicted of the labelled movements of a split."""
    rows = run.tables["predictions"]
    return rows[(rows["model"] == model) & (rows["split"] == split) & (rows["label"] >= 0)]


def intervals_of_means(runs: Sequence[Run], split: str = "test") -> dict[str, Interval]:
    """95 % intervals over blocks of days of the mean ACC and MCC over the runs, and of ACC above the majority's.

    The same days are drawn for every seed, and each draw is scored as the whole is. The majority is that of the
    training days, so what it scores on a draw changes with the days drawn, too. A seed whose MCC is undefined, as all
    its predictions are one, counts as 0.
    """
    config, count, metrics = runs[0].config, len(runs), stock_metrics(runs[0].config)
    frames = [labelled_rows(run, NETWORK, split) for run in runs]
    means: dict[str, ScoreFunction] = {name: partial(_mean, metrics[name], count) for name in ("acc", "mcc")}
    if "majority" in config.baselines:
        frames.append(labelled_rows(runs[0], "majority", split))
        accuracy = metrics["acc"]
        means["acc_over_majority"] = lambda labels, scores: (
            _mean(accuracy, count, labels, scores) - (accuracy(labels, scores[:, -1]) or 0.0)
        )
    return intervals(
        means,
        frames[0]["label"].to_numpy(),
        np.stack([frame["p_up"].to_numpy() for frame in frames], axis=1),
        units=frames[0]["date"].to_numpy(),
        block=config.block_days,
        draws=config.draws,
        seed=SEED,
    )


def _mean(metric: ScoreFunction, count: int, labels: NDArray[np.int64], scores: Values) -> float:
    """Mean of a metric over the first columns."""
    return float(np.mean([metric(labels, column) or 0.0 for column in scores.T[:count]]))
