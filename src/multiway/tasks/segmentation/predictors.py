"""Functions from an image to a class per voxel: a network over windows, and the baselines it has to beat."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.masks.examples import Examples
from multiway.data.volumes import IntensityScale
from multiway.models import sliding_window
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.tasks.run import Run

Array = NDArray[Any]
Predictor = Callable[[Array], NDArray[np.int64]]
"""From `(channels, *sizes)` to `(*sizes)`."""
BINS = 256
MOST_VOXELS = 40_000
PENALTY = 2e-3


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


class Constant(nn.Module):
    """The same class everywhere: background, or the most frequent one where nothing is background."""

    label: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("label", torch.zeros((), dtype=torch.int64))

    def fit(self, examples: Examples, scale: IntensityScale, seed: int) -> dict[str, Any]:
        """Count the training voxels."""
        counts = np.zeros(len(examples.classes), np.int64)
        for example in examples.each("train"):
            counts += np.bincount(example.target[example.target >= 0], minlength=len(counts))
        self.label.fill_(0 if examples.background else int(counts.argmax()))
        return {"label": int(self.label)}

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """The class."""
        return np.full(values.shape[1:], int(self.label), np.int64)


class Threshold(nn.Module):
    """Class 1 where the one channel lies in an interval: the one of greatest Dice over all training voxels."""

    ends: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ends", torch.zeros(2, dtype=torch.float64))

    def fit(self, examples: Examples, scale: IntensityScale, seed: int) -> dict[str, Any]:
        """Try every interval between 256 levels of the training range, by histograms of both classes."""
        edges = _edges(examples)
        inside, all_ = np.zeros(BINS), np.zeros(BINS)
        for example in examples.each("train"):
            inside += np.histogram(example.values[0][example.target == 1], edges)[0]
            all_ += np.histogram(example.values[0][example.target >= 0], edges)[0]
        low, high = (float(edges[place]) for place in _best_interval(inside, all_))
        self.ends.copy_(torch.tensor([low, high], dtype=torch.float64))
        return {"low": low, "high": high}

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Where the interval holds."""
        low, high = self.ends.tolist()
        return np.asarray((values[0] >= low) & (values[0] <= high), np.int64)


def _edges(examples: Examples) -> NDArray[np.float64]:
    """Levels over the range of the training voxels."""
    ends = [(float(each.values.min()), float(each.values.max())) for each in examples.each("train")]
    least, greatest = min(low for low, _ in ends), max(high for _, high in ends)
    return np.linspace(least, greatest if greatest > least else least + 1, BINS + 1)


def _best_interval(inside: NDArray[np.float64], all_: NDArray[np.float64]) -> tuple[int, int]:
    """Places of the edges whose interval has the greatest Dice."""
    hits, taken = (np.concatenate([[0], each.cumsum()]) for each in (inside, all_))
    both, predicted = hits[None] - hits[:, None], taken[None] - taken[:, None]  # [low, high]
    dice = np.where(predicted > 0, 2 * both / np.maximum(predicted + inside.sum(), 1), 0)
    low, high = np.unravel_index(int(dice.argmax()), dice.shape)
    return int(low), int(high)


class Voxelwise(Linear):
    """Multinomial logistic regression of each voxel's channels, blind to its neighbours."""

    def fit(self, examples: Examples, scale: IntensityScale, seed: int) -> Facts:
        """Minimise cross-entropy with a small ridge penalty over at most 40,000 training voxels."""
        voxels = _voxels(examples, scale, seed)
        return fit_logistic(self, *voxels, *voxels, penalties=[PENALTY], standardise=False)

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Most probable class of each voxel."""
        volume = scale.apply_to(values)
        return np.asarray(self(volume.flatten(1).T).argmax(1).reshape(volume.shape[1:]))


def _voxels(examples: Examples, scale: IntensityScale, seed: int) -> tuple[Tensor, Tensor]:
    """Channels and classes of training voxels that count, as many of each case."""
    draw = np.random.default_rng(seed)
    most = max(MOST_VOXELS // len(examples.rows("train")), 1)
    features, labels = [], []
    for example in examples.each("train"):
        places = draw.permutation(np.flatnonzero(example.target >= 0))[:most]
        features.append(scale.apply_to(example.values).flatten(1)[:, torch.from_numpy(places)].T)
        labels.append(torch.from_numpy(example.target.ravel()[places].astype(np.int64)))
    return torch.cat(features), torch.cat(labels)
