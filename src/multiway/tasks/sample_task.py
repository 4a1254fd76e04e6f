"""What tasks of samples share: these are read, split, learnt from and encoded, and candidates are fitted on them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from torch import Tensor, nn

from multiway.config import Config, Plain
from multiway.data.checking import warnings_of
from multiway.data.samples import Prepared, Samples
from multiway.data.splitting import Splits, split
from multiway.data.writing import check_target
from multiway.errors import ConfigError, Fix, Message
from multiway.lazy import load_extra
from multiway.tasks.declarations import Encoding
from multiway.tasks.kind import SampleKind
from multiway.tasks.protocol import NETWORK, SPLITS, Context, Fitted, Row, Settled, Task
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import AnySampleCandidate, Basis, Lesson, Network
from multiway.tasks.scores import warn_of_lopsided
from multiway.tasks.stored import SplitFacts


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


def sample_task(encoding: Encoding, **parts: Any) -> Task:
    """A task on samples, whose candidates are `SampleCandidate`s; parts that are given stand above these.

    What it predicts are `SplitPredictions`.
    """
    usual: Plain = {
        "encoding": encoding,
        "facts": SampleFacts,
        "prepare": partial(prepare_samples, parts["kind"], encoding),
        "warnings": partial(list_warnings, parts["kind"]),
        "names": partial(name_models, parts["candidates"]),
        "build": partial(build_model, parts["candidates"]),
        "fit": fit_model,
        "score": score_split,
        "tables": list_tables,
        "describe": describe_splits,
        "cautions": warn_of_lopsided,
        "far_scored": lambda run, prepared: run.task.far(run, prepared.raw),
        "sample": sample_inputs,
    }
    return Task(**{**usual, **parts})


def prepare_samples(
    kind: SampleKind,
    encoding: Encoding,
    config: Any,
    source: object,
    state: Any = None,
    *,
    labelled: bool = True,
    progress: bool = False,
) -> Prepared[Any, Any]:
    """Samples, split and encoded by what the training ones say; with a state later ones, matched to the training.

    labelled: Whether targets are needed.
    """
    samples = kind.read_sound(config, source, state, has_target=labelled)
    if state is not None:
        splits = encoding.split_later(config, samples) if labelled else {}
        encoded = encoding.encode(config, samples, state, progress=progress)
        return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=encoded.notes)
    if samples.target is None and samples.labelling:
        raise ConfigError(f"{samples.source}: a target to predict is needed. ", *samples.labelling)
    splits = split(samples, config.split, fix=encoding.split_field)
    return arrange(encoding, config, samples, splits, progress=progress)


def arrange(
    encoding: Encoding, config: Any, samples: Samples[Any], splits: Splits, *, progress: bool = False
) -> Prepared[Any, Any]:
    """Samples encoded by what the training ones among them say, in the task's own way where it has one."""
    own = encoding.arrange or partial(learn_and_encode, encoding)
    prepared: Prepared[Any, Any] = own(config, samples, splits, progress=progress)
    return prepared


def learn_and_encode(
    encoding: Encoding, config: Any, samples: Samples[Any], splits: Splits, *, progress: bool = False
) -> Prepared[Any, Any]:
    """Samples encoded by what the training ones among them say."""
    state = encoding.learn(config, samples, splits["train"])
    encoded = encoding.encode(config, samples, state, progress=progress)
    notes = (*encoded.notes, *encoding.remarks(encoded, splits))
    return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=notes)


def list_warnings(kind: SampleKind, config: Any, prepared: Prepared[Any, Any]) -> Sequence[str | Message]:
    """What a check warns of."""
    raw = prepared.raw
    return (*raw.warned, *warnings_of(raw, prepared.splits, kind.hooks(config)))


Candidates = Callable[[], Mapping[str, AnySampleCandidate]]


def name_models(candidates: Candidates, config: Any, state: Any) -> tuple[str, ...]:
    """The network, and the baselines of the config that the data allow; all usual ones where it names none."""
    every, basis = candidates(), Basis(config, state)
    if config.baselines is None:
        return (NETWORK, *(name for name, each in every.items() if name != NETWORK and each.is_usual(basis)))
    return (NETWORK, *(name for name in dict.fromkeys(config.baselines) if every[name].can_answer(basis)))


def settle_usual(
    candidates: Candidates, config: Any, prepared: Prepared[Any, Any], spent: float, *, progress: bool = False
) -> Settled:
    """The usual candidates by their names, where none were named.

    Raises:
        ConfigError: The library of one that was named is not installed.
    """
    names = name_models(candidates, config, prepared.state)[1:]
    for name in names:
        if library := candidates()[name].library:
            load_extra(library[0], f"the baseline {name}", library[1])
    return Settled(config.model_copy(update={"baselines": names}), prepared.state)


def build_model(candidates: Candidates, config: Any, state: Any, name: str) -> nn.Module:
    """Draw a candidate."""
    model: nn.Module = candidates()[name].build(Basis(config, state))
    return model


def fit_model(run: Run, name: str, prepared: Prepared[Any, Any], context: Context) -> Fitted:
    """Fit a candidate on the samples as it sees them."""
    candidate: AnySampleCandidate = run.task.candidates()[name]
    training, validation = (
        Lesson(candidate.inputs(run, prepared.part(split)), run, context) for split in ("train", "validation")
    )
    fitted: Fitted = candidate.fit(run.models[name], training, validation)
    return fitted


def network_of(task: Task) -> Network:
    """The candidate that is the network of a task."""
    network: Network = task.candidates()[NETWORK]
    return network


def score_split(run: Run, predictions: SplitPredictions, split: str) -> list[Row]:
    """Every metric of every model, with its interval."""
    return predictions.scores(split, run.config.draws)


def list_tables(run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
    """Predictions sample by sample."""
    return {"predictions": predictions.frame(split)}


def describe_splits(run: Run, prepared: Prepared[Any, Any], predictions: object = None) -> Plain:
    """How much is in each split."""
    return {"splits": {split: prepared.counts(split) for split in SPLITS}}


def sample_inputs(run: Run, prepared: Prepared[Any, Any]) -> tuple[Tensor | None, ...]:
    """Some validation inputs."""
    return network_of(run.task).sample(run, prepared)


def find_later(task: Task, data: str | None, out: Path | None) -> str:
    """Where the data of `predict` lie, once its answer can be written."""
    if data is None:
        raise ConfigError(f"predict: a run of {task.name} needs {task.needs} (", Fix("data", like="FILE"), ").")
    check_target(out)
    return task.locate(data)
