"""What tasks on the classes of samples share: series, texts and images."""

import abc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.config import Config
from multiway.data.labelled import Labelled, PreparedSamples
from multiway.data.writing import check_target
from multiway.errors import ConfigError
from multiway.tasks import targets
from multiway.tasks.answers import Answer, written
from multiway.tasks.protocol import OURS, SPLITS, Context, Metric, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import Facts
from multiway.training import History, Objective, Source, TrainingConfig, train
from multiway.training.devices import best_device, device_of

PREDICTED, SAMPLED = 256, 64
"""Samples that are predicted at once, and that a compression is measured on."""


class ClassConfig(Protocol):
    """A config of a task on classes."""

    @property
    def data(self) -> str | None:
        """As in every config."""

    @property
    def training(self) -> TrainingConfig:
        """As in every config."""

    @property
    def baselines(self) -> Sequence[str]:
        """Names of the baselines."""

    @property
    def draws(self) -> int:
        """Bootstrap samples behind each interval."""


class ClassState(Protocol):
    """What a loaded run needs to rebuild its models, the names of the classes among it."""

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes, in the order of the outputs."""


class SplitFacts(Config):
    """Samples of a split."""

    samples: int
    groups: int | None
    classes: dict[str, int]


class ClassFacts(Facts):
    """Of samples with classes."""

    splits: dict[str, SplitFacts]


ConfigT = TypeVar("ConfigT", bound=Config)
StateT = TypeVar("StateT", bound=Any)


class ClassTask(Task[ConfigT, PreparedSamples, StateT]):
    """Classes of samples. Models map inputs to one logit per class; the network is trained by cross-entropy.

    A task gives the rest: config, state, options, page; `prepare`, `unlabelled`, `check`, `audit`, `learn`, `build`,
    `fit_baseline`. Its config is a `ClassConfig`, its state a `ClassState`.
    """

    facts: ClassVar[type[ClassFacts]] = ClassFacts
    sections_of_reading = ("read", "split")
    noun: ClassVar[str] = "sample"
    """What one of them is called."""
    scored: ClassVar[tuple[Metric, ...]] = (*targets.CLASSES, targets.MORE["f1"])
    """The first decides."""
    told: ClassVar[tuple[str, str]] = ("acc", "auc")
    """Metrics of the sentence on a run."""

    @abc.abstractmethod
    def unlabelled(self, config: ConfigT, source: Any, state: StateT) -> PreparedSamples:
        """Later samples, on disk or in memory, whose classes nobody needs to know."""

    @abc.abstractmethod
    def fit_baseline(
        self, run: Run, name: str, training: Labelled, validation: Labelled
    ) -> History | dict[str, Any] | None:
        """Fit a baseline of the run; what a closed form found is returned as facts."""

    def objective(self, run: Run, training: Labelled) -> Objective:
        """What training minimises."""
        return targets.TargetLoss(run.config.training, run.state.classes, training.truth)

    def learnt_from(self, run: Run, training: Labelled) -> Source:
        """Training samples as the network sees them, changed at random where a config says so."""
        return training

    def seen_by(self, run: Run, name: str, samples: Labelled) -> Labelled:
        """Samples with the inputs of a model of the run, where a baseline has others than the network."""
        return samples

    def watch(self, run: Run) -> Callable[[nn.Module], dict[str, list[float]]] | None:
        """What the log keeps of the network at each validation; nothing, unless a task says otherwise."""
        return None

    def names(self, config: ConfigT, state: StateT) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        chosen: Sequence[str] = config.baselines  # type: ignore[attr-defined]  # of a ClassConfig
        return (OURS, *chosen)

    def fit(self, run: Run, name: str, prepared: PreparedSamples, context: Context) -> History | dict[str, Any] | None:
        """The network by steps, a baseline in its own way."""
        training, validation = prepared.part("train"), prepared.part("validation")
        if name != OURS:
            seen = (self.seen_by(run, name, part) for part in (training, validation))
            return self.fit_baseline(run, name, *seen)
        objective, source, how = self.objective(run, training), self.learnt_from(run, training), run.config.training
        return train(
            run.models[name], objective, source, validation, how,
            watch=self.watch(run), run=context.folder, progress=context.progress,
        )  # fmt: skip

    def predict(self, run: Run, prepared: PreparedSamples, split: str) -> targets.Predictions:
        """Samples, with the probabilities of every model."""
        part = prepared.part(split)
        return targets.Predictions(
            samples=part.names, names=part.classes, truth=part.truth, groups=part.groups, metrics=self.scored,
            outputs={name: probabilities(model, self.seen_by(run, name, part)) for name, model in run.models.items()},
        )  # fmt: skip

    def score(self, run: Run, predictions: targets.Predictions, split: str) -> list[Row]:
        """Every metric of every model, with its interval."""
        return predictions.scores(split, run.config.draws)

    def tables(self, run: Run, predictions: targets.Predictions, split: str) -> dict[str, pd.DataFrame]:
        """Predictions sample by sample."""
        return {"predictions": predictions.frame(split)}

    def describe(self, run: Run, prepared: PreparedSamples) -> dict[str, Any]:
        """How many samples are in each split, and of which class."""
        return {"splits": {split: prepared.part(split).counts() for split in SPLITS}}

    def metrics(self, config: ConfigT) -> tuple[Metric, ...]:
        """The first one decides."""
        return self.scored

    def sentence(self, run: Run) -> str:
        """Two test scores."""
        return sentence_of(run, *self.told)

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test samples there are."""
        return {"test_samples": runs[0].facts["splits"]["test"]["samples"]}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """Every sample of some data with its class and probabilities."""
        if data is None:
            raise ConfigError(f"predict: a run of {self.name} needs {self.noun}s. Give some with --data.")
        check_target(out)
        later = self.unlabelled(run.config, self.locate(data), run.state)
        found = targets.answers(probabilities(run.model, later.samples), run.state.classes)
        return written(pd.concat([pd.DataFrame(dict(later.samples.names)), found], axis=1), out, later.notes)

    def sample(self, run: Run, prepared: PreparedSamples) -> tuple[Tensor | None, ...]:
        """Some validation inputs."""
        samples = prepared.part("validation")
        rows = torch.linspace(0, len(samples) - 1, min(SAMPLED, len(samples))).round().long()
        return (samples.gather(rows)["inputs"],)


@torch.no_grad()
def probabilities(model: nn.Module, samples: Labelled) -> NDArray[np.float64]:
    """Class probabilities `(samples, classes)`, each of which depends on its sample alone."""
    if not len(samples):
        return np.empty((0, len(samples.classes)))
    model.eval()
    with best_device(model):
        where = device_of(model)
        found = [model(batch["inputs"].to(where)).double().cpu() for batch in samples.batches(PREDICTED)]
    return targets.decoded(torch.cat(found), None)
