"""Audit of a set of labelled volumes and its split."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from multiway.auditing import AuditReport
from multiway.auditing.scans import Images, title_of, torn_cases
from multiway.data import datasets
from multiway.data.volumes import Cases, IntensityScale, prepare_volumes
from multiway.errors import DataError
from multiway.tasks.run import Run
from multiway.tasks.volumes.config import VolumeConfig


def audit(config: VolumeConfig, run: Run | None = None) -> AuditReport:
    """Whether scans or patients are in two splits, labels contradict, and scaling or the grid gives the class away.

    Raises:
        DataError: The data cannot be read, or training would refuse it for another reason than torn patients.
    """
    source = datasets.locate(config.data or "")
    torn = torn_cases(source, config.read)
    if torn is not None:
        return _report(torn, (torn.prepared(index).values for index in range(torn.count)), None)
    prepared = prepare_volumes(source, config.read, config.split)
    return _report(prepared.cases, prepared.values, prepared.scale if run is None else run.state.scale)


def _report(cases: Cases, volumes: Iterable[NDArray[Any]], scale: IntensityScale | None) -> AuditReport:
    if cases.labels is None:
        raise DataError(
            f"{cases.source}: classes are learnt from labels, and there are none. Name them (--label NAME)."
        )
    images = Images(cases.names, cases.patients, cases.splits, "volume")
    for values, label in zip(volumes, cases.labels, strict=True):
        images.add(values, cases.classes[label])
    verdicts = images.verdicts(cases, scale, cases.options, images.labels)
    return AuditReport.of(title_of(cases.source, cases.splits), verdicts)
