"""What is in a table of images and masks, or in a scene: cases, classes, empty masks, and what is wrong."""

from typing import Any

import numpy as np

from multiway.data import CheckReport
from multiway.data.datasets import locate
from multiway.data.findings import Finding, Place, Severity
from multiway.data.scenes import is_scene
from multiway.data.volumes import check_volumes
from multiway.errors import DataError
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.examples import Examples
from multiway.tasks.segmentation.sources import read_examples

ORDER = {"error": 0, "warning": 1, "note": 2}


def check_segmentation(config: SegmentConfig) -> CheckReport:
    """Say what `check_volumes` says of the images, then what the masks hold; one image in memory at a time."""
    path = config.data or ""
    source = locate(path)
    images = None if is_scene(source) else check_volumes(source, config.read, config.split)
    if images is not None and not images.is_usable:
        return images
    try:
        report = _report(path, read_examples(source, config))
        return report if images is None else _joined(images, report)
    except DataError as error:
        finding = _finding("unreadable", "error", str(error).rstrip("."))
        return CheckReport(source=path, summary={}, findings=(finding,))


def _joined(images: CheckReport, masks: CheckReport) -> CheckReport:
    """Both as one; what is said twice is said once."""
    said = {finding.line() for finding in images.findings}
    new = [finding for finding in masks.findings if finding.line() not in said and finding.kind != "constant"]
    findings = sorted([*images.findings, *new], key=lambda item: ORDER[item.severity])
    return CheckReport(source=images.source, summary={**images.summary, **masks.summary}, findings=tuple(findings))


def _report(path: str, examples: Examples) -> CheckReport:
    voxels = {split: np.zeros(len(examples.classes), np.int64) for split in examples.splits}
    empty: list[str] = []
    constant: list[str] = []
    sizes: dict[tuple[int, ...], int] = {}
    for split, rows in examples.splits.items():
        for row in rows.tolist():
            example = examples.read(row)
            counts = np.bincount(example.target[example.target >= 0], minlength=len(examples.classes))
            voxels[split] += counts
            sizes[example.target.shape] = sizes.get(example.target.shape, 0) + 1
            if examples.background and counts[1:].sum() == 0:
                empty.append(examples.names[row])
            if example.values.min() == example.values.max():
                constant.append(examples.names[row])
    findings = [_finding("note", "note", note) for note in examples.notes]
    if constant:
        findings.append(_finding("constant", "warning", "an image has one value everywhere", constant))
    if empty:
        findings.append(_finding("empty_mask", "note", "a mask marks nothing; its Dice is undefined or 0", empty))
    summary: dict[str, Any] = {
        **{f"{split} cases": len(rows) for split, rows in examples.splits.items()},
        "sizes": ", ".join(f"{'x'.join(map(str, each))} ({count})" for each, count in list(sizes.items())[:4]),
        "channels": examples.channels,
        **{f"{split} voxels": _shares(examples, counts) for split, counts in voxels.items()},
    }
    return CheckReport(
        source=path, summary=summary, findings=tuple(sorted(findings, key=lambda item: ORDER[item.severity]))
    )


def _shares(examples: Examples, counts: Any) -> str:
    total = max(int(counts.sum()), 1)
    return ", ".join(f"{name} {count / total:.2%}" for name, count in zip(examples.classes, counts, strict=True))


def _finding(kind: str, severity: Severity, rule: str, cases: list[str] | None = None) -> Finding:
    places = tuple(Place(detail=case) for case in cases or ())
    return Finding(kind=kind, severity=severity, rule=rule, places=places, count=max(len(places), 1))
