"""What tasks of samples share: these are read, split, learnt from and encoded, and candidates are fitted on them."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from torch import Tensor, nn

from multiway.config import Config, Plain
from multiway.data import CheckReport
from multiway.data.checking import Hook, check_samples, warnings_of
from multiway.data.findings import Findings
from multiway.data.samples import Prepared, Rows, Samples, read_samples
from multiway.data.sources.bytes import within
from multiway.data.sources.tables import source_name
from multiway.data.splitting import Splits, notes_on_draws, split
from multiway.data.writing import check_target
from multiway.errors import ConfigError, Fix, Message
from multiway.tasks.protocol import NETWORK, SPLITS, Context, Fitted, Row, Task
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


def encode_by_state(config: Any, samples: Samples[Any], state: Any, *, progress: bool = False) -> Samples[Any]:
    """Samples as the network takes them, by what the state says."""
    encoded: Samples[Any] = state.encoded(samples)
    return encoded


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleKind:
    """How samples of a kind are read, learnt from and encoded.

    read: Samples of a source, with flaws noted in findings; later ones are matched by name to a state.
    learn: What the training rows say, which is the state: classes, sizes, scales, levels, words.
    encode: Samples as the network takes them; numbers to predict are scaled.
    arrange: Samples of splits, learnt from and encoded at once, where one needs the other.
    split_later: Splits of samples that come after the training; none if not given.
    describe: Facts that a check says first.
    missing: Missing values by column.
    checks: What a check looks for in samples of the kind, besides what it looks for in all.
    remarks: What a reader of the scores should know of the splits, one line each.
    label: What messages call a source.
    split_field: Names the column of splits, where there can be one.
    """

    read: Callable[..., Samples[Any]]
    learn: Callable[[Any, Samples[Any], Rows], Any]
    encode: Callable[..., Samples[Any]] = encode_by_state
    arrange: Callable[..., Prepared[Any, Any]] | None = None
    split_later: Callable[[Any, Samples[Any]], Splits] = lambda config, samples: {}
    describe: Callable[[Samples[Any]], Mapping[str, object]] = lambda samples: {samples.word: len(samples)}
    missing: Callable[[Samples[Any]], dict[str, int]] = lambda samples: {}
    checks: Callable[[Any], Sequence[Hook]] = lambda config: ()
    remarks: Callable[[Samples[Any], Splits], Iterable[str]] = notes_on_draws
    label: Callable[[object], str] = source_name
    split_field: Fix | None = None


def sample_task(kind: SampleKind, **parts: Any) -> Task:
    """A task on samples of a kind, whose candidates are `SampleCandidate`s; parts that are given stand above these.

    What it predicts are `SplitPredictions`.
    """
    usual: Plain = {
        "samples": kind,
        "facts": SampleFacts,
        "prepare": partial(prepare_samples, kind),
        "check": partial(check_source, kind),
        "warnings": partial(list_warnings, kind),
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
    samples = read_soundly(kind, config, source, state, has_target=labelled)
    if state is not None:
        splits = kind.split_later(config, samples) if labelled else {}
        encoded = kind.encode(config, samples, state, progress=progress)
        return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=encoded.notes)
    if samples.target is None and samples.labelling:
        raise ConfigError(f"{samples.source}: a target to predict is needed. ", *samples.labelling)
    splits = split(samples, config.split, fix=kind.split_field)
    return (kind.arrange or partial(arrange_samples, kind))(config, samples, splits, progress=progress)


def read_soundly(
    kind: SampleKind, config: Any, source: object, state: Any = None, *, has_target: bool = True
) -> Samples[Any]:
    """Samples of a source without a flaw."""

    def read(findings: Findings) -> Samples[Any]:
        with within(config.read, source):
            return kind.read(config, source, findings, state, has_target=has_target)

    return read_samples(kind.label(source), read)


def arrange_samples(
    kind: SampleKind, config: Any, samples: Samples[Any], splits: Splits, *, progress: bool = False
) -> Prepared[Any, Any]:
    """Samples encoded by what the training ones among them say."""
    state = kind.learn(config, samples, splits["train"])
    encoded = kind.encode(config, samples, state, progress=progress)
    notes = (*encoded.notes, *kind.remarks(encoded, splits))
    return Prepared(raw=samples, encoded=encoded, state=state, splits=splits, notes=notes)


def check_source(kind: SampleKind, config: Any, source: object) -> CheckReport:
    """What is in the data, and all that is wrong with them."""

    def read(findings: Findings) -> Samples[Any]:
        with within(config.read, source):
            return kind.read(config, source, findings)

    return check_samples(
        kind.label(source), read, config.split, facts=kind.describe, missing=kind.missing, hooks=kind.checks(config)
    )


def list_warnings(kind: SampleKind, config: Any, prepared: Prepared[Any, Any]) -> Sequence[str | Message]:
    """What a check warns of."""
    raw = prepared.raw
    return (*raw.warned, *warnings_of(raw, prepared.splits, kind.checks(config)))


Candidates = Callable[[], Mapping[str, AnySampleCandidate]]


def name_models(candidates: Candidates, config: Any, state: Any) -> tuple[str, ...]:
    """The network, and the baselines of the config that the data allow; all usual ones where it names none."""
    every, basis = candidates(), Basis(config, state)
    if config.baselines is None:
        return (NETWORK, *(name for name, each in every.items() if name != NETWORK and each.is_usual(basis)))
    return (NETWORK, *(name for name in dict.fromkeys(config.baselines) if every[name].allowed(basis)))


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
    return candidate.fit(run.models[name], training, validation)


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
