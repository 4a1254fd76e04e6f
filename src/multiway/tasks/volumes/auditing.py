"""Audit of a set of labelled volumes and its split."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from multiway.auditing import AuditReport, Verdict
from multiway.auditing.duplicates import digest_of
from multiway.auditing.scans import (
    NOT_SCALED,
    Moments,
    Traces,
    check_copies,
    check_files,
    check_grid,
    check_patients,
    check_scale,
    title_of,
    torn_cases,
)
from multiway.data import datasets
from multiway.data.volumes import Cases, IntensityScale
from multiway.errors import DataError
from multiway.tasks.run import Run
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.prepared import prepare


def audit(config: VolumeConfig, run: Run | None = None) -> AuditReport:
    """Whether scans or patients are in two splits, labels contradict, and scaling or the grid gives the class away.

    Raises:
        DataError: The data cannot be read, or training would refuse it for another reason than torn patients.
    """
    source = datasets.locate(config.data or "")
    torn = torn_cases(source, config.read)
    if torn is not None:
        volumes: Iterator[NDArray[Any]] = (torn.prepared(index).values for index in range(torn.count))
        return AuditReport.of(title_of(torn.source, torn.splits), _verdicts(torn, volumes, None))
    prepared = prepare(config, source)
    scale = prepared.scale if run is None else run.state.scale
    title = title_of(prepared.cases.source, prepared.cases.splits)
    return AuditReport.of(title, _verdicts(prepared.cases, iter(prepared.values), scale))


def _verdicts(cases: Cases, volumes: Iterator[NDArray[Any]], scale: IntensityScale | None) -> Iterator[Verdict | None]:
    if cases.labels is None:
        raise DataError(
            f"{cases.source}: classes are learnt from labels, and there are none. Name them (--label NAME)."
        )
    labels = [cases.classes[label] for label in cases.labels]
    digests, moments, traces = [], Moments(), Traces()
    for volume in volumes:
        digests.append(digest_of(volume))
        moments.add(volume)
        traces.add(volume)
    yield check_files(cases)
    yield check_patients(cases.patients, cases.splits)
    yield from check_copies(digests, labels, cases.names, cases.splits, "volume")
    yield from traces.check(cases, digests, labels)
    yield check_grid(cases, labels)
    yield NOT_SCALED if scale is None else check_scale(scale, moments, cases.indices("train"), cases.options)
