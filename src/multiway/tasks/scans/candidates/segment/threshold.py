"""Class 1 where the one channel lies in an interval."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.config import Plain
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway.tasks.scans.encode import Examples

BINS = 256


class Threshold(nn.Module):
    """Class 1 where the one channel lies in an interval: the one of greatest Dice over all training voxels."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = nn.Buffer(torch.zeros(2, dtype=torch.float64))

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Plain:
        """Try every interval between 256 levels of the training range, by histograms of both classes."""
        ends = [(float(image.values.min()), float(image.values.max())) for image in images]
        least, greatest = min(low for low, _ in ends), max(high for _, high in ends)
        edges = np.linspace(least, greatest if greatest > least else least + 1, BINS + 1)
        inside, total = np.zeros(BINS), np.zeros(BINS)
        for example in images:
            inside += np.histogram(example.values[0][example.target == 1], edges)[0]
            total += np.histogram(example.values[0][example.target >= 0], edges)[0]
        hits, taken = (np.concatenate([[0], counts.cumsum()]) for counts in (inside, total))
        both, predicted = hits[None] - hits[:, None], taken[None] - taken[:, None]  # (low, high)
        dice = np.where(predicted > 0, 2 * both / np.maximum(predicted + inside.sum(), 1), 0)
        low, high = (float(edges[level]) for level in np.unravel_index(int(dice.argmax()), dice.shape))
        self.ends.copy_(torch.tensor([low, high], dtype=torch.float64))
        return {"low": low, "high": high}

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Where the interval holds."""
        low, high = self.ends.tolist()
        return np.asarray((values[0] >= low) & (values[0] <= high), np.int64)


class Interval(SampleCandidate[Threshold]):
    """Class 1 where the one channel lies in an interval."""

    name, words, cost, rank = "threshold", "thresholding", 1, LINEAR

    def can_answer(self, basis: Basis) -> bool:
        """Of one channel, a background and one class."""
        is_binary: bool = basis.state.is_binary
        return is_binary

    def build(self, basis: Basis) -> Threshold:
        """An interval of nothing."""
        return Threshold()

    def fit(self, model: Threshold, training: Lesson, validation: Lesson) -> Fitted:
        """Fit on the training images."""
        run = training.run
        return model.fit(training.samples.inputs, run.state.scale, run.config.training.seed)


CANDIDATE = Interval()
