"""Labelled series as samples: of archives, arrays and long tables."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, refuse_huge
from multiway.data.matching import match_classes, positions
from multiway.data.options import SequenceOptions
from multiway.data.samples import Samples
from multiway.data.sources.cells import LARGEST
from multiway.data.sources.series import Sequences, Values
from multiway.data.sources.series_reading import read_series_into
from multiway.data.targets import classes_of
from multiway.errors import DataError, Fix
from multiway.tasks.series.encode import SeriesState


def series_of(
    source: object,
    options: SequenceOptions,
    findings: Findings,
    state: SeriesState | None = None,
    *,
    has_target: bool = True,
) -> Samples[Values]:
    """Series with their classes; later ones have the variates, the length and the classes of the training."""
    if state is not None:
        roles = {} if has_target else {"target": None, "group": None}
        options = options.replace(columns=state.variates, length=None, **roles)
    series = read_series_into(source, options, findings, has_target=has_target)
    if state is not None:
        series = state.resized(series)
    _refuse_huge(series, findings)
    labels = series.labels if has_target else None
    if state is not None and has_target and labels is None:
        fix = Fix("read.target", like="NAME")
        raise DataError(f"{series.source}: scores need classes, and there are none. Name them (", fix, ").")
    classes = (
        state.classes if state is not None else None if labels is None else classes_of(labels, series.source, "series")
    )
    return Samples(
        inputs=series.values,
        source=series.source,
        word="series",
        names={"series": series.names},
        target=None if labels is None or classes is None else _positions(series, labels, classes),
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


def _positions(series: Sequences, labels: Sequence[str], classes: tuple[str, ...]) -> NDArray[np.int64]:
    """Classes by position."""
    codes = positions(labels, classes)
    return codes if (codes >= 0).all() else match_classes(labels, classes, series.source, "series")
