"""The same class everywhere."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.config import Plain
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.tasks.candidate import CONSTANT
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway.tasks.scans.encode import Examples


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


class Background(SampleCandidate[Constant]):
    """The same class everywhere."""

    name, words, cost, rank = "background", "background alone", 0, CONSTANT

    def build(self, basis: Basis) -> Constant:
        """Of class 0."""
        return Constant()

    def fit(self, model: Constant, training: Lesson, validation: Lesson) -> Fitted:
        """Fit on the training images."""
        run = training.run
        return model.fit(training.samples.inputs, run.state.scale, run.config.training.seed)


CANDIDATE = Background()
