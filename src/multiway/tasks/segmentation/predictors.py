"""Functions from an image to a class per voxel: a network over windows, and the baselines it has to beat."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.data.volumes import IntensityScale
from multiway.models import sliding_window
from multiway.tasks.segmentation.examples import Examples

Array = NDArray[Any]
Predictor = Callable[[Array], NDArray[np.int64]]
"""From `(channels, *sizes)` to `(*sizes)`."""
BINS = 256
MOST_VOXELS = 40_000
PENALTY = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class NetworkPredictor:
    """A network over overlapping windows; class probabilities are blended."""

    model: nn.Module
    scale: IntensityScale
    patch: tuple[int, ...]
    overlap: float
    batch_size: int

    def __call__(self, values: Array) -> NDArray[np.int64]:
        """Most probable class of each voxel."""
        return np.asarray(self.probabilities(values).argmax(0))

    def probabilities(self, values: Array) -> Tensor:
        """`(classes, *sizes)`, which sum to one at every voxel."""
        device = next(self.model.parameters()).device
        volume = self.scale.apply(torch.from_numpy(np.ascontiguousarray(values))[None])[0].to(device)
        return sliding_window(
            lambda batch: self.model(batch).float().softmax(1), volume, self.patch, self.overlap, self.batch_size
        ).cpu()


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ConstantPredictor:
    """The same class everywhere: background, or the most frequent one where nothing is background."""

    kind: Literal["background"] = "background"
    label: int

    @classmethod
    def fit(cls, examples: Examples) -> Self:
        """Count the training voxels."""
        counts = np.zeros(len(examples.classes), np.int64)
        for row in examples.rows("train"):
            target = examples.read(row).target
            counts += np.bincount(target[target >= 0], minlength=len(counts))
        return cls(label=0 if examples.background else int(counts.argmax()))

    def __call__(self, values: Array) -> NDArray[np.int64]:
        """The class."""
        return np.full(values.shape[1:], self.label, np.int64)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdPredictor:
    """Class 1 where the one channel lies in an interval: the one of greatest Dice over all training voxels."""

    kind: Literal["threshold"] = "threshold"
    low: float
    high: float

    @classmethod
    def fit(cls, examples: Examples) -> Self:
        """Try every interval between 256 levels of the training range, by histograms of both classes."""
        train = examples.rows("train")
        ends = [(values.min(), values.max()) for values in (examples.read(row).values for row in train)]
        least, greatest = float(min(low for low, _ in ends)), float(max(high for _, high in ends))
        edges = np.linspace(least, greatest if greatest > least else least + 1, BINS + 1)
        inside, all_ = np.zeros(BINS), np.zeros(BINS)
        for row in train:
            example = examples.read(row)
            counts = example.target >= 0
            inside += np.histogram(example.values[0][example.target == 1], edges)[0]
            all_ += np.histogram(example.values[0][counts], edges)[0]
        hits, taken = (np.concatenate([[0], each.cumsum()]) for each in (inside, all_))
        both, predicted = hits[None] - hits[:, None], taken[None] - taken[:, None]  # [low, high]
        dice = np.where(predicted > 0, 2 * both / np.maximum(predicted + inside.sum(), 1), 0)
        low, high = np.unravel_index(int(dice.argmax()), dice.shape)
        return cls(low=float(edges[low]), high=float(edges[high]))

    def __call__(self, values: Array) -> NDArray[np.int64]:
        """Where the interval holds."""
        return np.asarray((values[0] >= self.low) & (values[0] <= self.high), np.int64)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LogisticPredictor:
    """Multinomial logistic regression of each voxel's channels, blind to its neighbours."""

    weight: Tensor
    bias: Tensor
    scale: IntensityScale
    kind: Literal["logistic"] = "logistic"

    @classmethod
    def fit(cls, examples: Examples, scale: IntensityScale, seed: int) -> Self:
        """Minimise cross-entropy with a small ridge penalty over at most 40,000 training voxels."""
        features, labels = _voxels(examples, scale, seed)
        weight = torch.zeros(len(examples.classes), examples.channels, requires_grad=True)
        bias = torch.zeros(len(examples.classes), requires_grad=True)
        optimizer = torch.optim.LBFGS([weight, bias], max_iter=200, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimizer.zero_grad()
            value = F.cross_entropy(F.linear(features, weight, bias), labels) + PENALTY * weight.square().sum()
            value.backward()
            return value

        optimizer.step(loss)
        return cls(weight=weight.detach(), bias=bias.detach(), scale=scale)

    def __call__(self, values: Array) -> NDArray[np.int64]:
        """Most probable class of each voxel."""
        volume = self.scale.apply(torch.from_numpy(np.ascontiguousarray(values))[None])[0]
        logits = torch.tensordot(self.weight, volume, 1) + self.bias.view(-1, *[1] * (volume.ndim - 1))
        return np.asarray(logits.argmax(0))


def _voxels(examples: Examples, scale: IntensityScale, seed: int) -> tuple[Tensor, Tensor]:
    """Channels and classes of training voxels that count, as many of each case."""
    draw = np.random.default_rng(seed)
    train = examples.rows("train")
    features, labels = [], []
    for row in train:
        example = examples.read(row)
        places = np.flatnonzero(example.target >= 0)
        places = draw.permutation(places)[: max(MOST_VOXELS // len(train), 1)]
        volume = scale.apply(torch.from_numpy(example.values)[None])[0]
        features.append(volume.flatten(1)[:, torch.from_numpy(places)].T)
        labels.append(torch.from_numpy(example.target.ravel()[places].astype(np.int64)))
    return torch.cat(features), torch.cat(labels)
