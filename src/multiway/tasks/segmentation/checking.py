"""What is in a table of images and masks, or in a scene: cases, classes, empty masks, and what is wrong."""

from typing import Any

import numpy as np

from multiway.data import CheckReport
from multiway.data.findings import Finding, Place, Severity
from multiway.errors import DataError
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.examples import Examples
from multiway.tasks.segmentation.sources import locate, read_examples


def check_segmentation(path: str, config: SegmentConfig) -> CheckReport:
    """Read every image and mask once, one at a time."""
    try:
        examples = read_examples(locate(path), config)
        return _report(path, examples)
    except DataError as error:
        finding = _finding("unreadable", "error", str(error).rstrip("."))
        return CheckReport(source=path, summary={}, findings=(finding,))


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
    order = {"error": 0, "warning": 1, "note": 2}
    return CheckReport(
        source=path, summary=summary, findings=tuple(sorted(findings, key=lambda item: order[item.severity]))
    )


def _shares(examples: Examples, counts: Any) -> str:
    total = max(int(counts.sum()), 1)
    return ", ".join(f"{name} {count / total:.2%}" for name, count in zip(examples.classes, counts, strict=True))


def _finding(kind: str, severity: Severity, rule: str, cases: list[str] | None = None) -> Finding:
    places = tuple(Place(detail=case) for case in cases or ())
    return Finding(kind=kind, severity=severity, rule=rule, places=places, count=max(len(places), 1))
