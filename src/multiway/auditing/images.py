"""Audit of images and their split: copies, near copies, classes of equal images, and how values were scaled."""

from collections.abc import Iterator, Sequence

import numpy as np

from multiway.auditing.agreement import check_one_label
from multiway.auditing.duplicates import check_duplicates, digest_of
from multiway.auditing.near_images import Details
from multiway.auditing.report import AuditReport, Verdict, found
from multiway.auditing.statistics import check_statistics
from multiway.data.images import ImageState, PreparedImages, moments

TOLERATED = 0.001
"""Share of a split that may be copies: large sets gathered from the web have some."""
MOST_COMPARED = 4_000
"""Images up to which each is compared with each."""
FIXED = "values are scaled by fixed numbers, 0 to 255, and none was learnt"
TOO_MANY = found("near", "note", f"near copies were not looked for, as there are more than {MOST_COMPARED:,} images")


def audit_images(prepared: PreparedImages, used: ImageState | None = None) -> AuditReport:
    """Whether an image is in two splits or has two classes, and whether scaling saw other splits.

    Args:
        prepared: The images with their splits.
        used: What a run trained with; that of the images if not given.
    """
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in prepared.splits.items())
    return AuditReport.of(f"{prepared.source}: {counts}", _verdicts(prepared, used or prepared.state))


def _verdicts(prepared: PreparedImages, used: ImageState) -> Iterator[Verdict | None]:
    samples, splits = prepared.samples, prepared.splits
    values, names = samples.inputs.numpy(), list(samples.names["image"])
    digests = [digest_of(image) for image in values]
    of_split = {name: [digests[row] for row in rows] for name, rows in splits.items()}
    called = {name: [names[row] for row in rows] for name, rows in splits.items()}
    yield check_duplicates(of_split, called, "images", tolerated=TOLERATED)
    yield check_one_label(digests, [samples.classes[place] for place in samples.truth], names, "image")
    yield _near(prepared, names, digests)
    yield _scaling(prepared, used)


def _near(prepared: PreparedImages, names: Sequence[str], digests: Sequence[bytes | None]) -> Verdict | None:
    if len(prepared.samples) > MOST_COMPARED:
        return TOO_MANY
    details = Details()
    for image in prepared.samples.inputs.numpy():
        details.add(image.transpose(2, 0, 1))
    return details.check(prepared.splits, names, names, digests)


def _scaling(prepared: PreparedImages, used: ImageState) -> Verdict:
    values = prepared.samples.inputs.numpy()
    if set(used.centre) | set(used.spread) == {255 / 2}:
        return FIXED
    now = {"centre": np.array(used.centre), "spread": np.array(used.spread)}
    training, every = (
        dict(zip(now, map(np.array, moments(images)), strict=True))
        for images in (values[prepared.rows("train")], values)
    )
    channels = [f"channel {place}" for place in range(used.channels)]
    return check_statistics(now, training, every, channels, rows="training images")
