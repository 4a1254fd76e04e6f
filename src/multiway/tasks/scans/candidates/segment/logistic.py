"""Logistic regression of the channels of each voxel."""

import numpy as np
import torch
from numpy.typing import NDArray

from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.volume import Array
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway.tasks.scans.encode import Examples

MOST_VOXELS, PENALTY = 40_000, 2e-3


class Voxelwise(Linear):
    """Multinomial logistic regression of each voxel's channels, blind to its neighbours."""

    def fit(self, images: Examples, scale: IntensityScale, seed: int) -> Facts:
        """Minimise cross-entropy with a small ridge penalty over 40,000 training voxels, as many of each case."""
        draw = np.random.default_rng(seed)
        most = max(MOST_VOXELS // len(images), 1)
        features, labels = [], []
        for example in images:
            voxels = draw.permutation(np.flatnonzero(example.target >= 0))[:most]
            features.append(scale.apply_to(example.values).flatten(1)[:, torch.from_numpy(voxels)].T)
            labels.append(torch.from_numpy(example.target.ravel()[voxels].astype(np.int64)))
        drawn = torch.cat(features), torch.cat(labels)
        return fit_logistic(self, *drawn, *drawn, penalties=[PENALTY], standardise=False)

    def predict(self, values: Array, scale: IntensityScale) -> NDArray[np.int64]:
        """Most probable class of each voxel."""
        volume = scale.apply_to(values)
        return np.asarray(self(volume.flatten(1).T).argmax(1).reshape(volume.shape[1:]))


class VoxelLogistic(SampleCandidate[Voxelwise]):
    """Logistic regression of the channels of each voxel."""

    name, words, cost, rank = "logistic", "logistic regression", 2, LINEAR

    def is_usual(self, basis: Basis) -> bool:
        """Where no threshold takes its place."""
        return not basis.state.is_binary

    def build(self, basis: Basis) -> Voxelwise:
        """Weights of zero for each channel."""
        return Voxelwise(basis.state.channels, len(basis.state.classes))

    def fit(self, model: Voxelwise, training: Lesson, validation: Lesson) -> Fitted:
        """Fit on the training images."""
        run = training.run
        return model.fit(training.samples.inputs, run.state.scale, run.config.training.seed)


CANDIDATE = VoxelLogistic()
