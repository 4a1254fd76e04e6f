"""What is in a table of images and masks, or in a scene: cases, classes, empty masks, and what is wrong."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data import CheckReport
from multiway.data.findings import Findings, Place
from multiway.data.sources.scans.cases import Arrays
from multiway.data.sources.scans.checking import check_volumes
from multiway.data.sources.scenes import is_scene
from multiway.errors import DataError
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.source import Examples, read_examples


def check_masks(source: str | Path | Arrays, config: SegmentConfig) -> CheckReport:
    """Say what `check_volumes` says of the images, then what the masks hold; one image in memory at a time."""
    of_scene = not isinstance(source, Arrays) and is_scene(source)
    images = CheckReport(source=str(source), summary={}, findings=())
    if not of_scene:
        images = check_volumes(source, config.read, config.split)
    if not images.is_usable:
        return images
    findings = Findings(images.source)
    try:
        examples = read_examples(source if isinstance(source, Arrays) else str(source), config)
        summary = _look(examples, findings)
    except DataError as error:
        findings.found.clear()
        findings.take("unreadable", error)
        return CheckReport(source=images.source, summary={}, findings=findings.ordered())
    known = {finding.line() for finding in images.findings}
    new = [item for item in findings.found if item.line() not in known and (of_scene or item.kind != "constant")]
    findings.found = [*images.findings, *new]
    return CheckReport(source=images.source, summary={**images.summary, **summary}, findings=findings.ordered())


def _look(examples: Examples, findings: Findings) -> Plain:
    voxels = {split: np.zeros(len(examples.classes), np.int64) for split in examples.splits}
    empty: list[Place] = []
    constant: list[Place] = []
    sizes: dict[tuple[int, ...], int] = {}
    for split, rows in examples.splits.items():
        for row in rows.tolist():
            example, case = examples.read(row), Place(detail=examples.names[row])
            counts = np.bincount(example.target[example.target >= 0], minlength=len(examples.classes))
            voxels[split] += counts
            sizes[example.target.shape] = sizes.get(example.target.shape, 0) + 1
            if examples.background and not counts[1:].any():
                empty.append(case)
            if example.values.min() == example.values.max():
                constant.append(case)
    for note in examples.notes:
        findings.add("note", "note", note.rstrip("."))
    if constant:
        findings.add("constant", "warning", "an image has one value everywhere", places=constant)
    if empty:
        findings.add("empty_mask", "note", "a mask marks nothing; its Dice is undefined or 0", places=empty)
    return {
        **{f"{split} cases": len(rows) for split, rows in examples.splits.items()},
        "sizes": ", ".join(f"{'x'.join(map(str, shape))} ({count})" for shape, count in list(sizes.items())[:4]),
        "channels": examples.channels,
        **{f"{split} voxels": _shares(examples, counts) for split, counts in voxels.items()},
    }


def _shares(examples: Examples, counts: NDArray[np.int64]) -> str:
    total = max(int(counts.sum()), 1)
    return ", ".join(f"{name} {count / total:.2%}" for name, count in zip(examples.classes, counts, strict=True))
