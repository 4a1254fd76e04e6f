"""`check_images`: what a set of images holds, and what is wrong with it."""

import collections
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.failures import Failures, kept
from multiway.data.findings import CheckReport, Findings, Place, listed
from multiway.data.images.images import Images
from multiway.data.images.options import ImageOptions, ImageSplit
from multiway.data.images.reading import read_images
from multiway.data.images.splitting import drawn_notes, split_images
from multiway.data.loading import pair_of, source_name
from multiway.data.shares import Splits
from multiway.errors import DataError

MOST_LISTED = 100
ORDER = {"error": 0, "warning": 1, "note": 2}
ONE_SIDED = 0.9
"""Share of the largest class from which on the report speaks of balance."""


def check_images(source: Any, options: ImageOptions | None = None, split: ImageSplit | None = None) -> CheckReport:
    """Read every image and say what is in them and all that is wrong under these options.

    Raises:
        ConfigError: Pillow is needed and not installed.
    """
    findings = Findings(source_name(pair_of(source)[0]))
    failures: Failures = []
    summary: dict[str, Any] = {}
    with kept(failures):
        images = read_images(source, options, failures)
        splits = _split(images, split or ImageSplit(), findings)
        _check_copies(images, splits, findings)
        _check_balance(images, findings)
        summary = _summary(images, splits)
    for error in failures[:MOST_LISTED]:
        findings.add("source", "error", str(error).rstrip("."))
    if len(failures) > MOST_LISTED:
        findings.add("source", "error", f"{len(failures) - MOST_LISTED} more problems are not listed")
    found = tuple(sorted(findings.found, key=lambda finding: ORDER[finding.severity]))
    return CheckReport(source=findings.source, summary=summary, findings=found)


def _split(images: Images, split: ImageSplit, findings: Findings) -> Splits:
    for note in images.notes:
        findings.add("note", "note", note)
    if images.labels is None:
        findings.add("classes", "note", "no image has a class, so classes can be predicted and not trained on")
        return {}
    try:
        splits = split_images(images, split)
    except DataError as error:
        findings.add("split", "error", str(error).removeprefix(f"{images.source}: ").rstrip("."))
        return {}
    for note in drawn_notes(images, splits):
        findings.add("split", "note", note)
    return splits


def _check_copies(images: Images, splits: Splits, findings: Findings) -> None:
    """Equal images within a split, across splits, and with different classes."""
    same = collections.defaultdict(list)
    for row, image in enumerate(images.values):
        same[hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=16).digest()].append(row)
    groups = [rows for rows in same.values() if len(rows) > 1]
    split_of = {int(row): name for name, rows in splits.items() for row in rows}
    across = [rows for rows in groups if len({split_of.get(row) for row in rows}) > 1]
    within = [rows for rows in groups if rows not in across]
    labels = np.zeros(len(images)) if images.labels is None else images.labels
    torn = [rows for rows in groups if len({int(labels[row]) for row in rows}) > 1]
    for kind, rule, fix, chosen in (
        ("leak", "equal images are in different splits", "Keep each in one split.", across),
        ("duplicates", "equal images are there more than once", "Drop all but one.", within),
        ("classes", "equal images have different classes", "Correct them.", torn),
    ):  # fmt: skip
        if chosen:
            places = [Place(detail=" = ".join(images.names[row] for row in rows[:4])) for rows in chosen[:20]]
            findings.add(kind, "warning", rule, fix, places, len(chosen))


def _check_balance(images: Images, findings: Findings) -> None:
    if images.labels is None:
        return
    counts = np.bincount(images.labels, minlength=len(images.classes))
    if counts.max() >= ONE_SIDED * len(images):
        rule = f"{100 * counts.max() / len(images):.1f} % of the images are {listed([images.classes[counts.argmax()]])}"
        findings.add("balance", "warning", rule, "Accuracy says little here; look at the scores beside it.")


def _counted(names: Sequence[str], counts: NDArray[np.int64]) -> list[str]:
    """Each class with its images."""
    return [f"{name} {count}" for name, count in zip(names, counts, strict=True)]


def _summary(images: Images, splits: Splits) -> dict[str, Any]:
    channels, height, width = images.form
    counts = None if images.labels is None else np.bincount(images.labels, minlength=len(images.classes))
    return {
        "images": len(images),
        "sizes": f"{height} x {width}",
        "colours": "grey" if channels == 1 else "red, green, blue",
        "values": f"{images.values.min()} to {images.values.max()}" if len(images) else None,
        "classes": None if counts is None else listed(_counted(images.classes, counts), 12),
        "splits": ", ".join(f"{name} {len(rows)}" for name, rows in splits.items()) or None,
    }
