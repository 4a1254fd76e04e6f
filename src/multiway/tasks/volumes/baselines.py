"""Baselines: class shares, and logistic regression on pooled voxels; neither draws at random."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.data.volumes import VolumeBatches
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.evaluation import batches, evaluated

POOLED = 7
"""Means per axis, at most."""
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
ITERATIONS = 200
BATCH = 32


class Majority(nn.Module):
    """The shares of the classes in training, whatever the volume; the most frequent class is named."""

    shares: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("shares", torch.full((num_classes,), 1.0 / num_classes, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Logits, the same for every volume."""
        return self.shares.clamp_min(1e-12).log().expand(len(x), -1)


class Logistic(nn.Module):
    """Multinomial logistic regression on the means of at most 7 x 7 x 7 blocks of each channel, standardised."""

    centre: Tensor
    spread: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, sizes: tuple[int, ...], channels: int, num_classes: int) -> None:
        super().__init__()
        depth, height, width = (min(size, POOLED) for size in sizes)
        self.pooled = (depth, height, width)
        count = channels * depth * height * width
        self.register_buffer("centre", torch.zeros(count, dtype=torch.float64))
        self.register_buffer("spread", torch.ones(count, dtype=torch.float64))
        self.register_buffer("weight", torch.zeros(num_classes, count, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros(num_classes, dtype=torch.float64))

    def features(self, x: Tensor) -> Tensor:
        """Means of blocks, `(batch, features)` float64."""
        return F.adaptive_avg_pool3d(x, self.pooled).flatten(1).double()

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return F.linear((self.features(x) - self.centre) / self.spread, self.weight, self.bias)


def fit_majority(training: VolumeBatches, model: Majority) -> None:
    """Count the classes of the training cases."""
    labels = torch.cat([batch["label"] for batch in batches(training, BATCH)])
    model.shares.copy_(torch.bincount(labels, minlength=len(model.shares)).double() / len(labels))


def fit_logistic(training: VolumeBatches, validation: VolumeBatches, model: Logistic, config: VolumeConfig) -> float:
    """Minimise the penalised log loss by L-BFGS; return the penalty with the lowest validation loss."""
    (x, y), (held_x, held_y) = (_features(model, source, config) for source in (training, validation))
    model.centre.copy_(x.mean(0))
    deviation = x.std(0, correction=0)
    model.spread.copy_(torch.where(deviation > 1e-9, deviation, 1.0))
    x, held_x = ((values - model.centre) / model.spread for values in (x, held_x))
    num_classes, best = len(model.bias), (float("inf"), PENALTIES[-1])
    for penalty in sorted(PENALTIES, reverse=True):
        weight, bias = _solve(x, y, num_classes, penalty)
        loss = float(F.cross_entropy(F.linear(held_x, weight, bias), held_y))
        if loss < best[0]:
            best = (loss, penalty)
            model.weight.copy_(weight)
            model.bias.copy_(bias)
    return best[1]


def _features(model: Logistic, source: VolumeBatches, config: VolumeConfig) -> tuple[Tensor, Tensor]:
    parts = [(model.features(evaluated(batch["volume"], config)), batch["label"]) for batch in batches(source, BATCH)]
    return torch.cat([values for values, _ in parts]), torch.cat([labels for _, labels in parts])


def _solve(x: Tensor, y: Tensor, num_classes: int, penalty: float) -> tuple[Tensor, Tensor]:
    """Mean log loss + penalty / 2 * |weight|^2; convex, started from zero."""
    weight = torch.zeros(num_classes, x.shape[1], dtype=x.dtype, requires_grad=True)
    bias = torch.zeros(num_classes, dtype=x.dtype, requires_grad=True)
    solver = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> float:
        solver.zero_grad()
        with torch.enable_grad():
            loss = F.cross_entropy(F.linear(x, weight, bias), y) + penalty / 2 * weight.square().sum()
        loss.backward()
        return float(loss.detach())

    solver.step(closure)
    return weight.detach(), bias.detach()
