"""Labelled series as samples: of archives, arrays and long tables."""

from typing import TYPE_CHECKING

import numpy as np

from multiway.config import Plain
from multiway.data.checking import judge_marks
from multiway.data.findings import Findings, Place, list_some, refuse_huge
from multiway.data.looking import Recordings, look_at
from multiway.data.matching import match_classes
from multiway.data.samples import Samples
from multiway.data.sources.cells import LARGEST
from multiway.data.sources.series import Sequences, Values, lengths_of, missing_of
from multiway.data.sources.series_reading import (
    looks_like_sequences,
    read_sequences,
    read_series_into,
    series_label,
)
from multiway.data.targets import classes_of
from multiway.errors import DataError, Fix
from multiway.tasks.kind import SampleKind
from multiway.tasks.series.config import SeriesConfig

if TYPE_CHECKING:  # what needs torch
    from multiway.tasks.series.encode import SeriesState


def is_series(source: object) -> bool:
    """Files and folders of the UCR and UEA archives, long tables with classes, and tables of recordings."""
    return looks_like_sequences(source) or recordings_of(source) is not None


def may_be_series(source: object, *, is_chosen: bool = False) -> bool:
    """Long tables, where options of this task are given."""
    look = look_at(source) if is_chosen else None
    return look is not None and look.is_long


def recordings_of(source: object) -> Recordings | None:
    """Columns of recordings in a table on disk or in memory."""
    look = look_at(source)
    return None if look is None else look.recordings


def config_with_columns(config: SeriesConfig, source: object) -> tuple[SeriesConfig, tuple[Fix, ...]]:
    """Settings that name the columns of recordings, and what was added to them: nothing where some are named."""
    found = recordings_of(source)
    if found is None or any((config.read.id, config.read.time, config.read.target)):
        return config, ()
    return config.replace(read=config.read.replace(**found._asdict())), found.settings()


def propose_columns(config: SeriesConfig, source: object) -> tuple[Fix, ...] | None:
    """Columns of recordings, where none is named; else nothing, where series have classes."""
    own, found = config_with_columns(config, source)
    return None if read_sequences(source, own.read).labels is None else found


def read_series(
    config: SeriesConfig,
    source: object,
    findings: Findings,
    state: "SeriesState | None" = None,
    *,
    has_target: bool = True,
) -> Samples[Values]:
    """Series with their classes; later ones have the variates, the length and the classes of the training."""
    options = config.read
    if state is not None:
        roles = {} if has_target else {"target": None, "group": None}
        options = options.replace(columns=state.variates, length=None, **roles)
    series = read_series_into(source, options, findings, has_target=has_target)
    if state is not None:
        series = state.fit_length(series)
    else:
        values = series.values.reshape(-1, len(series.variates)).T
        judge_marks(zip(series.variates, values, strict=True), options.sentinels, findings)
    _refuse_huge(series, findings)
    labels = series.labels if has_target else None
    if state is not None and has_target and labels is None:
        fix = Fix("read.target", like="NAME")
        raise DataError(f"{series.source}: scores need classes, and there are none. Name them (", fix, ").")
    classes, target = None if state is None else state.classes, None
    if labels is not None:
        classes = classes or classes_of(labels, series.source, "series")
        target = match_classes(labels, classes, series.source, "series")
    return Samples(
        inputs=series.values,
        source=series.source,
        word="series",
        names={"series": series.names},
        target=target,
        classes=classes,
        target_name=series.target_name,
        columns=series.variates,
        groups=series.groups,
        official=series.parts,
        notes=series.notes,
    )


def _refuse_huge(series: Sequences, findings: Findings) -> None:
    huge = np.argwhere(np.isfinite(series.values) & (np.abs(series.values) > LARGEST))
    places = [
        Place(
            column=series.variates[variate],
            value=f"{series.values[row, step, variate]:g}",
            detail=f"{series.names[row]}, step {step + 1}",
        )
        for row, step, variate in huge[:20].tolist()
    ]
    refuse_huge(len(huge), places, findings, "Correct or empty them.", LARGEST)


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


def check_constant(samples: Samples[Values], findings: Findings) -> None:
    """Warn of series that never change."""
    low, high = (edge(samples.inputs, axis=1) for edge in (np.fmin.reduce, np.fmax.reduce))
    places = [samples.place(row) for row in np.flatnonzero((low == high).all(1)).tolist()]
    if places:
        findings.add("constant", "warning", "series never change", "Leave them out if that is not meant.", places)


SEQUENCES = SampleKind(
    recognises=is_series,
    could_take=may_be_series,
    proposal=propose_columns,
    read=read_series,
    label=series_label,
    describe=describe_series,
    count_missing=count_missing,
    hooks=lambda config: (check_constant,),
    complete=lambda config, source: (config_with_columns(config, source)[0], source),
)
