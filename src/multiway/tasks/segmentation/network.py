"""How segmenters are built, fitted and used on an image: networks over windows, and the baselines they have to beat."""

import functools
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Plain
from multiway.data.sources.scans.encoding import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.models import create_model, sliding_window
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.segmentation.encode import PLAIN, Examples, SegmentState
from multiway.tasks.segmentation.scores import Predictor
from multiway.tasks.segmentation.source import SegmentConfig
from multiway.training import Batch
from multiway.training.losses import segmentation_loss

BINS = 256
MOST_VOXELS = 40_000
PENALTY = 2e-3


class PatchLoss:
    """Loss of a segmenter on a batch of patches; a large batch goes through the model in parts.

    `background` is whether class 0 is.
    """

    def __init__(self, config: SegmentConfig, background: bool) -> None:
        self.config, self.background = config, background

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over patches, and their number."""
        pieces = (batch[name].split(self.config.training.batch_size) for name in ("inputs", "target"))
        parts = [self._loss(model(volume), mask) for volume, mask in zip(*pieces, strict=True)]
        total, count = (torch.stack(values).sum() for values in zip(*parts, strict=True))
        return total, count

    def _loss(self, logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.config.class_weights
        return segmentation_loss(
            logits,
            mask,
            background=self.background,
            dice_weight=self.config.dice_weight,
            cl_dice_weight=self.config.cl_dice_weight,
            class_weights=None if weights is None else torch.tensor(weights, device=logits.device),
        )


def build_model(config: SegmentConfig, state: SegmentState, name: str) -> nn.Module:
    """Draw a network of the right channels and classes, or a baseline, by its name in a run."""
    if name in (NETWORK, PLAIN):
        network, fields = config.network(state.num_modes, plain=name == PLAIN)
        return create_model(network, **fields, **state.fields)
    if name == "logistic":
        return Voxelwise(state.channels, len(state.classes))
    return Constant() if name == "background" else Threshold()


def predictor_of(run: Run, name: str) -> Predictor:
    """A model of a run."""
    model: Any = run.models[name]
    if hasattr(model, "predict"):
        return functools.partial(model.predict, scale=run.state.scale)
    return network_predictor(run, model)


def network_predictor(run: Run, model: nn.Module) -> Predictor:
    """A network over overlapping windows, whose class probabilities are blended."""
    config, state, device = run.config, run.state, next(model.parameters()).device

    def predict(values: Array) -> NDArray[np.int64]:
        shares = sliding_window(
            lambda batch: model(batch).float().softmax(1), state.scale.apply_to(values).to(device), state.patch,
            config.overlap, config.training.batch_size,
        )  # fmt: skip
        return np.asarray(shares.cpu().argmax(0))

    model.eval()
    return predict


class Baseline(Protocol):
    """What is fitted on all training images at once, and needs no patches."""

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Plain:
        """Learn from the training images; what a closed form found is returned."""

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """A class per voxel of an image."""


class Constant(nn.Module):
    """The same class everywhere: background, or the most frequent one where nothing is background."""

    def __init__(self) -> None:
        super().__init__()
        self.label = nn.Buffer(torch.zeros((), dtype=torch.int64))

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Plain:
        """Count the training voxels."""
        counts = np.zeros(len(images.values), np.int64)
        for example in images:
            counts += np.bincount(example.target[example.target >= 0], minlength=len(counts))
        self.label.fill_(0 if images.values[0] == 0 else int(counts.argmax()))
        return {"label": int(self.label)}

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """The class."""
        return np.full(values.shape[1:], int(self.label), np.int64)


class Threshold(nn.Module):
    """Class 1 where the one channel lies in an interval: the one of greatest Dice over all training voxels."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = nn.Buffer(torch.zeros(2, dtype=torch.float64))

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Plain:
        """Try every interval between 256 levels of the training range, by histograms of both classes."""
        edges = _edges(images)
        inside, all_ = np.zeros(BINS), np.zeros(BINS)
        for example in images:
            inside += np.histogram(example.values[0][example.target == 1], edges)[0]
            all_ += np.histogram(example.values[0][example.target >= 0], edges)[0]
        low, high = (float(edges[level]) for level in _best_interval(inside, all_))
        self.ends.copy_(torch.tensor([low, high], dtype=torch.float64))
        return {"low": low, "high": high}

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Where the interval holds."""
        low, high = self.ends.tolist()
        return np.asarray((values[0] >= low) & (values[0] <= high), np.int64)


def _edges(images: Examples) -> NDArray[np.float64]:
    """Levels over the range of the training voxels."""
    ends = [(float(image.values.min()), float(image.values.max())) for image in images]
    least, greatest = min(low for low, _ in ends), max(high for _, high in ends)
    return np.linspace(least, greatest if greatest > least else least + 1, BINS + 1)


def _best_interval(inside: NDArray[np.float64], all_: NDArray[np.float64]) -> tuple[int, int]:
    """Positions of the edges whose interval has the greatest Dice."""
    hits, taken = (np.concatenate([[0], counts.cumsum()]) for counts in (inside, all_))
    both, predicted = hits[None] - hits[:, None], taken[None] - taken[:, None]  # [low, high]
    dice = np.where(predicted > 0, 2 * both / np.maximum(predicted + inside.sum(), 1), 0)
    low, high = np.unravel_index(int(dice.argmax()), dice.shape)
    return int(low), int(high)


class Voxelwise(Linear):
    """Multinomial logistic regression of each voxel's channels, blind to its neighbours."""

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Facts:
        """Minimise cross-entropy with a small ridge penalty over at most 40,000 training voxels."""
        voxels = _voxels(images, scale, seed)
        return fit_logistic(self, *voxels, *voxels, penalties=[PENALTY], standardise=False)

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Most probable class of each voxel."""
        volume = scale.apply_to(values)
        return np.asarray(self(volume.flatten(1).T).argmax(1).reshape(volume.shape[1:]))


def _voxels(images: Examples, scale: IntensityScale, seed: int) -> tuple[Tensor, Tensor]:
    """Channels and classes of training voxels that count, as many of each case."""
    draw = np.random.default_rng(seed)
    most = max(MOST_VOXELS // len(images), 1)
    features, labels = [], []
    for example in images:
        voxels = draw.permutation(np.flatnonzero(example.target >= 0))[:most]
        features.append(scale.apply_to(example.values).flatten(1)[:, torch.from_numpy(voxels)].T)
        labels.append(torch.from_numpy(example.target.ravel()[voxels].astype(np.int64)))
    return torch.cat(features), torch.cat(labels)
