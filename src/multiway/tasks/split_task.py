"""What tasks share whose samples are split, and whose network is trained on a part of them by steps."""

import abc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pandas as pd
from torch import Tensor, nn

from multiway.config import Plain
from multiway.data.writing import check_target
from multiway.errors import ConfigError, Fix
from multiway.tasks.lifecycle import announce
from multiway.tasks.nearing import nearing
from multiway.tasks.protocol import NETWORK, SPLITS, Context, Fitted, Metric, Prepared, Row, State, Task, TaskConfig
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.training import Objective, Source, TrainingConfig, train


class SplitConfig(TaskConfig, Protocol):
    """A config of such a task."""

    @property
    def baselines(self) -> Sequence[str] | None:
        """Names of the baselines; None until the data settle them."""

    @property
    def draws(self) -> int:
        """Bootstrap samples behind each interval."""


class Part(Source, Protocol):
    """Samples of a split."""

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""


class PreparedParts(Prepared, Protocol):
    """Samples with their splits."""

    def part(self, split: str) -> Any:
        """The samples of a split, as the training takes them; all where there is no such split."""

    def counts(self, split: str) -> Plain:
        """How much there is in a split."""


class SplitPredictions(Protocol):
    """What the models of a run say of a split."""

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric, with its interval."""

    def frame(self, split: str) -> pd.DataFrame:
        """What each model says, sample by sample."""


ConfigT = TypeVar("ConfigT", bound=SplitConfig)
PreparedT = TypeVar("PreparedT", bound=PreparedParts)
StateT = TypeVar("StateT", bound=State)
PartT = TypeVar("PartT", bound=Part)


class SplitTask(Task[ConfigT, PreparedT, StateT], Generic[ConfigT, PreparedT, StateT, PartT]):
    """A network that is trained by steps on the samples of one split, and baselines fitted on the same.

    A task gives the rest; its config is a `SplitConfig`, and what it predicts are `Predictions`.
    """

    needs: ClassVar[str]
    """What `predict` is given, and how, to say where there is none."""
    scored: ClassVar[tuple[Metric, ...]]
    """The first decides."""
    told: ClassVar[tuple[str, str]]
    """Metrics of the sentence on a run."""
    sampled: ClassVar[int] = 64
    """Samples that a compression is measured on."""
    by_steps: ClassVar[tuple[str, ...]] = (NETWORK,)
    """Models that are trained by steps; all others are fitted in their own way."""

    @abc.abstractmethod
    def objective(self, run: Run, training: PartT) -> Objective:
        """What training minimises."""

    @abc.abstractmethod
    def fit_baseline(self, model: nn.Module, run: Run, training: PartT, validation: PartT) -> Fitted:
        """Fit one of the run's baselines; what a closed form found is returned as facts."""

    def objective_of(self, run: Run, name: str, training: PartT) -> Objective:
        """What the training of one of the models minimises, where they differ."""
        return self.objective(run, training)

    def training_of(self, config: ConfigT, name: str) -> TrainingConfig:
        """How one of the models is trained, where they differ."""
        return config.training

    def learnt_from(self, run: Run, training: PartT) -> Source:
        """Training samples as the network sees them, changed at random where a config says so."""
        return training

    def checked_on(self, run: Run, validation: PartT) -> Part:
        """Validation samples as the network sees them."""
        return validation

    def seen_by(self, run: Run, name: str, samples: PartT) -> PartT:
        """Samples with the inputs of a model of the run, where a baseline has others than the network."""
        return samples

    def validated_by(self, run: Run, validation: PartT) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """Another objective for the choice of the epoch, and a score that takes its place; none, unless a task says."""
        return None, None

    def watch(self, run: Run) -> Callable[[nn.Module], dict[str, list[float]]] | None:
        """What the log keeps of the network at each validation; nothing, unless a task says otherwise."""
        return None

    def names(self, config: ConfigT, state: StateT) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        return (self.own, *(config.baselines or ()))

    def fit(self, run: Run, name: str, prepared: PreparedT, context: Context) -> Fitted:
        """Networks by steps, all else in its own way."""
        model, training, validation = run.models[name], prepared.part("train"), prepared.part("validation")
        if name not in self.by_steps:
            seen = self.seen_by(run, name, training), self.seen_by(run, name, validation)
            return self.fit_baseline(model, run, *seen)
        announce(name, context)
        validated, score = self.validated_by(run, validation)
        source, checked = self.learnt_from(run, training), self.checked_on(run, validation)
        objective = self.objective_of(run, name, training)
        if context.teacher is not None:
            objective = nearing(context.teacher, objective)
        return train(
            model, objective, source, checked, self.training_of(run.config, name),
            validation_objective=validated, validation_score=score, watch=self.watch(run), run=context.own_folder(),
            progress=context.progress, follow=context.follow,
        )  # fmt: skip

    def score(self, run: Run, predictions: SplitPredictions, split: str) -> list[Row]:
        """Every metric of every model, with its interval."""
        return predictions.scores(split, run.config.draws)

    def tables(self, run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
        """Predictions sample by sample."""
        return {"predictions": predictions.frame(split)}

    def describe(self, run: Run, prepared: PreparedT) -> Plain:
        """How much is in each split."""
        return {"splits": {split: prepared.counts(split) for split in SPLITS}}

    def metrics(self, config: ConfigT) -> tuple[Metric, ...]:
        """The first one decides."""
        return self.scored

    def sentence(self, run: Run) -> str:
        """Two test scores."""
        return sentence_of(run, *self.told)

    def sample(self, run: Run, prepared: PreparedT) -> tuple[Tensor | None, ...]:
        """Some validation inputs."""
        samples = self.checked_on(run, prepared.part("validation"))
        return (samples.gather(samples.some(self.sampled))["inputs"],)

    def later(self, data: str | None, out: Path | None) -> str:
        """Where the data lie that `predict` is asked about, once its answer can be written."""
        if data is None:
            raise ConfigError(f"predict: a run of {self.name} needs {self.needs} (", Fix("data", like="FILE"), ").")
        check_target(out)
        return self.locate(data)
