"""The network on stocks: what it says of samples, the loss of movements, and what chooses its epoch."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import DataError
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.encode import PreparedStocks, StockInputs
from multiway.tasks.stocks.scores import stock_metrics
from multiway.tasks.stocks.state import StockScale
from multiway.training import Batch, TrainingConfig
from multiway.training.devices import best_device, device_of
from multiway.training.losses import NO_TARGET, class_loss, class_weights, pinball_terms

INPUTS = ("prices", "price_valid", "dates", "text", "text_valid")
"""What the network takes of a batch, in its order."""
Values = NDArray[np.float64]


def stock_outputs(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """What the network says of every stock, `(batch, stocks, outputs)` float32."""
    outputs: Tensor = model(*(batch.get(name) for name in INPUTS))
    return outputs.float()


@torch.no_grad()
def predicted(model: nn.Module, source: StockInputs, config: StockConfig, scale: StockScale) -> Values:
    """What the network says of every sample and stock: `(samples, stocks)`, or with quantiles a third axis."""
    model.eval()
    device = device_of(model)
    size = config.training.validation_batch_size or config.training.batch_size
    parts = []
    for index in torch.arange(len(source)).split(size):
        batch = {name: tensor.to(device) for name, tensor in source.gather(index).items()}
        outputs = stock_outputs(model, batch).double()
        parts.append((scale.levels(outputs) if config.levels else outputs.softmax(-1)[..., 1]).cpu())
    return np.asarray(torch.cat(parts).numpy())


def of_network(run: Run, prepared: PreparedStocks, rows: NDArray[np.int64]) -> Values:
    """What the network of a run says of every stock, `(rows, stocks)`, or with quantiles a third axis.

    Raises:
        DataError: It gives no finite number.
    """
    with best_device(run.model):
        outputs = predicted(run.model, prepared.inputs(rows), run.config, prepared.scale)
    if not np.isfinite(outputs).all():
        raise DataError(f"{prepared.source}: the network gives no finite number. Look at the last prices.")
    return outputs


class MovementLoss:
    """Cross-entropy, or the pinball of quantiles, of the targets; smoothed and weighted in training only."""

    def __init__(
        self, config: StockConfig, scale: StockScale, training: TrainingConfig | None = None,
        weights: Tensor | None = None,
    ) -> None:  # fmt: skip
        self.config, self.scale, self.weights = config, scale, weights
        self.smoothing = 0.0 if training is None else training.label_smoothing

    @classmethod
    def in_training(cls, config: StockConfig, prepared: PreparedStocks) -> "MovementLoss":
        """The one that is minimised."""
        rows = prepared.samples.splits["train"]
        labels = prepared.samples.labels[rows][prepared.target_mask[rows]]
        return cls(config, prepared.scale, config.training, class_weights(labels, 2, config.training))

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the target movements, and their number or weight."""
        outputs, mask = stock_outputs(model, batch), batch["target_mask"]
        if self.config.levels:
            returns = torch.where(mask, batch["returns"], 0)
            terms = pinball_terms(self.scale.levels(outputs), returns, self.config.levels)
            return torch.where(mask, terms, 0).sum() / self.scale.movement_spread, mask.sum()
        labels = batch["label"].masked_fill(~mask, NO_TARGET)
        return class_loss(outputs, labels, self.weights, self.smoothing)


def validation_score(config: StockConfig, prepared: PreparedStocks) -> Callable[[nn.Module], float] | None:
    """The score that chooses the epoch, 0 where it is undefined; None where the loss chooses."""
    if config.select == "loss" or config.levels:
        return None
    metric, rows = stock_metrics(config)[config.select], prepared.samples.splits["validation"]
    inputs, mask = prepared.inputs(rows), prepared.target_mask[rows]
    labels = prepared.samples.labels[rows][mask].astype(np.int64)

    def score(model: nn.Module) -> float:
        rises = predicted(model, inputs, config, prepared.scale)
        return (metric(labels, rises[mask]) or 0.0) if np.isfinite(rises).all() else float("nan")

    return score
