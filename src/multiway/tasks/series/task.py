"""The task `series`, its config, and `SeriesClassifier`: it in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing import AuditReport
from multiway.auditing.samples import audit_sequences
from multiway.config import Plain
from multiway.data import CheckReport
from multiway.data.checking import check_fillers
from multiway.data.findings import Findings, list_some
from multiway.data.looking import Recordings, look_at
from multiway.data.matching import Far, far_columns
from multiway.data.samples import Prepared, Samples
from multiway.data.sources.series import Values, lengths_of, missing_of
from multiway.data.sources.series_reading import looks_like_sequences, read_sequences, series_label
from multiway.errors import Fix
from multiway.tasks import targets
from multiway.tasks.answers import Answer, in_folder
from multiway.tasks.candidate import discover
from multiway.tasks.estimator import estimator
from multiway.tasks.lifecycle import reread
from multiway.tasks.run import Run
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.sample_task import SampleKind, check_source, describe_splits
from multiway.tasks.series import page
from multiway.tasks.series.config import SERIES, SeriesConfig
from multiway.tasks.series.encode import SeriesState
from multiway.tasks.series.explain import EXPLAINED, SeriesFacts, how, importance, importance_frame
from multiway.tasks.series.source import series_of
from multiway.tasks.target_task import target_task


def is_series(source: object) -> bool:
    """Files and folders of the UCR and UEA archives, long tables with classes, and tables of recordings."""
    return looks_like_sequences(source) or recordings_of(source) is not None


def may_be_series(source: object, *, is_chosen: bool = False) -> bool:
    """Long tables, where options of this task are given."""
    look = look_at(source) if is_chosen and not isinstance(source, tuple | list | np.ndarray) else None
    return look is not None and look.is_long


def propose_columns(config: SeriesConfig, source: object) -> tuple[Fix, ...] | None:
    """Columns of recordings, where none is named; else nothing, where series have classes."""
    own, found = config_with_columns(config, source)
    return None if read_sequences(source, own.read).labels is None else found


def check_series(config: SeriesConfig, source: object) -> CheckReport:
    """What is in the data, by the columns of recordings where none is named."""
    return check_source(KIND, config_with_columns(config, source)[0], source)


def read_samples(
    config: SeriesConfig,
    source: object,
    findings: Findings,
    state: SeriesState | None = None,
    *,
    has_target: bool = True,
) -> Samples[Values]:
    """Series of a file, a folder or arrays."""
    return series_of(source, config.read, findings, state, has_target=has_target)


def learn_state(config: SeriesConfig, samples: Samples[Values], train: NDArray[np.int64]) -> SeriesState:
    """Classes, variates, length, and the scale of the training series."""
    return SeriesState.fit(samples.take(train))


def describe_series(samples: Samples[Values]) -> Plain:
    """Lengths, variates and what is missing."""
    lengths, official = lengths_of(samples.inputs), samples.official
    return {
        "series": len(samples),
        "steps": str(lengths.max()) if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}",
        "variates": list_some(samples.columns, 12),
        "missing values": int(missing_of(samples.inputs).sum()),
        "official split": None if official is None else "train and test",
    }


def count_missing(samples: Samples[Values]) -> dict[str, int]:
    """Missing values by variate."""
    return dict(zip(samples.columns, missing_of(samples.inputs).sum(0).tolist(), strict=True))


def audit_series(config: SeriesConfig, run: Run | None = None) -> AuditReport:
    """See `multiway.auditing.samples`."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return audit_sequences(prepared, None if run is None else run.state.scaler)


def describe_run(run: Run, prepared: Prepared[Values, SeriesState], predictions: targets.Predictions) -> Plain:
    """Splits, and what moved the answer to test series."""
    return {**describe_splits(run, prepared), "importance": importance(run, prepared.part("test"))}


def find_far(run: Run, samples: Samples[Values]) -> Sequence[Far]:
    """Values far from those of the training."""
    values = samples.inputs.reshape(-1, samples.inputs.shape[2])
    return far_columns(values, run.state.variates, run.state.scaler, "the values")


def explain_series(run: Run, out: Path | None, options: Plain) -> Answer:
    """Share of each step and each variate in what moved the answer to test series."""
    shares = run.facts["importance"]
    if shares["model"] != run.answer.name:
        shares = importance(run, reread(run).part("test"))
    notes = [
        f"Shares of {how(run.answer.name)}, over {EXPLAINED} test series; those of a mode sum to 1.",
        "It is what the model uses, not what causes.",
    ]
    return in_folder(importance_frame(shares), out, "importance.csv", notes)


def recordings_of(source: object) -> Recordings | None:
    """Columns of recordings in a table on disk or in memory."""
    look = None if isinstance(source, tuple | list | np.ndarray) else look_at(source)
    return None if look is None else look.recordings


def config_with_columns(config: SeriesConfig, source: object) -> tuple[SeriesConfig, tuple[Fix, ...]]:
    """Settings that name the columns of recordings, and what was added to them: nothing where some are named."""
    found = recordings_of(source)
    if found is None or any((config.read.id, config.read.time, config.read.target)):
        return config, ()
    return config.replace(read=config.read.replace(**found._asdict())), found.settings()


def check_constant(samples: Samples[Values], findings: Findings) -> None:
    """Warn of series that never change."""
    low, high = (edge(samples.inputs, axis=1) for edge in (np.fmin.reduce, np.fmax.reduce))
    places = [samples.place(row) for row in np.flatnonzero((low == high).all(1)).tolist()]
    if places:
        findings.add("constant", "warning", "series never change", "Leave them out if that is not meant.", places)


KIND = SampleKind(
    read=read_samples,
    learn=learn_state,
    describe=describe_series,
    missing=count_missing,
    checks=lambda config: (check_constant, check_fillers),
    label=series_label,
)
TASK = target_task(
    KIND,
    **SERIES.parts,
    needs="series. Give some",
    state=SeriesState,
    facts=SeriesFacts,
    page=page.PAGE,
    metrics=lambda config: (*targets.CLASSES, targets.MORE["f1"], targets.MORE["weighted_f1"]),
    candidates=partial(discover, "multiway.tasks.series.candidates", "series"),
    recognises=is_series,
    could_take=may_be_series,
    proposal=propose_columns,
    check=check_series,
    audit=audit_series,
    describe=describe_run,
    far=find_far,
    explain=explain_series,
)


@estimator
class SeriesClassifier(SampleClassifier):
    """Classify series with a transformer of NdLinear layers, scored on held-out series with baselines.

    X is an array `(series, steps)` or `(series, steps, variates)`, NaN where a value is missing, or a list of arrays
    `(steps,)` or `(steps, variates)` of unlike lengths.

    Args:
        layer: Maps of the feed-forward: nd_linear, linear, tensor_train or low_rank.
        epochs: Passes over the training series.
        validation: Share of the series that choose the best epoch.
        test: Share of the series that are scored once, at the end.
        baselines: Some of majority, logistic and rocket.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `SeriesConfig`, nested: `{"model": {"dim": 16}, "training": {"batch_size": 8}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "series"

    _: dataclasses.KW_ONLY
    layer: str = "nd_linear"
    baselines: Sequence[str] = ("majority", "logistic", "rocket")

    def explain(self, X: object, model: str | None = None) -> pd.DataFrame:
        """Share of each step and each variate in the answers to up to 16 series, or in those of a model of the run."""
        return importance_frame(importance(self._run().answered_by(model), self._unlabelled(X)))
