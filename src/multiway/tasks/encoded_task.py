"""What tasks of samples share: read, split, learnt from and encoded, then a network trained on them by steps."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd
from torch import Tensor, nn

from multiway.config import Config, Plain
from multiway.data.checking import warnings_of
from multiway.data.matching import Far
from multiway.data.samples import InputsT, Prepared, Samples
from multiway.data.splitting import Splits, notes_on_draws, split
from multiway.data.writing import check_target
from multiway.errors import ConfigError, Fix, Message
from multiway.tasks.fitting import Rival, nearing
from multiway.tasks.kind import SampleKind
from multiway.tasks.lifecycle import announce
from multiway.tasks.options import RunConfig
from multiway.tasks.protocol import NETWORK, SPLITS, Context, Fitted, Metric, Row, State, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of, warn_of_lopsided
from multiway.tasks.stored import SplitFacts
from multiway.training import Objective, Source, TrainingConfig, train


class Part(Source, Protocol):
    """Samples of a split."""

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""


class SplitPredictions(Protocol):
    """What the models of a run say of a split."""

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric, with its interval."""

    def frame(self, split: str) -> pd.DataFrame:
        """What each model says, sample by sample."""


class Counts(Config):
    """Samples of a split."""

    samples: int
    groups: int | None
    classes: dict[str, int] | None


class SampleFacts(SplitFacts[Counts]):
    """Of samples."""


ConfigT = TypeVar("ConfigT", bound=RunConfig)
LearntT = TypeVar("LearntT", bound=State)


class EncodedTask(Task[ConfigT, Prepared[InputsT, LearntT], LearntT], Generic[ConfigT, InputsT, LearntT]):
    """A network that is trained by steps on encoded samples of one split, and baselines fitted on the same.

    A task gives the `kind` of its samples, `learnt` and `encode` (what training learns), `build`, `objective`,
    and `fit_baseline`. What it predicts are `SplitPredictions`.
    """

    facts: type[SplitFacts[Any]] = SampleFacts
    split_field: Fix | None = None
    """Names the column of splits, where there can be one."""

    needs: str
    """What `predict` is given, and how, to say where there is none."""
    scored: tuple[Metric, ...]
    """The first decides."""
    told: tuple[str, str]
    """Metrics of the sentence on a run."""
    sampled: int = 64
    """Samples that a compression is measured on."""
    by_steps: tuple[str, ...] = (NETWORK,)
    """Models that are trained by steps; all others are fitted in their own way."""

    counting: tuple[str, ...] = ()
    """Baselines that count words, and do well on texts that stand in the training."""
    counted_by: str = "acc"
    """Metric of theirs that two splits have alike."""

    kind: SampleKind

    learnt: Callable[..., Any]
    """What the training rows say: classes, sizes, scales, levels, words."""

    def encode(self, config: ConfigT, samples: Samples[InputsT], state: Any, *, progress: bool = False) -> Samples[Any]:
        """Samples as the network takes them, by what the state says; numbers to predict are scaled."""
        encoded: Samples[Any] = state.encoded(samples)
        return encoded

    def remarks(self, samples: Samples[Any], splits: Splits) -> Iterable[str]:
        """What a reader of the scores should know of the splits, one line each."""
        return notes_on_draws(samples, splits)

    def prepare(
        self, config: ConfigT, source: object, state: LearntT | None = None, *, progress: bool = False
    ) -> Prepared[InputsT, LearntT]:
        """Samples, split and encoded; later ones matched to the training."""
        samples = self.kind.read_sound(config, source, state)
        if state is not None:
            return self._prepared(config, samples, state, self.later_splits(config, samples), progress=progress)
        if samples.target is None and samples.labelling:
            raise ConfigError(f"{samples.source}: a target to predict is needed. ", *samples.labelling)
        splits = split(samples, config.split, fix=self.split_field)
        return self.arranged(config, samples, splits, progress=progress)

    def warned(self, config: ConfigT, prepared: Prepared[InputsT, LearntT]) -> Sequence[str | Message]:
        """What a check warns of."""
        raw = prepared.raw
        return (*raw.warned, *warnings_of(raw, prepared.splits, self.kind.hooks(config)))

    def later_splits(self, config: ConfigT, samples: Samples[InputsT]) -> Splits:
        """Splits of samples that come after the training; none, unless a task says so."""
        return {}

    def arranged(
        self, config: ConfigT, samples: Samples[InputsT], splits: Splits, *, progress: bool = False
    ) -> Prepared[InputsT, LearntT]:
        """Samples encoded by what the training ones among them say."""
        return self._prepared(config, samples, self.learnt(config, samples, splits["train"]), splits, progress=progress)

    def unlabelled(self, config: ConfigT, source: object, state: LearntT) -> Prepared[InputsT, LearntT]:
        """Later samples, on disk or in memory, whose targets nobody needs to know."""
        return self._prepared(config, self.kind.read_sound(config, source, state, has_target=False), state, {})

    def _prepared(
        self, config: ConfigT, samples: Samples[InputsT], state: LearntT, splits: Splits, *, progress: bool = False
    ) -> Prepared[InputsT, LearntT]:
        encoded = self.encode(config, samples, state, progress=progress)
        notes = (*encoded.notes, *(self.remarks(encoded, splits) if splits else ()))
        return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=notes)

    def far_scored(self, run: Run, prepared: Prepared[InputsT, LearntT]) -> Sequence[Far]:
        """As in data that are answered."""
        return self.far(run, prepared.raw)

    def learn(self, config: ConfigT, prepared: Prepared[InputsT, LearntT]) -> LearntT:
        """What the training samples say."""
        return prepared.state

    objective: Callable[..., Objective]
    """What training minimises."""

    fit_baseline: Callable[..., Fitted]
    """Fit one of the run's baselines; what a closed form found is returned as facts."""

    def objective_of(self, run: Run, name: str, training: Samples[Any]) -> Objective:
        """What the training of one of the models minimises, where they differ."""
        return self.objective(run, training)

    def training_of(self, config: ConfigT, name: str) -> TrainingConfig:
        """How one of the models is trained, where they differ."""
        return config.training

    def learnt_from(self, run: Run, training: Samples[Any]) -> Source:
        """Training samples as the network sees them, changed at random where a config says so."""
        return training

    def checked_on(self, run: Run, validation: Samples[Any]) -> Part:
        """Validation samples as the network sees them."""
        return validation

    def seen_by(self, run: Run, name: str, samples: Samples[Any]) -> Samples[Any]:
        """Samples with the inputs of a model of the run, where a baseline has others than the network."""
        return samples

    def validated_by(
        self, run: Run, validation: Samples[Any]
    ) -> tuple[Objective | None, Callable[[nn.Module], float] | None]:
        """Another objective for the choice of the epoch, and a score that takes its place; none, unless a task says."""
        return None, None

    def loss_of(self, run: Run, name: str, validation: Samples[Any]) -> float | None:
        """Loss of a fitted baseline, or one less its score, as the network is validated; None where it has none."""
        return None

    def watch(self, run: Run) -> Callable[[nn.Module], dict[str, list[float]]] | None:
        """What the log keeps of the network at each validation; nothing, unless a task says otherwise."""
        return None

    def names(self, config: ConfigT, state: LearntT) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        return (self.own, *(config.baselines or ()))

    def fit(self, run: Run, name: str, prepared: Prepared[InputsT, LearntT], context: Context) -> Fitted:
        """Networks by steps, all else in its own way."""
        model, training, validation = run.models[name], prepared.part("train"), prepared.part("validation")
        if name not in self.by_steps:
            seen = self.seen_by(run, name, training), self.seen_by(run, name, validation)
            return self.fit_baseline(model, run, *seen)
        announce(name, context)
        validated, score = self.validated_by(run, validation)
        others = context.fitted if name == self.own else ()
        rival = Rival.among({each: self.loss_of(run, each, validation) for each in others}, run.config.answer)
        source, checked = self.learnt_from(run, training), self.checked_on(run, validation)
        objective = self.objective_of(run, name, training)
        if context.teacher is not None:
            objective = nearing(context.teacher, objective)
        return train(
            model,
            objective,
            source,
            checked,
            self.training_of(run.config, name),
            validation_objective=validated,
            validation_score=score,
            watch=self.watch(run),
            run=context.own_folder(),
            progress=context.progress,
            callbacks=context.callbacks,
            stops=None if rival is None else rival.stops,
        )

    def score(self, run: Run, predictions: SplitPredictions, split: str) -> list[Row]:
        """Every metric of every model, with its interval."""
        return predictions.scores(split, run.config.draws)

    def tables(self, run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
        """Predictions sample by sample."""
        return {"predictions": predictions.frame(split)}

    def describe(self, run: Run, prepared: Prepared[InputsT, LearntT]) -> Plain:
        """How much is in each split."""
        return {"splits": {split: prepared.counts(split) for split in SPLITS}}

    def metrics(self, config: ConfigT) -> tuple[Metric, ...]:
        """The first one decides."""
        return self.scored

    def sentence(self, run: Run) -> str:
        """Two test scores."""
        return sentence_of(run, *self.told)

    def uneven(self, run: Run) -> list[str]:
        """Baselines that count words and see one split far better than the other."""
        return warn_of_lopsided(run, self.counting, self.counted_by)

    def cautions(self, run: Run) -> list[str]:
        """Splits that are not alike."""
        return [*super().cautions(run), *self.uneven(run)]

    def sample(self, run: Run, prepared: Prepared[InputsT, LearntT]) -> tuple[Tensor | None, ...]:
        """Some validation inputs."""
        samples = self.checked_on(run, prepared.part("validation"))
        return (samples.gather(samples.some(self.sampled))["inputs"],)

    def later(self, data: str | None, out: Path | None) -> str:
        """Where the data of `predict` lie, once its answer can be written."""
        if data is None:
            raise ConfigError(f"predict: a run of {self.name} needs {self.needs} (", Fix("data", like="FILE"), ").")
        check_target(out)
        return self.locate(data)
