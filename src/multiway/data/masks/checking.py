"""What is in a table of images and masks, or in a scene: cases, classes, empty masks, and what is wrong."""

from pathlib import Path
from typing import Any

import numpy as np

from multiway.data import CheckReport
from multiway.data.findings import Finding, Place, Severity
from multiway.data.masks.examples import Examples, examples_of_cases, read_examples
from multiway.data.masks.options import MaskOptions
from multiway.data.scenes import is_scene
from multiway.data.volumes import Arrays, check_volumes
from multiway.data.volumes.checking import ORDER
from multiway.errors import DataError


def check_masks(source: str | Path | Arrays, options: MaskOptions) -> CheckReport:
    """Say what `check_volumes` says of the images, then what the masks hold; one image in memory at a time."""
    of_scene = not isinstance(source, Arrays) and is_scene(source)
    images = CheckReport(source=str(source), summary={}, findings=())
    if not of_scene:
        images = check_volumes(source, options.read, options.split)
    if not images.is_usable:
        return images
    try:
        summary, findings = _look(_examples(source, options))
    except DataError as error:
        finding = _finding("unreadable", "error", str(error).rstrip("."))
        return CheckReport(source=images.source, summary={}, findings=(finding,))
    said = {finding.line() for finding in images.findings}
    new = [each for each in findings if each.line() not in said and (of_scene or each.kind != "constant")]
    every = sorted([*images.findings, *new], key=lambda item: ORDER[item.severity])
    return CheckReport(source=images.source, summary={**images.summary, **summary}, findings=tuple(every))


def _examples(source: str | Path | Arrays, options: MaskOptions) -> Examples:
    if isinstance(source, Arrays):
        return examples_of_cases(source.cases(options.read, options.split), options)
    return read_examples(str(source), options)


def _look(examples: Examples) -> tuple[dict[str, Any], list[Finding]]:
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
    return summary, findings


def _shares(examples: Examples, counts: Any) -> str:
    total = max(int(counts.sum()), 1)
    return ", ".join(f"{name} {count / total:.2%}" for name, count in zip(examples.classes, counts, strict=True))


def _finding(kind: str, severity: Severity, rule: str, cases: list[str] | None = None) -> Finding:
    places = tuple(Place(detail=case) for case in cases or ())
    return Finding(kind=kind, severity=severity, rule=rule, places=places, count=max(len(places), 1))
