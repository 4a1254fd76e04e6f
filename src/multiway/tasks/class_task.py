"""What tasks on the classes of samples share: series, texts and images."""

import abc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Config
from multiway.data.labelled import Labelled, PreparedSamples
from multiway.tasks import targets
from multiway.tasks.answers import Answer, written
from multiway.tasks.protocol import Metric, Row
from multiway.tasks.run import Run
from multiway.tasks.split_task import ConfigT, SplitTask, StateT
from multiway.tasks.stored import SplitFacts
from multiway.training import Objective
from multiway.training.devices import best_device, device_of

PREDICTED = 256
"""Samples that are predicted at once."""


class ClassState(Protocol):
    """What a loaded run needs to rebuild its models, the names of the classes among it."""

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes, in the order of the outputs."""


class SampleCounts(Config):
    """Samples of a split."""

    samples: int
    groups: int | None
    classes: dict[str, int]


class ClassFacts(SplitFacts[SampleCounts]):
    """Of samples with classes."""


class ClassTask(SplitTask[ConfigT, PreparedSamples, StateT, Labelled]):
    """Classes of samples. Models map inputs to one logit per class; the network is trained by cross-entropy.

    A task gives the rest: config, state, options, page; `prepare`, `unlabelled`, `check`, `audit`, `learn`, `build`,
    `fit_baseline`. Its config is a `SplitConfig`, its state a `ClassState`.
    """

    facts: ClassVar[type[ClassFacts]] = ClassFacts
    needs = "samples. Give some"
    scored: ClassVar[tuple[Metric, ...]] = (*targets.CLASSES, targets.MORE["f1"])
    told = ("acc", "auc")

    @abc.abstractmethod
    def unlabelled(self, config: ConfigT, source: Any, state: StateT) -> PreparedSamples:
        """Later samples, on disk or in memory, whose classes nobody needs to know."""

    def objective(self, run: Run, training: Labelled) -> Objective:
        """What training minimises."""
        return targets.TargetLoss(run.config.training, run.state.classes, training.truth)

    def predict(self, run: Run, prepared: PreparedSamples, split: str) -> targets.Predictions:
        """Samples, with the probabilities of every model."""
        part = prepared.part(split)
        return targets.Predictions(
            samples=part.names, names=part.classes, truth=part.truth, groups=part.groups, metrics=self.scored,
            outputs={name: probabilities(model, self.seen_by(run, name, part)) for name, model in run.models.items()},
        )  # fmt: skip

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test samples there are."""
        return {"test_samples": runs[0].facts["splits"]["test"]["samples"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """Every sample of some data with its class and probabilities."""
        later = self.unlabelled(run.config, self.later(data, out), run.state)
        found = targets.answers(probabilities(run.model, later.samples), run.state.classes)
        return written(pd.concat([pd.DataFrame(dict(later.samples.names)), found], axis=1), out, later.notes)


def probabilities(model: nn.Module, samples: Labelled) -> NDArray[np.float64]:
    """Class probabilities `(samples, classes)`, each of which depends on its sample alone."""
    if not len(samples):
        return np.empty((0, len(samples.classes)))
    return targets.decoded(outputs_of(model, samples).double(), None)


@torch.no_grad()
def outputs_of(model: nn.Module, samples: Labelled, at_once: int = PREDICTED) -> Tensor:
    """What a model gives for every sample, in their order."""
    model.eval()
    with best_device(model):
        where = device_of(model)
        return torch.cat([model(batch["inputs"].to(where)).cpu() for batch in samples.batches(at_once)])
